package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// HoldPage is one hold as it is now.
type HoldPage struct {
	ID, Reference string
	State         string // as shown: held, converted, expired, cancelled
	Server        Server
	Price, Setup  Money // frozen
	Terms         string
	CreatedAt     time.Time
	CreatedBy     string
	ExpiresAt     time.Time
	ExtendedAt    *time.Time
	ClosedAt      *time.Time
	Now           time.Time
	Withdrawn     bool
	CanExtend     bool
	CanConfirm    bool
	CanCancel     bool
	ExtendMinutes int
	ExtendKey     string
	ServiceID     string
	Org           string // staff
	Overdue       bool   // staff
	Ask           Ask
	Decision      *Decision
	Again         Again
	Events        []Event
	AttemptID     string // staff
	Others        []Offer
	SubstituteOf  string // id of the hold that this one replaces
	PriceChanged  bool
	Notes         *Notes // staff
}

// Again are the ways back to a machine after a hold has ended.
type Again struct {
	Same   string // order exactly this machine
	Equal  string // order by the same constraints
	Change string // the form with the same entries
}

// Decision says why this machine.
type Decision struct {
	Rule           string
	Rank, Eligible int
	RunnerUp       string
	RunnerUpPrice  *Money
	Skipped, Lost  int
	Changed        int
	Version        string
	FreedOverdue   bool
}

// Event is one line of a history.
type Event struct {
	At      time.Time
	Event   string
	Actor   string
	Details string
}

func (m HoldPage) tone() (tone, icn string) {
	switch {
	case m.Withdrawn:
		return "warn", "wrench"
	case m.State == "held":
		return "held", "lock"
	case m.State == "converted":
		return "held", "check"
	case m.State == "expired":
		return "expired", "hourglass"
	}
	return "calm", "undo"
}

func (m HoldPage) outcome() string {
	switch {
	case m.Withdrawn:
		return "machine-withdrawn"
	case m.State == "held":
		return "held"
	}
	return "hold-" + m.State
}

func (m HoldPage) titleKey() string {
	if m.Withdrawn {
		return "hold.title.withdrawn"
	}
	return "hold.title." + m.State
}

func (m HoldPage) headingKey() string {
	if m.Withdrawn {
		return "hold.heading.withdrawn"
	}
	return "hold.heading." + m.State
}

func (m HoldPage) left(ctx context.Context) string {
	return i18n.Span(ctx, m.ExpiresAt.Sub(m.Now))
}

func (d Decision) because(ctx context.Context) string {
	text := t(ctx, "decision.rule."+d.Rule)
	if !i18n.Has(ctx, "decision.rule."+d.Rule) {
		text = t(ctx, "decision.rule.other")
	}
	return text
}

// ConfirmPage is the last step: from the hold to the service.
type ConfirmPage struct {
	Hold HoldPage
}

// StatePill is how a state of a hold is shown in lists.
func statePill(state string) (tone, icn string) {
	switch state {
	case "held":
		return "ok", "lock"
	case "converted":
		return "ok", "check"
	case "expired":
		return "few", "hourglass"
	case "active":
		return "ok", "server"
	case "ended":
		return "none", "minus"
	}
	return "none", "undo"
}

func toneOf(m HoldPage) string { tone, _ := m.tone(); return tone }

func iconOf(m HoldPage) string { _, icn := m.tone(); return icn }

// terms are frozen as they were written; those that every hold is given by default are known in
// each language.
func terms(ctx context.Context, text string) string {
	if text == "Monthly rental, cancellable at any time." {
		return t(ctx, "terms.default")
	}
	return text
}

func eventText(ctx context.Context, event string) string {
	if key := "event." + event; i18n.Has(ctx, key) {
		return t(ctx, key)
	}
	return event
}
