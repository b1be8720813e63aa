package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/provision"
	"ironhold/provision/driver"
	"ironhold/web/problem"
)

// Bounds of what is chosen at a confirmation.
const (
	maxOS      = 40
	maxKeyText = 8000
)

// provisioning is what is done to the machine of a service.
type provisioning struct {
	Kind       driver.Kind     `json:"kind"`
	State      provision.State `json:"state"`
	Step       string          `json:"step"`
	Percent    *int            `json:"percent"`
	Attempt    int             `json:"attempts"`
	CreatedAt  time.Time       `json:"created_at"`
	StartedAt  *time.Time      `json:"started_at"`
	FinishedAt *time.Time      `json:"finished_at"`
}

func provisioningOf(p provision.Progress) *provisioning {
	return &provisioning{p.Kind, p.State, p.Step, p.Percent, p.Attempt, p.CreatedAt.UTC(), utc(p.StartedAt), utc(p.FinishedAt)}
}

// provisionings adds to documents of services what is done to their machines.
func (a *API) provisionings(ctx context.Context, docs ...*service) error {
	s, err := scope(ctx)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	latest, err := a.Provision.Latest(ctx, s.OrgID, ids)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if p, ok := latest[d.ID]; ok {
			d.Provisioning = provisioningOf(p)
		}
	}
	return nil
}

// setupFields are what a confirmation chooses.
func setupFields(os *string, keys *[]string) []field {
	return []field{textField("os", os, maxOS), textsField("ssh_keys", keys, maxKeyText, provision.MaxKeys)}
}

// setup makes what is installed of what was chosen: keys are lines as in authorized_keys, or ids of keys
// that the organisation keeps.
func (a *API) setup(ctx context.Context, org uuid.UUID, os string, keys []string) (holds.Setup, error) {
	var faults []allocator.Fault
	var kept []uuid.UUID
	var lines []string
	for i, text := range keys {
		if id, ok := parseID(text); ok {
			kept = append(kept, id)
			continue
		}
		key, err := provision.ParseKey(text)
		if e, ok := errors.AsType[*provision.Invalid](err); ok {
			faults = append(faults, fault(fmt.Sprintf("ssh_keys[%d]", i), e.Message))
		} else if err != nil {
			return holds.Setup{}, err
		}
		lines = append(lines, key.PublicKey)
	}
	setup, err := a.Provision.Setup(ctx, org, os, kept)
	if e, ok := errors.AsType[*provision.Invalid](err); ok {
		faults = append(faults, fault(e.Field, e.Message))
	} else if err != nil {
		return holds.Setup{}, err
	}
	if len(faults) > 0 {
		return holds.Setup{}, problem.Faulty(faults...)
	}
	for _, line := range lines {
		if !slices.Contains(setup.Keys, line) {
			setup.Keys = append(setup.Keys, line)
		}
	}
	return setup, nil
}

// system is an operating system on offer.
type system struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// systemList is the answer about operating systems; the first is what whoever does not choose gets.
type systemList struct {
	Items []system `json:"items"`
}

func (a *API) operatingSystems(w http.ResponseWriter, r *http.Request) error {
	if err := query(r).done(); err != nil {
		return err
	}
	list, err := a.Provision.Systems(r.Context())
	if err != nil {
		return err
	}
	out := systemList{Items: make([]system, len(list))}
	for i, s := range list {
		out.Items[i] = system{s.Code, s.Name}
	}
	return write(w, http.StatusOK, out)
}

// momentField is a time with its zone.
func momentField(name string, to **time.Time) field {
	return field{name: name, read: func(v value) (string, string) {
		if v.kind != text {
			return "", "must be a string, not " + string(v.kind)
		}
		t, err := time.Parse(time.RFC3339, v.text)
		if err != nil || t.Year() > 9999 || t.Year() < 1 {
			return "", "must be a time such as 2026-12-24T18:00:00Z"
		}
		*to = &t
		return "", ""
	}, schema: schema{Type: []string{"string"}, Format: "date-time"}}
}
