package holds

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// State is the state of a hold; only Held occupies its machine.
type State string

// The states; see doc.go for the moves.
const (
	Held      State = "held"
	Converted State = "converted"
	Expired   State = "expired"
	Cancelled State = "cancelled"
)

// Hold is a reservation as it is read from the database. Overdue says that it is still held but
// past its deadline by the database's clock: people see it as expired. Now is that clock.
type Hold struct {
	ID              uuid.UUID       `db:"id"`
	OrgID           uuid.UUID       `db:"org_id"`
	OrgSlug         string          `db:"org_slug"`
	MachineID       uuid.UUID       `db:"machine_id"`
	AssetTag        string          `db:"asset_tag"`
	State           State           `db:"state"`
	Overdue         bool            `db:"overdue"`
	Now             time.Time       `db:"now"`
	IdempotencyKey  string          `db:"idempotency_key"`
	RequestHash     []byte          `db:"request_hash"`
	Request         json.RawMessage `db:"request"`
	Decision        json.RawMessage `db:"decision"`
	PriceMonthMinor int64           `db:"price_month_minor"`
	SetupMinor      int64           `db:"setup_minor"`
	Currency        string          `db:"currency"`
	Terms           string          `db:"terms"`
	CreatedBy       string          `db:"created_by"`
	CreatedAt       time.Time       `db:"created_at"`
	ExpiresAt       time.Time       `db:"expires_at"`
	ExtendedAt      *time.Time      `db:"extended_at"`
	ClosedAt        *time.Time      `db:"closed_at"`
	ClosedBy        *string         `db:"closed_by"`
	CloseReason     string          `db:"close_reason"`
	SubstituteOf    *uuid.UUID      `db:"substitute_of"`
	AttemptID       *uuid.UUID      `db:"attempt_id"`
	ServiceID       *uuid.UUID      `db:"service_id"`
	MachineStatus   string          `db:"machine_status"`
}

// Live reports whether the hold occupied its machine for a person at the time it was read.
func (h Hold) Live() bool { return h.State == Held && !h.Overdue }

// Shown is the state as people see it: an overdue hold is expired.
func (h Hold) Shown() State {
	if h.Overdue {
		return Expired
	}
	return h.State
}

// SecondsLeft is the time to the deadline by the database's clock, never negative, 0 unless live.
func (h Hold) SecondsLeft() int {
	if !h.Live() {
		return 0
	}
	return max(0, int(h.ExpiresAt.Sub(h.Now).Seconds()))
}

// Withdrawn reports whether the machine of a live hold has left sale: it cannot be converted, a
// substitute may be had.
func (h Hold) Withdrawn() bool { return h.Live() && h.MachineStatus != "ready" }

// Service is a sold machine's link to an organisation.
type Service struct {
	ID              uuid.UUID  `db:"id"`
	OrgID           uuid.UUID  `db:"org_id"`
	OrgSlug         string     `db:"org_slug"`
	MachineID       uuid.UUID  `db:"machine_id"`
	AssetTag        string     `db:"asset_tag"`
	HoldID          uuid.UUID  `db:"hold_id"`
	StartedAt       time.Time  `db:"started_at"`
	EndedAt         *time.Time `db:"ended_at"`
	EndedBy         *string    `db:"ended_by"`
	EndReason       string     `db:"end_reason"`
	PriceMonthMinor int64      `db:"price_month_minor"`
	SetupMinor      int64      `db:"setup_minor"`
	Currency        string     `db:"currency"`
	Terms           string     `db:"terms"`
	CreatedBy       string     `db:"created_by"`
	OS              string     `db:"os"`
	SSHKeys         []string   `db:"ssh_keys"` // in authorized_keys form, as they were at the sale
	EndAt           *time.Time `db:"end_at"`   // planned, and may be withdrawn until then
	EndPlannedBy    *string    `db:"end_planned_by"`
	EndPlannedWhy   string     `db:"end_planned_reason"`
}

// Setup is what is installed on the machine of a new service. The zero value is the first operating
// system on offer, without keys.
type Setup struct {
	OS   string   // code
	Keys []string // public SSH keys in authorized_keys form
}

// Event is one entry of a hold's or a service's history.
type Event struct {
	At     time.Time       `db:"at"`
	Event  string          `db:"event"`
	Actor  string          `db:"actor"`
	Before json.RawMessage `db:"before"`
	After  json.RawMessage `db:"after"`
}

// Policy is the time that holds are given. Zero values are not allowed; see DefaultPolicy.
type Policy struct {
	Duration  time.Duration // HOLD_DURATION
	Extension time.Duration // HOLD_EXTENSION
	Ceiling   time.Duration // HOLD_CEILING: granted per organisation and machine within Window
	Window    time.Duration // 24 hours
	Terms     string        // frozen into each hold
}

// DefaultPolicy is 15 minutes, once more 15, and at most 45 for one machine in 24 hours.
func DefaultPolicy() Policy {
	return Policy{
		Duration: 15 * time.Minute, Extension: 15 * time.Minute,
		Ceiling: 45 * time.Minute, Window: 24 * time.Hour,
		Terms: "Monthly rental, cancellable at any time.",
	}
}

// Refused is the reason why a step on a hold or service was not taken, as a value for people: it
// is an error, so that it travels, but nothing is wrong with the system.
type Refused struct {
	Kind       RefusedKind
	Hold       Hold       // as it is now, where there is one
	ServiceID  *uuid.UUID // hold-converted
	Until      *time.Time // ceiling-reached: when the next time may be granted
	Substitute bool       // machine-withdrawn: an equal machine is free now
	Detail     string
}

// RefusedKind names a refusal; the names are the problem types of the API.
type RefusedKind string

// The refusals of steps after the hold.
const (
	HoldExpired      RefusedKind = "hold-expired"
	HoldCancelled    RefusedKind = "hold-cancelled"
	HoldConverted    RefusedKind = "hold-converted"
	MachineWithdrawn RefusedKind = "machine-withdrawn"
	ExtensionUsed    RefusedKind = "extension-used"
	CeilingReached   RefusedKind = "ceiling-reached"
	NotWithdrawn     RefusedKind = "not-withdrawn" // substitute of a machine that is still for sale
	NoSubstitute     RefusedKind = "no-substitute" // none equal is free
	NotFound         RefusedKind = "not-found"     // also another organisation's
	Busy             RefusedKind = "busy"          // lock timeout, deadlock, database away
	Checking         RefusedKind = "checking"      // the commit's answer was lost
	Faster           RefusedKind = "someone-was-faster"
	OSNotOffered     RefusedKind = "os-not-offered"
	ServiceEnded     RefusedKind = "service-ended" // its end can be neither planned nor withdrawn
	EndInPast        RefusedKind = "end-in-past"
)

func (r *Refused) Error() string { return string(r.Kind) + ": " + r.Detail }
