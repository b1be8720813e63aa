package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// FleetPage is the stock and the machines.
type FleetPage struct {
	Board    []BoardRow
	Total    BoardRow
	AsOf     time.Time
	Items    []MachineRow
	Status   string
	Site     string
	Query    string
	Statuses []string
	Sites    []string
	Pager
	Alarms []CheckRow // checks that the last run found violated
}

// BoardRow is the stock of a site: held + in service + free + out = total.
type BoardRow struct {
	Site, SiteName                    string
	Held, InService, Free, Out, Total int
	OutBy                             []Reason // by status
	Class                             *Server  // on the board by class
}

func (b BoardRow) wrong() bool { return b.Held+b.InService+b.Free+b.Out != b.Total }

// MachineRow is one machine in a list.
type MachineRow struct {
	Tag, Status, Site, Rack, CPU string
	RAMGB                        int
	Price                        Money
	Reason                       string
}

// MachinePage is one machine for staff.
type MachinePage struct {
	Server                     Server
	Room, Rack, Serial, Status string
	StatusReason, StatusBy     string
	StatusAt                   time.Time
	WipedAt                    *time.Time
	Occupant                   *Occupant
	Events                     []Event
	Moves                      []Move // statuses that may follow
	WipeBar                    string // what forbids recording a wipe
	CanWrite                   bool
	Faults                     []Fault
	Reason                     string
	Pager
}

// Move is a status that a person may set, or what forbids it now.
type Move struct{ To, Bar string }

// refused are the moves that something stands in the way of.
func (m MachinePage) refused() (list []Move) {
	for _, move := range m.Moves {
		if move.Bar != "" {
			list = append(list, move)
		}
	}
	return list
}

// movable is whether there is anything to do.
func (m MachinePage) movable() bool { return m.WipeBar == "" || len(m.refused()) < len(m.Moves) }

// Occupant is who has the machine now.
type Occupant struct {
	Kind, ID, Org string // kind: hold or service
	Since         time.Time
	Until         *time.Time
	Overdue       bool
	AttemptID     string // the order request that it came from
}

func outcomeText(ctx context.Context, outcome string) string {
	if key := "outcome." + outcome; i18n.Has(ctx, key) {
		return t(ctx, key)
	}
	return outcome
}

func outcomeLook(outcome string) look {
	if outcome == "held" || outcome == "replayed" {
		return look{"ok", "lock"}
	}
	l, ok := looks[hyphens(outcome)]
	if !ok {
		return look{"none", "alert"}
	}
	return look{"none", l.icn}
}

func hyphens(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '_' {
			b[i] = '-'
		}
	}
	return string(b)
}

func took(ctx context.Context, d time.Duration) string {
	return i18n.Int(ctx, d.Microseconds()) + "\u00a0µs"
}

func millis(ctx context.Context, ms int64) string { return i18n.Int(ctx, ms) + "\u00a0ms" }

func machineStatus(ctx context.Context, status string) string {
	if key := "status." + status; i18n.Has(ctx, key) {
		return t(ctx, key)
	}
	return status
}

func statusLook(status string) look {
	switch status {
	case "ready":
		return look{"ok", "check"}
	case "in_service":
		return look{"ok", "server"}
	case "cleaning":
		return look{"wait", "broom"}
	case "maintenance":
		return look{"few", "wrench"}
	case "intake":
		return look{"wait", "box"}
	}
	return look{"none", "minus"}
}
