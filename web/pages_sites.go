package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ironhold/accounts"
	"ironhold/fleet"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

func siteURL(code string) string { return "/fleet/sites/" + url.PathEscape(code) }

// sites lists the places, and what each promises.
func (s *server) sites(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Fleet.Sites(r.Context())
	if err != nil {
		return err
	}
	var m views.SitesPage
	for _, st := range list {
		m.Items = append(m.Items, siteRow(st))
	}
	return s.render(w, r, http.StatusOK, views.Sites(m))
}

func siteRow(st fleet.Site) views.SiteRow {
	row := views.SiteRow{Code: st.Code, Name: st.Name, Country: st.Country, TimeZone: st.TimeZone}
	if st.DeliveryHours != nil {
		row.DeliveryHours = *st.DeliveryHours
	}
	return row
}

// site is one place: its facts, the form that changes them, who changed what.
func (s *server) site(w http.ResponseWriter, r *http.Request) error {
	return s.sitePage(w, r, http.StatusOK, nil, nil)
}

func (s *server) sitePage(w http.ResponseWriter, r *http.Request, status int, typed url.Values, faults []views.Fault) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	st, err := s.Fleet.Site(ctx, request.PathValue(r, "code"))
	if err != nil {
		return err
	}
	events, err := s.Fleet.SiteEvents(ctx, st.Code)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	m := views.SitePage{SiteRow: siteRow(st), CanWrite: accounts.Can(actor.Role, accounts.FleetWrite), Zones: accounts.TimeZones(), Faults: faults}
	m.FormName, m.FormCountry, m.FormZone, m.FormHours = st.Name, st.Country, st.TimeZone, hoursCell(m.DeliveryHours)
	if typed != nil {
		m.FormName, m.FormCountry, m.FormZone, m.FormHours = typed.Get("name"), typed.Get("country"), typed.Get("time_zone"), typed.Get("delivery_hours")
	}
	if !slices.Contains(m.Zones, m.FormZone) && m.FormZone != "" {
		m.Zones = append(m.Zones, m.FormZone)
	}
	for _, e := range events {
		m.Events = append(m.Events, siteEvent(ctx, e, who))
	}
	if len(faults) > 0 {
		request.From(r.Context()).Problem = string(problem.Invalid)
	}
	return s.renderAt(w, r, status, siteURL(st.Code), views.SiteDetail(m))
}

// siteEvent words what changed, field by field.
func siteEvent(ctx context.Context, e fleet.SiteEvent, who *names) views.Event {
	out := views.Event{At: e.At, Event: "site_added", Actor: who.of(ctx, e.Actor)}
	if e.Before == nil {
		return out
	}
	out.Event = "changed"
	before, after := siteRow(*e.Before), siteRow(e.After)
	var changes []string
	change := func(label, old, now string) {
		if old != now {
			changes = append(changes, i18n.T(ctx, "sites.change", "what", i18n.T(ctx, label), "old", old, "new", now))
		}
	}
	change("sites.name", before.Name, after.Name)
	change("sites.country", views.Dash(before.Country), views.Dash(after.Country))
	change("sites.time_zone", before.TimeZone, after.TimeZone)
	change("server.delivery", before.Delivery(ctx), after.Delivery(ctx))
	out.Details = strings.Join(changes, "; ")
	return out
}

// setSite writes what an operator says about a place. Forms that were open meanwhile show it at their
// next load; other processes within the time that they keep their choices.
func (s *server) setSite(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	st := fleet.Site{Code: request.PathValue(r, "code"), Name: f.Get("name"), Country: f.Get("country"), TimeZone: f.Get("time_zone")}
	var faults []views.Fault
	if typed := strings.TrimSpace(f.Get("delivery_hours")); typed != "" {
		hours, err := strconv.Atoi(typed)
		if err != nil {
			hours = -1 // told with the rest
		}
		st.DeliveryHours = &hours
	}
	err = s.Fleet.SetSite(ctx, request.By(ctx), st)
	if invalid, ok := errors.AsType[*fleet.Invalid](err); ok {
		faults = append(faults, views.Fault{
			Field: invalid.Field, Label: i18n.T(ctx, "sites."+invalid.Field),
			Message: i18n.T(ctx, "sites.fault."+invalid.Field, "n", map[string]int{"name": fleet.MaxSiteName, "delivery_hours": fleet.MaxDeliveryHours}[invalid.Field]),
		})
		return s.sitePage(w, r, http.StatusUnprocessableEntity, f, faults)
	}
	if err != nil {
		return err
	}
	s.pages.forgetChoices()
	s.notify(ctx, "sites.saved")
	return seeOther(w, r, siteURL(st.Code))
}
