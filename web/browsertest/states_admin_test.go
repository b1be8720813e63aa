package browsertest

import "ironhold/migrations/pg"

// The pages of operators.
func init() {
	states = append(states, []state{
		{name: "admin-orgs", who: operator, show: at("/admin/orgs")},
		{name: "admin-orgs-sales", who: sales, show: at("/admin/orgs")},
		{name: "admin-orgs-wrong", who: operator, title: "Error", show: func(v *visit) {
			v.Post("/admin/orgs", "slug", "Not a slug", "name", "", "max_holds", "many", "max_machines", "5")
		}},
		{name: "admin-org", who: operator, title: "Acme", show: func(v *visit) { v.own("GOT-1"); v.Go("/admin/orgs/acme") }},
		{name: "admin-org-suspended", who: operator, title: "Acme", show: func(v *visit) {
			v.Post("/admin/orgs/acme/suspend", "do", "suspend", "reason", "Invoice 4711 is open")
		}},
		{name: "admin-org-notes", who: sales, title: "Acme", show: func(v *visit) {
			v.Post("/desk/notes", "subject", "organisation", "id", v.acme.String(), "body", "Calls on Fridays, wants to grow in Leipzig")
		}},
		{name: "admin-org-no-reason", who: operator, title: "Error", show: func(v *visit) { v.Post("/admin/orgs/acme/suspend", "do", "suspend", "reason", "") }},
		{name: "admin-checks", who: operator, show: at("/admin/checks")},
		{name: "fleet-work", who: operator, show: func(v *visit) { v.rent(v.acme, "GOT-1"); v.rent(v.acme, "GOT-2"); v.Go("/fleet/work") }},
		{name: "fleet-work-none", who: operator, show: at("/fleet/work")},
		{name: "fleet-work-no-reason", who: operator, title: "Error", show: func(v *visit) {
			service := v.rent(v.acme, "GOT-1")
			v.Post("/fleet/work/"+service.String(), "kind", "install", "do", "failed", "reason", "")
		}},
		{name: "german-work", who: sales, show: func(v *visit) { v.german(); v.rent(v.acme, "GOT-1"); v.Go("/fleet/work") }},
		{name: "admin-health", who: operator, sample: true, show: func(v *visit) { v.attempts(); v.Vitals.Refresh(v.t.Context()); v.Go("/admin/health") }},
		{name: "admin-health-unwatched", who: operator, show: at("/admin/health")},
		{name: "german-health", who: operator, show: func(v *visit) { v.german(); v.Vitals.Refresh(v.t.Context()); v.Go("/admin/health") }},
		{name: "fleet-import", who: operator, show: at("/fleet/import")},
		{name: "fleet-import-preview", who: operator, show: func(v *visit) { v.Go("/fleet/import?upload=" + v.upload()) }},
		{name: "german-import-preview", who: operator, show: func(v *visit) { v.german(); v.Go("/fleet/import?upload=" + v.upload()) }},
		{name: "fleet-import-gone", who: operator, title: "Error", show: at("/fleet/import?upload=01890000-0000-7000-8000-000000000001")},
		{name: "fleet-classes", who: operator, sample: true, show: at("/fleet/classes")},
		{name: "fleet-sites", who: operator, sample: true, show: at("/fleet/sites")},
		{name: "fleet-site", who: operator, title: "Gothenburg", show: func(v *visit) {
			v.Post("/fleet/sites/GOT1", "name", "Gothenburg", "country", "SE", "time_zone", "Europe/Stockholm", "delivery_hours", "4")
		}},
		{name: "fleet-site-sales", who: sales, title: "Gothenburg", show: at("/fleet/sites/GOT1")},
		{name: "fleet-site-wrong", who: operator, title: "Error", show: func(v *visit) {
			v.Post("/fleet/sites/GOT1", "name", "", "country", "Sweden", "time_zone", "Nowhere", "delivery_hours", "soon")
		}},
		{name: "german-site", who: operator, show: func(v *visit) { v.german(); v.Go("/fleet/sites/GOT1") }},
		{name: "german-desk", who: sales, show: func(v *visit) { v.german(); v.attempts(); v.attempt("none_left"); v.Go("/desk") }},
		{name: "launch-flag-ready", who: operator, options: Options{Flags: "READY"}, show: at("/admin/rollout")},
		{name: "launch-flag-stale", who: operator, options: Options{Flags: "STALE"}, show: at("/admin/rollout")},
		{name: "launch-flag-unknown", who: operator, options: Options{Flags: "ERROR"}, show: at("/admin/rollout")},
		{name: "rollout-flag-ready", who: orgAdmin, options: Options{Flags: "READY"}, show: at("/org/rollout")},
		{name: "rollout-flag-stale", who: orgAdmin, options: Options{Flags: "STALE"}, show: func(v *visit) { v.off(); v.Go("/org/rollout") }},
		{name: "rollout-flag-unknown", who: orgAdmin, options: Options{Flags: "ERROR"}, show: at("/org/rollout")},
		{name: "german-rollout-flag-unknown", who: orgAdmin, options: Options{Flags: "ERROR"}, show: func(v *visit) { v.german(); v.Go("/org/rollout") }},
		{name: "admin-org-resumed", who: operator, title: "Acme", show: func(v *visit) {
			v.Post("/admin/orgs/acme/suspend", "do", "suspend", "reason", "Invoice 4711 is open")
			v.Post("/admin/orgs/acme/suspend", "do", "resume", "reason", "Invoice 4711 is paid")
		}},
		{name: "german-launch", who: operator, show: func(v *visit) { v.german(); v.Go("/admin/rollout") }},
	}...)
}

// upload is a file with a new machine, one that is there, and a line that is refused.
func (v *visit) upload() string {
	v.t.Helper()
	id, err := v.Fleet.KeepUpload(v.t.Context(), pg.By{Actor: "user:" + v.user.String()}, "march.csv", []byte("asset_tag,site,cpu,cores,ram_gb,price_month_eur\n"+
		"NEW-1,GOT1,EPYC 7402P,24,128,199\nGOT-1,GOT1,EPYC 7402P,24,128,149\nNEW-2,NOWHERE,EPYC,many,64,99\n"))
	if err != nil {
		v.t.Fatal(err)
	}
	return id.String()
}
