package api

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
)

// money is an amount in minor units of its currency.
type money struct {
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// spec is what a machine is for a buyer.
type spec struct {
	Site     string        `json:"site"`
	Vendor   string        `json:"vendor"`
	Model    string        `json:"model"`
	CPU      string        `json:"cpu"`
	CPUCount int           `json:"cpu_count"`
	Cores    int           `json:"cores"`
	Threads  int           `json:"threads"`
	RAMGB    int           `json:"ram_gb"`
	ECC      bool          `json:"ecc"`
	NVMeGB   int           `json:"nvme_gb"`
	SSDGB    int           `json:"ssd_gb"`
	HDDGB    int           `json:"hdd_gb"`
	Drives   []fleet.Drive `json:"drives"`
	GPU      *string       `json:"gpu"` // null for none
	NICMbps  int           `json:"nic_mbps"`
	Features []string      `json:"features"`
}

func specOf(s *fleet.Spec) spec {
	out := spec{
		Site: s.SiteCode, Vendor: s.Vendor, Model: s.Model, CPU: s.CPU, CPUCount: s.CPUCount, Cores: s.Cores,
		Threads: s.Threads, RAMGB: s.RAMGB, ECC: s.ECC, NVMeGB: s.NVMeGB, SSDGB: s.SSDGB, HDDGB: s.HDDGB,
		Drives: s.Drives, NICMbps: s.NICMbps, Features: s.Features,
	}
	if s.GPU != "" {
		out.GPU = &s.GPU
	}
	if out.Drives == nil {
		out.Drives = []fleet.Drive{}
	}
	if out.Features == nil {
		out.Features = []string{}
	}
	return out
}

// heldMachine is the machine of a hold or service as its holder sees it.
type heldMachine struct {
	AssetTag string `json:"asset_tag"`
	spec
}

// hold is the document of a hold. Fields marked staff are left out for customers.
type hold struct {
	ID           uuid.UUID   `json:"id"`
	State        holds.State `json:"state"`
	Org          string      `json:"org"`
	Machine      heldMachine `json:"machine"`
	PriceMonth   money       `json:"price_month"`
	Setup        money       `json:"setup"`
	Terms        string      `json:"terms"`
	CreatedAt    time.Time   `json:"created_at"`
	ExpiresAt    time.Time   `json:"expires_at"`
	ExtendedAt   *time.Time  `json:"extended_at"`
	SecondsLeft  int         `json:"seconds_left"`
	ClosedAt     *time.Time  `json:"closed_at"`
	CloseReason  string      `json:"close_reason"`
	Decision     any         `json:"decision"`
	Service      *uuid.UUID  `json:"service"`
	Withdrawn    bool        `json:"withdrawn"`
	SubstituteOf *uuid.UUID  `json:"substitute_of"`
	Attempt      *uuid.UUID  `json:"attempt"`

	Overdue   *bool           `json:"overdue,omitzero"`    // staff: held, past its deadline, not swept yet
	CreatedBy string          `json:"created_by,omitzero"` // staff
	ClosedBy  *string         `json:"closed_by,omitzero"`  // staff
	Request   json.RawMessage `json:"request,omitzero"`    // staff
}

func holdOf(h *holds.Hold, m fleet.Machine, forStaff bool) hold {
	out := hold{
		ID: h.ID, State: h.Shown(), Org: h.OrgSlug,
		Machine:    heldMachine{AssetTag: h.AssetTag, spec: specOf(&m.Spec)},
		PriceMonth: money{h.PriceMonthMinor, h.Currency}, Setup: money{h.SetupMinor, h.Currency}, Terms: h.Terms,
		CreatedAt: h.CreatedAt.UTC(), ExpiresAt: h.ExpiresAt.UTC(), ExtendedAt: utc(h.ExtendedAt),
		SecondsLeft: h.SecondsLeft(), ClosedAt: utc(h.ClosedAt), CloseReason: h.CloseReason,
		Decision: decisionOf(h.Decision, forStaff), Service: h.ServiceID, Withdrawn: h.Withdrawn(),
		SubstituteOf: h.SubstituteOf, Attempt: h.AttemptID,
	}
	if forStaff {
		out.Overdue, out.CreatedBy, out.ClosedBy, out.Request = new(h.Overdue), h.CreatedBy, h.ClosedBy, h.Request
	}
	return out
}

// decisionOf is the frozen decision. The overdue hold that it freed was another organisation's, so
// customers do not see it; what they see is listed field by field.
func decisionOf(raw json.RawMessage, forStaff bool) any {
	if forStaff {
		if len(raw) == 0 {
			return struct{}{}
		}
		return raw
	}
	var d allocator.Decision
	if json.Unmarshal(raw, &d) != nil || d.Version == "" {
		return struct{}{}
	}
	d.Overdue = nil
	return d
}

// service is the document of a service. Fields marked staff are left out for customers.
type service struct {
	ID         uuid.UUID   `json:"id"`
	State      string      `json:"state"` // active, ended
	Org        string      `json:"org"`
	Machine    heldMachine `json:"machine"`
	Hold       uuid.UUID   `json:"hold"`
	PriceMonth money       `json:"price_month"`
	Setup      money       `json:"setup"`
	Terms      string      `json:"terms"`
	StartedAt  time.Time   `json:"started_at"`
	EndedAt    *time.Time  `json:"ended_at"`
	EndReason  string      `json:"end_reason"`
	EndAt      *time.Time  `json:"end_at"`
	OS         string      `json:"os"`
	SSHKeys    []string    `json:"ssh_keys"`

	Provisioning *provisioning `json:"provisioning"`

	CreatedBy string  `json:"created_by,omitzero"` // staff
	EndedBy   *string `json:"ended_by,omitzero"`   // staff
}

func serviceOf(v *holds.Service, m fleet.Machine, forStaff bool) service {
	out := service{
		ID: v.ID, State: "active", Org: v.OrgSlug,
		Machine: heldMachine{AssetTag: v.AssetTag, spec: specOf(&m.Spec)}, Hold: v.HoldID,
		PriceMonth: money{v.PriceMonthMinor, v.Currency}, Setup: money{v.SetupMinor, v.Currency}, Terms: v.Terms,
		StartedAt: v.StartedAt.UTC(), EndedAt: utc(v.EndedAt), EndReason: v.EndReason,
		OS: v.OS, SSHKeys: v.SSHKeys,
	}
	if out.SSHKeys == nil {
		out.SSHKeys = []string{}
	}
	if v.EndedAt == nil {
		out.EndAt = utc(v.EndAt)
	}
	if v.EndedAt != nil {
		out.State = "ended"
	}
	if forStaff {
		out.CreatedBy, out.EndedBy = v.CreatedBy, v.EndedBy
	}
	return out
}
