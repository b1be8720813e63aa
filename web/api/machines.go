package api

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"

	"ironhold/fleet"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// machine is a machine as staff see it.
type machine struct {
	ID       uuid.UUID `json:"id"`
	AssetTag string    `json:"asset_tag"`
	spec

	RAM          string       `json:"ram"`
	Room         string       `json:"room"`
	Rack         string       `json:"rack"`
	Serial       string       `json:"serial"`
	Class        int          `json:"class"`
	PriceMonth   money        `json:"price_month"`
	Setup        money        `json:"setup"`
	Status       fleet.Status `json:"status"`
	StatusReason string       `json:"status_reason"`
	StatusBy     string       `json:"status_by"`
	StatusAt     time.Time    `json:"status_at"`
	WipedAt      *time.Time   `json:"wiped_at"`
	CreatedAt    time.Time    `json:"created_at"`
	UpdatedAt    time.Time    `json:"updated_at"`
}

// machineDetail is a machine with who has it and what happened to it, newest first.
type machineDetail struct {
	machine

	Occupant *occupant      `json:"occupant"` // null when nobody has it
	History  []machineEvent `json:"history"`
}

type occupant struct {
	Kind    string     `json:"kind"` // hold, service
	ID      uuid.UUID  `json:"id"`
	Org     string     `json:"org"`
	OrgName string     `json:"org_name"`
	Since   time.Time  `json:"since"`
	Until   *time.Time `json:"until"`
	Overdue bool       `json:"overdue"`
}

type machineEvent struct {
	At        time.Time       `json:"at"`
	Event     string          `json:"event"`
	Reason    string          `json:"reason"`
	Actor     string          `json:"actor"`
	RequestID *string         `json:"request_id"`
	Before    json.RawMessage `json:"before"`
	After     json.RawMessage `json:"after"`
}

func machineOf(m *fleet.Machine) machine {
	return machine{
		ID: m.ID, AssetTag: m.AssetTag, spec: specOf(&m.Spec), RAM: m.RAM, Room: m.Room, Rack: m.Rack, Serial: m.Serial,
		Class: m.ClassID, PriceMonth: money{m.PriceMonthMinor, m.Currency}, Setup: money{m.SetupMinor, m.Currency},
		Status: m.Status, StatusReason: m.StatusReason, StatusBy: m.StatusBy, StatusAt: m.StatusAt.UTC(),
		WipedAt: utc(m.WipedAt), CreatedAt: m.CreatedAt.UTC(), UpdatedAt: m.UpdatedAt.UTC(),
	}
}

// tagPattern is what an asset tag can be; anything else does not exist.
var tagPattern = regexp.MustCompile(`^[!-~]{1,64}$`)

func tagOf(r *http.Request) (string, error) {
	tag := request.PathValue(r, "tag")
	if !tagPattern.MatchString(tag) {
		return "", problem.NoSuch()
	}
	return tag, nil
}

func (a *API) listMachines(w http.ResponseWriter, r *http.Request) error {
	q := query(r)
	f := fleet.Filter{
		Status: fleet.Status(q.oneOf("status", statuses()...)), Site: q.text("site"), Query: q.text("q"),
	}
	limit := q.limit()
	f.After, f.Limit = q.cursor(cursorMachines), limit+1
	if err := q.done(); err != nil {
		return err
	}
	rows, err := a.Fleet.Machines(r.Context(), f)
	if err != nil {
		return err
	}
	rows, next := page(rows, limit, cursorMachines, func(m fleet.Machine) string { return m.AssetTag })
	out := list[machine]{Items: make([]machine, len(rows)), NextCursor: next}
	for i := range rows {
		out.Items[i] = machineOf(&rows[i])
	}
	return write(w, http.StatusOK, out)
}

func statuses() []string {
	all := []fleet.Status{fleet.Intake, fleet.Ready, fleet.InService, fleet.Cleaning, fleet.Maintenance, fleet.Retired}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return names
}

func (a *API) getMachine(w http.ResponseWriter, r *http.Request) error {
	tag, err := tagOf(r)
	if err != nil {
		return err
	}
	if err := query(r).done(); err != nil {
		return err
	}
	m, err := a.Fleet.Machine(r.Context(), tag)
	if err != nil {
		return err
	}
	doc, err := a.machineDetail(r.Context(), &m)
	if err != nil {
		return err
	}
	return writeTagged(w, r, doc, doc)
}

func (a *API) writeMachine(ctx context.Context, w http.ResponseWriter, m *fleet.Machine) error {
	doc, err := a.machineDetail(ctx, m)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, doc)
}

func (a *API) machineDetail(ctx context.Context, m *fleet.Machine) (machineDetail, error) {
	out := machineDetail{machine: machineOf(m), History: []machineEvent{}}
	o, err := a.Fleet.Occupant(ctx, m.AssetTag)
	if err != nil {
		return machineDetail{}, err
	}
	if o != nil {
		out.Occupant = &occupant{
			Kind: o.Kind, ID: o.ID, Org: o.OrgSlug, OrgName: o.OrgName, Since: o.Since.UTC(), Until: utc(o.Until), Overdue: o.Overdue,
		}
	}
	events, err := a.Fleet.Events(ctx, m.AssetTag)
	if err != nil {
		return machineDetail{}, err
	}
	for _, e := range events {
		out.History = append(out.History, machineEvent{
			At: e.At.UTC(), Event: e.Event, Reason: e.Reason, Actor: e.Actor, RequestID: e.RequestID, Before: e.Before, After: e.After,
		})
	}
	return out, nil
}

func (a *API) setStatus(w http.ResponseWriter, r *http.Request) error {
	tag, err := tagOf(r)
	if err != nil {
		return err
	}
	var status, reason string
	faults, err := readBody(r, false, textField("status", &status, maxText), proseField("reason", &reason))
	if err != nil {
		return err
	}
	if status == "" && !named(faults, "status") {
		faults = append(faults, fault("status", "is required"))
	} else if _, err := fleet.ParseStatus(status); err != nil && status != "" {
		faults = append(faults, problem.From(err).Extra.Errors...)
	}
	if reason == "" && !named(faults, "reason") {
		faults = append(faults, fault("reason", "is required: say why"))
	}
	if faults = append(faults, strayQuery(r)...); len(faults) > 0 {
		return problem.Faulty(faults...)
	}
	m, err := a.Fleet.SetStatus(r.Context(), request.By(r.Context()), tag, fleet.Status(status), reason)
	if err != nil {
		return err
	}
	return a.writeMachine(r.Context(), w, &m)
}

func (a *API) wiped(w http.ResponseWriter, r *http.Request) error {
	tag, err := tagOf(r)
	if err != nil {
		return err
	}
	reason := "wipe recorded"
	if err := readExactly(r, true, proseField("reason", &reason)); err != nil {
		return err
	}
	m, err := a.Fleet.Wiped(r.Context(), request.By(r.Context()), tag, reason)
	if err != nil {
		return err
	}
	return a.writeMachine(r.Context(), w, &m)
}
