package allocator

import (
	"time"

	"github.com/google/uuid"

	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
)

// Request is what a customer asks for: constraints, all optional. The zero value takes any
// machine. Sizes are in GB, money in minor units. Field names are those of the API.
type Request struct {
	Sites              []string `json:"sites,omitempty"`
	Vendors            []string `json:"vendors,omitempty"`
	CPU                string   `json:"cpu,omitempty"` // substring, case does not matter
	MinCores           int      `json:"min_cores,omitempty"`
	MinThreads         int      `json:"min_threads,omitempty"`
	MinRAMGB           int      `json:"min_ram_gb,omitempty"`
	MinNVMeGB          int      `json:"min_nvme_gb,omitempty"`
	MinSSDGB           int      `json:"min_ssd_gb,omitempty"`
	MinHDDGB           int      `json:"min_hdd_gb,omitempty"`
	MinNICMbps         int      `json:"min_nic_mbps,omitempty"`
	ECC                *bool    `json:"ecc,omitempty"` // true: required; false or absent: no matter
	GPU                *bool    `json:"gpu,omitempty"` // true: required; false or absent: no matter
	Features           []string `json:"features,omitempty"`
	MaxPriceMonthMinor *int64   `json:"max_price_month_minor,omitempty"`
	Currency           string   `json:"currency,omitempty"` // of the limit; may be left out while the fleet has one alone
	Machine            string   `json:"machine,omitempty"`  // asset tag: exactly this one
}

// Fault is one thing wrong with a request, by the API's field name. Message is the API's, in
// English; pages say Why and Limit in the language of who reads.
type Fault struct {
	Field   string   `json:"field"`
	Message string   `json:"message"`
	Why     FaultWhy `json:"-"`
	Limit   int64    `json:"-"` // what Why is measured by, in the field's unit; 0 for none
}

// FaultWhy is the kind of a fault.
type FaultWhy string

// The kinds of faults that a request can have.
const (
	FaultRange   FaultWhy = "range"   // not from 0 to Limit
	FaultEntries FaultWhy = "entries" // more than Limit entries
	FaultText    FaultWhy = "text"    // not at most Limit printable characters
	FaultSite    FaultWhy = "site"    // no such site
	FaultMachine FaultWhy = "machine" // no such machine

	FaultCurrency FaultWhy = "currency" // the limit's is missing, or is none
)

// Outcome is what became of an order; pages, API, log and metrics share it. Values are spelt as
// in the log; Problem gives the API's spelling.
type Outcome string

// The outcomes, in the order in which the first that applies is given.
const (
	Invalid       Outcome = "invalid"
	Replayed      Outcome = "replayed"
	KeyReused     Outcome = "key_reused"
	NotRolledOut  Outcome = "not_rolled_out"
	Suspended     Outcome = "organisation_suspended"
	AlreadyYours  Outcome = "already_yours"
	LimitReached  Outcome = "limit_reached"
	CoolDown      Outcome = "cool_down"
	Held          Outcome = "held"
	SomeoneFaster Outcome = "someone_was_faster"
	TryAgain      Outcome = "try_again_shortly"
	AllHeld       Outcome = "all_held"
	NoneLeft      Outcome = "none_left"
	Busy          Outcome = "busy"
	Checking      Outcome = "checking"
)

// Outcomes are all that an order that was read can end with.
var Outcomes = [...]Outcome{Replayed, KeyReused, NotRolledOut, Suspended, AlreadyYours, LimitReached, CoolDown, Held,
	SomeoneFaster, TryAgain, AllHeld, NoneLeft, Busy, Checking}

// Reason is a stable code that says why a machine is not a candidate.
type Reason string

// The reasons, in the order in which they are listed.
const (
	WrongSite      Reason = "wrong_site"
	WrongVendor    Reason = "wrong_vendor"
	WrongCPU       Reason = "wrong_cpu"
	TooFewCores    Reason = "too_few_cores"
	TooFewThreads  Reason = "too_few_threads"
	TooLittleRAM   Reason = "too_little_memory"
	TooLittleNVMe  Reason = "too_little_nvme"
	TooLittleSSD   Reason = "too_little_ssd"
	TooLittleHDD   Reason = "too_little_hdd"
	TooSlowNetwork Reason = "too_slow_network"
	NoECC          Reason = "no_ecc"
	NoGPU          Reason = "no_gpu"
	MissingFeature Reason = "missing_feature"
	OverBudget     Reason = "over_budget"
	OtherMachine   Reason = "other_machine"
	NotReady       Reason = "not_ready"
	HeldByAnother  Reason = "held"
	InService      Reason = "in_service"
	CoolingDown    Reason = "cooling_down"
)

