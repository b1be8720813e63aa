package provision

import (
	"time"

	"github.com/google/uuid"

	"ironhold/provision/driver"
)

// State of a provisioning; see doc.go.
type State string

// The states.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Dropped State = "dropped"
)

// Open reports whether there still is something to do.
func (s State) Open() bool { return s == Queued || s == Running }

// Manual is the name of the driver that is a person.
const Manual = "manual"

// Progress is what an organisation sees of one provisioning.
type Progress struct {
	Service    uuid.UUID   `db:"service_id"`
	Kind       driver.Kind `db:"kind"`
	State      State       `db:"state"`
	Attempt    int         `db:"attempt"`
	Step       string      `db:"step"`    // a stable code, "" when nothing is known
	Percent    *int        `db:"percent"` // 0 to 100
	CreatedAt  time.Time   `db:"created_at"`
	StartedAt  *time.Time  `db:"started_at"`
	FinishedAt *time.Time  `db:"finished_at"`
}

// Item is an open provisioning on the operators' board.
type Item struct {
	Progress
	Org      string     `db:"org"`
	AssetTag string     `db:"asset_tag"`
	Site     string     `db:"site_code"`
	Room     string     `db:"room"`
	Rack     string     `db:"rack"`
	Driver   string     `db:"driver"` // "" when no job has taken it
	OS       string     `db:"os"`
	Keys     []string   `db:"ssh_keys"`
	Detail   string     `db:"detail"`
	Error    string     `db:"error"`
	Errors   int        `db:"errors"`
	Age      float64    `db:"age"` // seconds since it began, by the database's clock
	DueAt    time.Time  `db:"due_at"`
	AsideAt  *time.Time `db:"set_aside_at"`
}

// ByHand reports whether a person does it or may.
func (i Item) ByHand() bool { return i.Driver == "" || i.Driver == Manual }

// Refused is the reason why a person's step was not taken.
type Refused struct {
	Kind   RefusedKind
	Detail string
}

// RefusedKind names a refusal; the names are the problem types of the API.
type RefusedKind string

// The refusals.
const (
	NotFound  RefusedKind = "not-found"
	Over      RefusedKind = "provisioning-over" // it has ended, or has another driver by now
	NotByHand RefusedKind = "not-by-hand"       // a driver is at work: take over first
)

func (r *Refused) Error() string { return string(r.Kind) + ": " + r.Detail }

// Invalid is bad input: the field and what is allowed.
type Invalid struct {
	Field   string
	Code    string // stable, for pages
	Message string
}

func (e *Invalid) Error() string { return e.Field + " " + e.Message }
