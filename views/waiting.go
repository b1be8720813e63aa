package views

import (
	"strconv"
	"time"
)

// WaitingPage is what an organisation asked to be told of, newest first.
type WaitingPage struct {
	Told    []WaitingRow
	Waiting []WaitingRow
}

// WaitingRow is one entry of the waiting list.
type WaitingRow struct {
	ID      string
	Ask     Ask
	Since   time.Time
	By      string
	Again   []Hidden // the constraints, to wait for them anew
	OrderBy string   // address: order by these constraints

	// Told: the machine that came free.
	ToldAt    time.Time
	Tag       string
	Free      bool   // nobody has taken it since
	HoldID    string // it is on hold for them
	OrderThis string // address: order exactly it
}

// Waits counts for the navigation.
type Waits struct{ Open, Told int }

// primary is the first entry that can be acted on: a page has one primary action.
func (m WaitingPage) primary() string {
	for _, w := range m.Told {
		if w.Free {
			return w.ID
		}
	}
	return ""
}

// countText is a small count, for a badge.
func countText(n int) string {
	if n > 9 {
		return "9+"
	}
	return strconv.Itoa(n)
}
