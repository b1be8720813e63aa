package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/rollout"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// rolloutOrg is whose setting the page is about: the person's organisation, or for staff the one
// that the address names.
func (s *server) rolloutOrg(r *http.Request) (accounts.Org, error) {
	actor := request.Actor(r.Context())
	if !actor.Role.Staff() {
		return s.Accounts.Org(r.Context(), actor.OrgID)
	}
	org, err := s.Accounts.OrgBySlug(r.Context(), r.URL.Query().Get("org"))
	if _, missing := errors.AsType[*accounts.NotFound](err); missing {
		return org, problem.NoSuch()
	}
	return org, err
}

func (s *server) orgRollout(w http.ResponseWriter, r *http.Request) error {
	org, err := s.rolloutOrg(r)
	if err != nil {
		return err
	}
	m, err := s.orgRolloutModel(i18n.With(r.Context(), s.locale(r)), org)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.OrgRollout(m))
}

func (s *server) orgRolloutModel(ctx context.Context, org accounts.Org) (m views.OrgRolloutPage, err error) {
	actor := request.Actor(ctx)
	st, err := s.Rollout.Status(ctx, org.ID)
	if err != nil {
		return m, err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return m, err
	}
	m = views.OrgRolloutPage{
		Org: org.Name, Setting: st.Setting, Launch: st.Launch, Reason: st.Reason, Effective: st.Effective,
		ChangedAt: st.ChangedAt, ChangedBy: who.of(ctx, st.ChangedBy), CanSet: accounts.Can(actor.Role, accounts.RolloutOrg), Action: "/org/rollout",
	}
	if actor.Role.Staff() {
		m.Action += "?" + url.Values{"org": {org.Slug}}.Encode()
	}
	m.Flag = s.flagState(ctx, org.ID)
	m.History, err = s.rolloutHistory(ctx, org.ID, who)
	return m, err
}

// offFor says why nothing can be ordered for the organisation, nil when it can, as the flags know
// it. Staff order for others, so nothing is off for them.
func (s *server) offFor(ctx context.Context, org uuid.UUID) (*views.RolloutRefusal, error) {
	if org == uuid.Nil {
		return nil, nil //nolint:nilnil // nothing is off
	}
	if s.Flags == nil {
		st, err := s.Rollout.Status(ctx, org)
		if err != nil || st.Effective {
			return nil, err
		}
		return &views.RolloutRefusal{Reason: st.Reason, WhoCanChange: st.WhoCanChange}, nil
	}
	o := s.Flags.Ordering(ctx, org, string(request.Actor(ctx).Role))
	if o.On {
		return nil, nil //nolint:nilnil // nothing is off
	}
	off := &views.RolloutRefusal{Reason: o.Reason, WhoCanChange: rollout.WhoCanChange(o.Reason)}
	if off.WhoCanChange == "" { // not a reason of ours
		off.Reason = "other"
	}
	return off, nil
}

// refreshFlags makes a change visible on the pages at once.
func (s *server) refreshFlags(ctx context.Context) {
	if s.Flags != nil {
		s.Flags.Refresh(ctx)
	}
}

// flagState is where pages know the value from; with an organisation, also what they know of it.
func (s *server) flagState(ctx context.Context, org uuid.UUID) *views.FlagState {
	if s.Flags == nil {
		return nil
	}
	f := &views.FlagState{State: "ready", Provider: s.Flags.Provider()}
	if org != uuid.Nil {
		o := s.Flags.Ordering(ctx, org, string(request.Actor(ctx).Role))
		f.Asked, f.On = true, o.On
		if o.Stale {
			f.State = "stale"
		}
		if !o.Known {
			f.State = "away"
		}
		return f
	}
	switch s.Flags.State() {
	case "READY":
	case "STALE":
		f.State = "stale"
	default:
		f.State = "away"
	}
	return f
}

// changesShown bounds the history on a page.
const changesShown = 25

func (s *server) rolloutHistory(ctx context.Context, org uuid.UUID, who *names) ([]views.RolloutChange, error) {
	list, err := s.Rollout.History(ctx, org, changesShown)
	if err != nil {
		return nil, err
	}
	var out []views.RolloutChange
	for _, c := range list {
		out = append(out, views.RolloutChange{
			At: c.At, Launch: c.OrgID == nil, Org: c.OrgSlug, Before: c.Before, After: c.After, By: who.of(ctx, c.Actor),
		})
	}
	return out, nil
}

func (s *server) setOrgRollout(w http.ResponseWriter, r *http.Request) error {
	org, err := s.rolloutOrg(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	if !rollout.ValidSetting(f.Get("setting")) {
		m, err := s.orgRolloutModel(ctx, org)
		if err != nil {
			return err
		}
		m.Faults = []views.Fault{{Field: "setting", Label: i18n.T(ctx, "rollout.choose"), Message: i18n.T(ctx, "form.fault.pick")}}
		return s.renderAt(w, r, http.StatusUnprocessableEntity, m.Action, views.OrgRollout(m))
	}
	if _, err := s.Rollout.SetOrg(ctx, request.By(ctx), org.Slug, f.Get("setting")); err != nil {
		return err
	}
	s.refreshFlags(ctx)
	s.notify(ctx, "rollout.saved")
	return seeOther(w, r, r.URL.RequestURI())
}

func (s *server) launch(w http.ResponseWriter, r *http.Request) error {
	m, err := s.launchModel(i18n.With(r.Context(), s.locale(r)))
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Launch(m))
}

func (s *server) launchModel(ctx context.Context) (m views.LaunchPage, err error) {
	l, err := s.Rollout.Launch(ctx)
	if err != nil {
		return m, err
	}
	who, err := s.namesFor(ctx, request.Actor(ctx))
	if err != nil {
		return m, err
	}
	m = views.LaunchPage{
		Launch: l.Launch, Percent: percentOf(l.Launch), ChangedAt: l.ChangedAt, ChangedBy: who.of(ctx, l.ChangedBy),
		Flag: s.flagState(ctx, uuid.Nil),
	}
	m.History, err = s.rolloutHistory(ctx, uuid.Nil, who)
	return m, err
}

func percentOf(launch string) string {
	percent, ok := strings.CutSuffix(launch, "%")
	if !ok {
		return ""
	}
	return percent
}

func (s *server) setLaunch(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	launch := f.Get("launch")
	fault := views.Fault{Field: "launch", Label: i18n.T(ctx, "launch.choose"), Message: i18n.T(ctx, "form.fault.pick")}
	if launch == "percent" {
		launch = ""
		fault = views.Fault{Field: "percent", Label: i18n.T(ctx, "launch.percent"), Message: i18n.T(ctx, "form.fault.percent")}
		if n, err := strconv.Atoi(strings.TrimSpace(f.Get("percent"))); err == nil && n >= 0 && n <= 100 {
			launch = strconv.Itoa(n) + "%"
		}
	}
	if !rollout.ValidLaunch(launch) {
		m, err := s.launchModel(ctx)
		if err != nil {
			return err
		}
		m.Faults, m.Percent = []views.Fault{fault}, f.Get("percent")
		return s.renderAt(w, r, http.StatusUnprocessableEntity, "/admin/rollout", views.Launch(m))
	}
	if _, err := s.Rollout.SetLaunch(ctx, request.By(ctx), launch); err != nil {
		return err
	}
	s.refreshFlags(ctx)
	s.notify(ctx, "rollout.saved")
	return seeOther(w, r, "/admin/rollout")
}
