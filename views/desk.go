package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// DeskPage is the desk of sales: the log of attempts.
type DeskPage struct {
	Outcomes, Orgs, Sites []Option
	From, To              string
	Filtered              bool
	Faults                []Fault
	Items                 []AttemptRow
	CSV                   string // the same rows as a file
	Pager
}

// AttemptRow is one order request in the log.
type AttemptRow struct {
	ID, Org, Actor, Outcome string
	At                      time.Time
	Ask                     Ask
	Considered, Eligible    int
	Skipped, Lost, Changed  int
	Took                    time.Duration
	HoldID                  string
}

// seen is how many machines fitted, of how many; an order that got its machine at the first look
// surveyed none.
func (a AttemptRow) seen(ctx context.Context) string {
	if a.Considered == 0 {
		return t(ctx, "desk.seen_only", "n", a.Eligible)
	}
	return t(ctx, "desk.seen_of", "eligible", a.Eligible, "n", a.Considered)
}

func (a AttemptRow) walk(ctx context.Context) string {
	if a.Skipped+a.Lost+a.Changed == 0 {
		return dash("")
	}
	return t(ctx, "desk.walk_of", "skipped", a.Skipped, "lost", a.Lost, "changed", a.Changed)
}

// AttemptPage is the record of one attempt: both passes, and what can be done about a refusal.
type AttemptPage struct {
	AttemptRow
	Key, RequestID string
	Reasons        []Reason
	NearMisses     []NearMiss
	Walk           []Step
	Faster         []Faster
	Override       string // the reason with which the cool-down was overridden
	WonTag         string
	Decision       *Decision
	Again          *Retry // the same order with a new key
	Cool           bool   // again needs a reason
	ChangeURL      string
	Buy            *Buy
}

func (m AttemptPage) nextKey() string {
	switch {
	case m.Cool:
		return "cool"
	case m.Buy != nil:
		return "none"
	}
	return "again"
}

// Buy is the form of a purchase request.
type Buy struct {
	Fields []Hidden
	Sites  []Option
	Orders int // refused orders of the last 30 days that it would have served
}

// Step is what happened to one candidate.
type Step struct {
	Tag, Result, Why string
	At               time.Time
}

// Faster is the hold that was there first.
type Faster struct {
	Tag, Org, HoldID string
	At               time.Time
	ByMS             int64
}

// AttemptMachinesPage lists machines as of now for what an attempt asked.
type AttemptMachinesPage struct {
	ID       string
	At, AsOf time.Time
	Ask      Ask
	Reasons  []Option
	Items    []SurveyedRow
	CSV      string
	Pager
}

// SurveyedRow is one machine with all that excludes it.
type SurveyedRow struct {
	Tag, Status string
	Reasons     []string
}

// DeskHoldsPage lists what is held.
type DeskHoldsPage struct {
	Items      []DeskHold
	CanConfirm bool
	Pager
}

// DeskHold is one hold on the desk.
type DeskHold struct {
	HoldRow
	Left time.Duration
}

// FoundPage lists what a search has found.
type FoundPage struct {
	Query string
	Items []FoundRow
}

// FoundRow is one thing that was found.
type FoundRow struct{ Kind, Href, Name, Text string }

// AskOnePage asks for one text.
type AskOnePage struct {
	Title, Lead, Action, Submit string
	Back, BackLabel             string
	Fields                      []Hidden
	Field                       Field
	Faults                      []Fault
}

// PurchasesPage lists purchase requests.
type PurchasesPage struct {
	State string
	Items []PurchaseRow
	Pager
}

// PurchaseRow is one purchase request.
type PurchaseRow struct {
	ID, SiteName, State, Note string
	AttemptID                 string
	Ask                       Ask
	Orders                    int
	CreatedAt, ChangedAt      time.Time
	CreatedBy, ChangedBy      string
}

func (p PurchaseRow) look() look {
	switch p.State {
	case "open":
		return look{"wait", "hourglass"}
	case "ordered":
		return look{"ok", "check"}
	}
	return look{"none", "cross"}
}

var purchaseStates = [...]string{"ordered", "declined", "open"}

func purchaseTabs(ctx context.Context, state string) []Tab {
	out := []Tab{{t(ctx, "state.all"), "/desk/requests", state == ""}}
	for _, s := range []string{"open", "ordered", "declined"} {
		out = append(out, Tab{t(ctx, "purchase.state."+s), "/desk/requests?state=" + s, s == state})
	}
	return out
}

// DemandPage adds up what was refused.
type DemandPage struct {
	Orders             int
	Sites, Constraints []DemandLine
	Requests           []DemandRequest
}

// DemandLine is one line of the report; Ask has the one constraint, Site is for sites.
type DemandLine struct {
	Site   string
	Ask    *Ask
	Orders int
}

func (l DemandLine) text(ctx context.Context) string {
	switch {
	case l.Ask != nil:
		return l.Ask.sentence(ctx)
	case l.Site == "":
		return t(ctx, "demand.any_site")
	}
	return l.Site
}

// DemandRequest is one request as often as it was refused.
type DemandRequest struct {
	Ask          Ask
	Orders, Orgs int
	Last         time.Time
}

// Notes are what staff wrote about something.
type Notes struct {
	Subject, ID string
	Items       []Note
}

// Note is one of them.
type Note struct {
	Body, By string
	At       time.Time
}

// SimulatedPage is what an order would get.
type SimulatedPage struct {
	Outcome, Org, ReviewURL string
	Server                  *Server
	Decision                *Decision
	Ask                     Ask
	Considered              int
	Reasons                 []Reason
	NearMisses              []NearMiss
	Walk                    []Step
}

func deskParts(ctx context.Context, here string) []Tab {
	var out []Tab
	for _, p := range []struct{ name, href string }{
		{"attempts", "/desk"}, {"holds", "/desk/holds"}, {"requests", "/desk/requests"}, {"demand", "/desk/demand"},
	} {
		out = append(out, Tab{t(ctx, "desk.part."+p.name), p.href, p.name == here})
	}
	if person(ctx).Can.Order {
		out = append(out, Tab{t(ctx, "desk.part.order"), "/order", false})
	}
	if i18n.Has(ctx, "desk.part.orgs") {
		out = append(out, Tab{t(ctx, "desk.part.orgs"), "/admin/orgs", here == "orgs"})
	}
	return out
}
