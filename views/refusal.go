package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// Refusal is one honest no, or another end of a step: what happened, what it cost (nothing), what
// to do now. Name is the problem's name; the fields that the name does not use are zero.
type Refusal struct {
	Name      string
	Reference string // the attempt's id
	Ask       *Ask
	Retry     *Retry
	ChangeURL string // the form with the same entries

	Considered int
	Reasons    []Reason
	NearMisses []NearMiss

	NextFreeAt *time.Time
	Until      *time.Time
	LimitName  string
	Limit      int
	LiveHolds  int
	Active     int

	Rollout *RolloutRefusal

	HoldID, ServiceID string
	Hold              *HoldPage
	Substitute        bool

	CheckURL string // checking: the page that finds the result
	Wait     int    // seconds until it is worth trying again
	Detail   string
}

// Retry is the form that sends the same request again.
type Retry struct {
	Action string
	Key    string
	Fields []Hidden
}

type look struct{ tone, icn string }

// looks make the outcomes unlike each other.
var looks = map[string]look{
	"someone-was-faster":     {"faster", "bolt"},
	"none-left":              {"none", "box"},
	"all-held":               {"wait", "hourglass"},
	"try-again-shortly":      {"retry", "retry"},
	"busy":                   {"busy", "plug"},
	"checking":               {"check", "search"},
	"organisation-suspended": {"stop", "stop"},
	"limit-reached":          {"limit", "gauge"},
	"already-yours":          {"held", "key"},
	"cool-down":              {"cool", "snow"},
	"not-rolled-out":         {"off", "off"},
	"hold-expired":           {"expired", "hourglass"},
	"hold-cancelled":         {"calm", "undo"},
	"hold-converted":         {"held", "check"},
	"machine-withdrawn":      {"warn", "wrench"},
	"not-withdrawn":          {"held", "lock"},
	"no-substitute":          {"warn", "twins"},
	"extension-used":         {"expired", "clock"},
	"ceiling-reached":        {"cool", "clock"},
	"service-ended":          {"calm", "server"},
	"key-missing":            {"calm", "key"},
	"key-reused":             {"calm", "twins"},
	"waiting-list-full":      {"limit", "hourglass"},
}

func (r Refusal) look() look {
	if l, ok := looks[r.Name]; ok {
		return l
	}
	return look{"calm", "alert"}
}

func (r Refusal) title(ctx context.Context) string { return t(ctx, "problem."+r.Name+".title") }

// lead says what happened, with the facts of this case.
func (r Refusal) lead(ctx context.Context) string {
	switch r.Name {
	case "limit-reached":
		if r.LimitName == "max_holds" {
			return t(ctx, "refusal.limit_holds", "n", r.Limit, "held", r.LiveHolds)
		}
		return t(ctx, "refusal.limit_machines", "n", r.Limit, "held", r.LiveHolds, "active", r.Active)
	case "already-yours":
		if r.ServiceID != "" {
			return t(ctx, "refusal.yours_service")
		}
		return t(ctx, "refusal.yours_hold")
	case "not-rolled-out":
		if r.Rollout != nil && i18n.Has(ctx, "rollout.why."+r.Rollout.Reason) {
			return t(ctx, "rollout.why."+r.Rollout.Reason) + " " + t(ctx, "rollout.who."+r.Rollout.WhoCanChange)
		}
	case "machine-withdrawn":
		if !r.Substitute {
			return t(ctx, "refusal.withdrawn_alone")
		}
	}
	return t(ctx, "problem."+r.Name+".lead")
}

// nextKey tells apart whether there are near misses to point at.
func (r Refusal) nextKey() string {
	if r.Name == "none-left" && len(r.NearMisses) > 0 {
		return r.Name + ".near"
	}
	return r.Name
}

func (r Refusal) refresh() string {
	if r.Name == "checking" {
		return r.CheckURL
	}
	return ""
}

// ProblemPage is what is shown where there is no page: 404, 403, 429, 500 and their like.
type ProblemPage struct {
	Name   string
	Status int
	Detail string
	Wait   int // seconds
}

// ExplainPage explains one problem.
type ExplainPage struct {
	Name   string
	Status int
	Others []string
}

// chargedKey says what the refusal changed. Steps on a hold that already is a service did cost.
func chargedKey(name string) string {
	switch name {
	case "hold-converted":
		return "refusal.charged_before"
	case "limit-reached", "already-yours", "extension-used", "ceiling-reached", "not-withdrawn", "no-substitute", "key-reused", "waiting-list-full", "service-ended":
		return "refusal.unchanged"
	case "checking":
		return "refusal.charged_once"
	}
	return "refusal.charged_nothing"
}

func refusalNav(r Refusal) string {
	if r.Hold != nil || r.HoldID != "" {
		return "holds"
	}
	return "offers"
}

func holdHref(id string) string {
	if id == "" {
		return ""
	}
	return "/holds/" + id
}

func problemKey(ctx context.Context, name string) string {
	if i18n.Has(ctx, "problem."+name+".title") {
		return "problem." + name
	}
	return "problem.internal"
}

func problemTitle(ctx context.Context, name string) string {
	return t(ctx, problemKey(ctx, name)+".title")
}

func problemTone(status int) string {
	if status >= 500 {
		return "busy"
	}
	return "calm"
}

func problemIcon(name string, status int) string {
	switch {
	case name == "not-found":
		return "search"
	case name == "forbidden", name == "unauthenticated", name == "cross-origin":
		return "lock"
	case name == "too-many-requests":
		return "hourglass"
	case status == 503:
		return "plug"
	}
	return "alert"
}

func seconds(ctx context.Context, n int) string {
	return i18n.Span(ctx, time.Duration(n)*time.Second)
}