// Order is one request to hold a machine for an organisation.
type Order struct {
	OrgID   uuid.UUID
	By      pg.By
	Key     string // Idempotency-Key, 1 to 255 visible ASCII characters
	Request Request

	// OverrideCoolDown, a reason, lets machines count that the organisation has held for as long as
	// it may. Only staff may set it, which their callers decide; it is recorded in the attempt and in
	// the hold.
	OverrideCoolDown string
}

// Result is the answer to an order. Exactly the fields of its outcome are set.
type Result struct {
	Outcome   Outcome
	AttemptID uuid.UUID // the reference number; zero for Invalid
	Faults    []Fault   // Invalid

	Hold      *holds.Hold // Held, Replayed, KeyReused; AlreadyYours when it is a hold
	ServiceID *uuid.UUID  // AlreadyYours when it is a service

	Survey     *Survey    // refusals that looked at the fleet
	Walk       []Step     // what happened to each candidate
	NextFreeAt *time.Time // AllHeld, if known
	Until      *time.Time // CoolDown
	RetryAfter time.Duration

	LimitName string // LimitReached: "max_holds" or "max_machines"
	Limit     int
	LiveHolds int
	Active    int

	Rollout *RolloutRefusal // NotRolledOut
	Detail  string
}

// RolloutRefusal is what a precondition says when the module is off.
type RolloutRefusal struct {
	Reason       string // launch_off, org_off, not_opted_in, percentage_out
	WhoCanChange string // "operator" or "org-admin"
}

// Count is one line of the histogram.
type Count struct {
	Code  Reason `json:"code"`
	Count int    `json:"count"`
}

// NearMiss says what one relaxed constraint would gain: machines that this reason alone excludes.
// Relax is the API's field name ("sites", "min_ram_gb", ...); Value is the value to give it, as
// in a request body.
type NearMiss struct {
	Relax string `json:"relax"`
	Code  Reason `json:"code"`
	Value any    `json:"value"`
	Gains int    `json:"gains"`
}

// Survey is the first pass: how many machines are eligible, and all the reasons why the others
// are not. considered = eligible + excluded.
type Survey struct {
	Considered int        `json:"considered"`
	Eligible   int        `json:"eligible"`
	Excluded   int        `json:"excluded"`
	Reasons    []Count    `json:"reasons"`
	NearMisses []NearMiss `json:"near_misses"`
	NextFreeAt *time.Time `json:"-"`
	AsOf       time.Time  `json:"as_of"`
}

// Surveyed is one machine in a survey, for staff.
type Surveyed struct {
	AssetTag string       `json:"asset_tag"`
	Eligible bool         `json:"eligible"`
	Reasons  []Reason     `json:"reasons"`
	Status   fleet.Status `json:"status"`
}

// Step is what happened to one candidate in the second pass: "won", "skipped" (locked by another),
// "changed" (no longer eligible under the lock), "lost" (the index decided for another).
type Step struct {
	MachineID uuid.UUID `json:"machine_id"`
	AssetTag  string    `json:"asset_tag"`
	Result    string    `json:"result"`
	Why       string    `json:"why,omitempty"`
	At        time.Time `json:"at"`
}

// Decision is frozen into the hold: why this machine.
type Decision struct {
	Version  string     `json:"version"` // of the allocator
	Rank     int        `json:"rank"`    // 1 = the first choice
	Rule     string     `json:"rule"`    // the rule that put it before the runner-up: "price", "currency", "least_over_fulfilment", "lot", "only_one", "exact_machine"
	RunnerUp *RunnerUp  `json:"runner_up,omitempty"`
	Eligible int        `json:"eligible_seen"`
	Skipped  int        `json:"skipped"`
	Lost     int        `json:"lost"`
	Changed  int        `json:"changed"`
	Overdue  *uuid.UUID `json:"freed_overdue_hold,omitempty"`
	Override string     `json:"cool_down_overridden,omitempty"` // the reason that staff gave
	ClassID  int        `json:"class_id"`
	Spec     fleet.Spec `json:"-"`
	Over     int64      `json:"over_fulfilment"`
}

// RunnerUp is the candidate that would have been next.
type RunnerUp struct {
	AssetTag        string `json:"asset_tag"`
	PriceMonthMinor int64  `json:"price_month_minor"`
	Over            int64  `json:"over_fulfilment"`
}
