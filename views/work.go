package views

import (
	"context"
	"time"
)

// WorkPage is what machines wait for: installations and wipes that are not finished.
type WorkPage struct {
	AsOf   time.Time
	CanDo  bool
	Late   int
	Items  []WorkRow
	Faults []Fault
}

// WorkRow is one of them.
type WorkRow struct {
	Service, Kind   string // install or wipe
	Tag, Place, Org string
	State, Driver   string
	Step            string
	Percent         *int
	OS              string
	Keys            []string
	Since           time.Time
	Age             time.Duration
	Late            bool // older than the alarm
	ByHand          bool // a person does it or may
	Aside           bool // the machine failed again and again
	Detail, Trouble string
	Wrong           string // what is wrong with the reason as typed
	Reason          string
}

func (r WorkRow) action() string { return "/fleet/work/" + r.Service }

func (r WorkRow) id(what string) string { return what + "-" + r.Kind + "-" + r.Service }

// WorkDone is what a customer sees of the machine's set-up or wipe.
type WorkDone struct {
	Kind, State, Step string
	Percent           *int
	FinishedAt        *time.Time
}

func (w WorkDone) tone() (tone, icn string) {
	switch w.State {
	case "done":
		return "ok", "check"
	case "failed":
		return "few", "alert"
	}
	return "held", "hourglass"
}

func (w WorkDone) text(ctx context.Context) string { return t(ctx, "work."+w.Kind+"."+w.State) }
