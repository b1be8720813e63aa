package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	return m, nil
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
	return views.LaunchPage{
		Launch: l.Launch, Percent: percentOf(l.Launch), ChangedAt: l.ChangedAt, ChangedBy: who.of(ctx, l.ChangedBy),
	}, nil
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
	s.notify(ctx, "rollout.saved")
	return seeOther(w, r, "/admin/rollout")
}
