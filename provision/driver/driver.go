package driver

import (
	"context"
	"errors"
	"time"
)

// Kind is what is done to a machine.
type Kind string

// The kinds.
const (
	Install Kind = "install" // an operating system for the customer of a service
	Wipe    Kind = "wipe"    // everything that the customer of an ended service left
)

// State is how far a task is.
type State string

// The states.
const (
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed" // for good: it is not tried again
)

// Task is one thing to be done to one machine.
type Task struct {
	Service string   // id of the service (install) or of the service that ended (wipe)
	Attempt int      // rises by one for each external try of this kind for this service; receivers discard lower ones
	Kind    Kind     //
	Machine Machine  // from the inventory only
	OS      string   // code of the operating system (install)
	Keys    []string // public SSH keys in authorized_keys form (install)
}

// Machine is what the inventory says of the machine.
type Machine struct {
	Tag    string
	Site   string
	Serial string
	Rack   string
	BMC    BMC
}

// BMC is the machine's management controller.
type BMC struct {
	Address     string // host or host:port
	Fingerprint string // SHA-256 of its certificate, in hexadecimal
}

// Progress is what a driver says of a task.
type Progress struct {
	State   State
	Step    string // a stable code, for pages
	Percent int    // 0 to 100, -1 when it is not known
	Detail  string // for staff
}

// Driver does what is to be done to machines. An error means that nothing is known of the task: it is
// tried again, with a higher attempt, unless it is Permanent.
type Driver interface {
	Name() string
	// Begin starts a task; it is idempotent by service, kind and attempt.
	Begin(ctx context.Context, t Task) (Progress, error)
	// Look asks how far a task is.
	Look(ctx context.Context, t Task) (Progress, error)
}

// Slow is a driver whose calls need more time than usual.
type Slow interface {
	// CallLimit bounds one call of Begin or Look.
	CallLimit() time.Duration
}

type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error that trying again does not help.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent reports whether trying again does not help.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[permanent](err)
	return ok
}

type wait struct {
	error
	at time.Duration
}

func (w wait) Unwrap() error { return w.error }

// Wait says that trying again within d does not help.
func Wait(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return wait{err, d}
}

// Waits is the time within which trying again does not help, 0 when nothing was said.
func Waits(err error) time.Duration {
	w, _ := errors.AsType[wait](err)
	return w.at
}
