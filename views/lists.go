package views

import (
	"context"
	"time"
)

// HoldsPage lists the holds of an organisation, or of all for staff.
type HoldsPage struct {
	Items []HoldRow
	State string
	Pager
	Staff    bool
	CanOrder bool
}

// HoldRow is one hold in a list.
type HoldRow struct {
	ID, Tag, State, Org string
	Overdue, Withdrawn  bool
	Price               Money
	CreatedAt           time.Time
	ExpiresAt           time.Time
	ServiceID           string
	By                  string
	AttemptID           string // staff
}

// ServicesPage lists the services.
type ServicesPage struct {
	Items []ServiceRow
	State string
	Pager
	Staff    bool
	CanOrder bool
}

// ServiceRow is one service in a list.
type ServiceRow struct {
	ID, Tag, Org string
	Price        Money
	StartedAt    time.Time
	EndedAt      *time.Time
	By           string
}

// ServicePage is one service; right after the confirmation it says what happens next.
type ServicePage struct {
	ID, HoldID, Org    string
	Server             Server
	Price, Setup       Money
	Terms              string
	StartedAt          time.Time
	EndedAt            *time.Time
	CreatedBy, EndedBy string
	EndReason          string
	CanEnd             bool
	ReadyBy            *time.Time // by what the site promises
	Fresh              bool       // confirmed a moment ago
	Work               []WorkDone // set-up and wipe of the machine
	Events             []Event
	Faults             []Fault
	Reason             string // as typed on the page that ends it
	OrderURL           string
	Notes              *Notes // staff
	Now                time.Time
}

func (s ServicePage) state() string {
	if s.EndedAt != nil {
		return "ended"
	}
	return "active"
}

// HomePage is where somebody of an organisation arrives.
type HomePage struct {
	Live     []HoldRow
	Services int
	More     bool // there are more services than were counted
	Off      *RolloutRefusal
	Free     int
	Groups   int
	AsOf     time.Time
}

func serviceTone(m ServicePage) string {
	if m.EndedAt != nil {
		return "calm"
	}
	return "held"
}

// serviceOutcome marks the page of a confirmation.
func serviceOutcome(m ServicePage) string {
	if m.EndedAt != nil {
		return "service-ended"
	}
	return "service"
}

func serviceTitle(ctx context.Context, m ServicePage) string {
	switch {
	case m.EndedAt != nil:
		return t(ctx, "service.title_ended", "tag", m.Server.Tag)
	case m.Fresh:
		return t(ctx, "service.title_fresh", "tag", m.Server.Tag)
	}
	return t(ctx, "service.title", "tag", m.Server.Tag)
}

func holdTabs(ctx context.Context, state string) []Tab {
	out := []Tab{{t(ctx, "state.all"), "/holds", state == ""}}
	for _, s := range []string{"held", "converted", "expired", "cancelled"} {
		out = append(out, Tab{t(ctx, "state."+s), "/holds?state=" + s, state == s})
	}
	return out
}

func orderHref(can bool) string {
	if can {
		return "/offers"
	}
	return ""
}
