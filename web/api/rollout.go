package api

import (
	"net/http"
	"time"

	"ironhold/accounts"
	"ironhold/rollout"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// rolloutStatus says whether ordering is on for an organisation, and why.
type rolloutStatus struct {
	Org          string     `json:"org"`
	Setting      string     `json:"setting"`
	Launch       string     `json:"launch"`
	Effective    bool       `json:"effective"`
	Reason       string     `json:"reason"`
	WhoCanChange string     `json:"who_can_change"` // "" when it is on
	ChangedAt    *time.Time `json:"changed_at"`     // of the setting; null when it never changed
}

func rolloutOf(slug string, s *rollout.Status) rolloutStatus {
	return rolloutStatus{
		Org: slug, Setting: s.Setting, Launch: s.Launch, Effective: s.Effective, Reason: s.Reason,
		WhoCanChange: s.WhoCanChange, ChangedAt: utc(s.ChangedAt),
	}
}

// orgInPath is the organisation of the address, when the actor may know of it: another one than
// one's own does not exist.
func (a *API) orgInPath(r *http.Request) (accounts.Org, error) {
	actor := request.Actor(r.Context())
	slug := request.PathValue(r, "slug")
	if !actor.Role.Staff() && slug != actor.OrgSlug {
		return accounts.Org{}, problem.NoSuch()
	}
	return a.Accounts.OrgBySlug(r.Context(), slug)
}

func (a *API) getRollout(w http.ResponseWriter, r *http.Request) error {
	org, err := a.orgInPath(r)
	if err != nil {
		return err
	}
	if err := query(r).done(); err != nil {
		return err
	}
	s, err := a.Rollout.Status(r.Context(), org.ID)
	if err != nil {
		return err
	}
	doc := rolloutOf(org.Slug, &s)
	return writeTagged(w, r, doc, doc)
}

func (a *API) putRollout(w http.ResponseWriter, r *http.Request) error {
	org, err := a.orgInPath(r)
	if err != nil {
		return err
	}
	var setting string
	if err := readWord(r, "setting", &setting); err != nil {
		return err
	}
	s, err := a.Rollout.SetOrg(r.Context(), request.By(r.Context()), org.Slug, setting)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, rolloutOf(org.Slug, &s))
}

type launchState struct {
	Launch    string    `json:"launch"`
	ChangedAt time.Time `json:"changed_at"`
	ChangedBy string    `json:"changed_by"`
}

func (a *API) putLaunch(w http.ResponseWriter, r *http.Request) error {
	var launch string
	if err := readWord(r, "launch", &launch); err != nil {
		return err
	}
	l, err := a.Rollout.SetLaunch(r.Context(), request.By(r.Context()), launch)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, launchState{Launch: l.Launch, ChangedAt: l.ChangedAt.UTC(), ChangedBy: l.ChangedBy})
}

// readWord reads a body of one required string.
func readWord(r *http.Request, name string, to *string) error {
	faults, err := readBody(r, false, textField(name, to, maxText))
	if err != nil {
		return err
	}
	if *to == "" && !named(faults, name) {
		// What is allowed is said by whoever owns the value; here it is merely missing.
		faults = append(faults, fault(name, "is required"))
	}
	if faults = append(faults, strayQuery(r)...); len(faults) > 0 {
		return problem.Faulty(faults...)
	}
	return nil
}
