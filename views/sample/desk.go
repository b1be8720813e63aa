package sample

import (
	"time"

	"ironhold/views"
)

// deskPages are the further pages of sales and operators.
func deskPages(attempt views.AttemptPage, options []views.Option) []Page {
	again, cool, none := attempt, attempt, attempt
	again.Again = &views.Retry{Key: "k", Fields: []views.Hidden{{Name: "cpu", Value: text}}}
	again.ChangeURL, again.WonTag = "/order", "GOT-1004"
	again.Decision = &views.Decision{Rule: "price", Rank: 1, Eligible: 4, RunnerUp: "GOT-1005", RunnerUpPrice: new(eur(13900)), Skipped: 1}
	cool.Again, cool.Cool, cool.ChangeURL, cool.Override, cool.Outcome = again.Again, true, "/order", text, "cool_down"
	none.Outcome, none.Walk, none.Faster = "none_left", nil, nil
	none.Buy = &views.Buy{Fields: again.Again.Fields, Sites: options[:2], Orders: 7}
	held := views.DeskHold{HoldRow: views.HoldRow{ID: id, Tag: "GOT-1001", State: "held", Org: "nordlys", CreatedAt: at(-10), ExpiresAt: at(5), By: text}, Left: 5 * time.Minute}
	overdue, withdrawn := held, held
	overdue.Overdue, withdrawn.Withdrawn = true, true
	purchase := views.PurchaseRow{ID: id, SiteName: text, State: "open", Note: text, AttemptID: id, Ask: ask(), Orders: 3, CreatedAt: now, ChangedAt: now, CreatedBy: text, ChangedBy: text}
	ordered := purchase
	ordered.State, ordered.ID, ordered.Orders = "ordered", "b"+id[1:], 1
	org := views.OrgRow{Slug: "nordlys", Name: text, Rollout: "inherit", MaxHolds: 5, MaxMachines: 50, Live: 2, Active: 7, Suspended: true}
	notes := &views.Notes{Subject: "organisation", ID: id, Items: []views.Note{{Body: text, By: text, At: now}}}
	report := &views.ImportReport{Added: 3, Changed: 1, Unchanged: 7, Refused: 200, Warned: 1, Refusals: []views.ImportNotice{{Line: 4, Reason: text}}, Warnings: []views.ImportNotice{{Line: 9, Reason: text}}}
	class := views.BoardRow{Site: "GOT1", SiteName: text, Free: 3, Total: 3, Class: new(server(""))}
	simulated := views.SimulatedPage{Outcome: "held", Org: text, ReviewURL: "/order?step=review", Server: new(server("GOT-1004")), Decision: again.Decision, Ask: ask(), Walk: attempt.Walk}
	noneNow := views.SimulatedPage{Outcome: "none_left", Org: text, ReviewURL: "/order", Ask: ask(), Considered: 1173, Reasons: reasons(), NearMisses: misses()}
	flag := &views.FlagState{State: "stale", Provider: "ironhold-postgresql", Asked: true, On: true}
	changes := []views.RolloutChange{{At: now, Launch: true, Before: "off", After: "25%", By: text}, {At: now, Org: text, Before: "inherit", After: "on", By: text}}
	return []Page{
		{"attempt-again", views.Attempt(again)}, {"attempt-cool", views.Attempt(cool)}, {"attempt-none", views.Attempt(none)},
		{"attempt-machines", views.AttemptMachines(views.AttemptMachinesPage{ID: id, At: now, AsOf: now, Ask: ask(), Reasons: options, CSV: "/x.csv", Pager: views.Pager{Next: "/x", Sizes: sizes},
			Items: []views.SurveyedRow{{Tag: "GOT-1001", Status: "ready"}, {Tag: "GOT-1002", Status: "cleaning", Reasons: []string{"not_ready", "too_little_memory"}}}})},
		{"attempt-machines-empty", views.AttemptMachines(views.AttemptMachinesPage{ID: id, At: now, AsOf: now, CSV: "/x.csv", Pager: views.Pager{First: "/x", Sizes: sizes}})},
		{"deskholds", views.DeskHolds(views.DeskHoldsPage{Items: []views.DeskHold{held, overdue, withdrawn}, CanConfirm: true, Pager: views.Pager{Next: "/x", Sizes: sizes}})},
		{"deskholds-empty", views.DeskHolds(views.DeskHoldsPage{})},
		{"found", views.Found(views.FoundPage{Query: text, Items: []views.FoundRow{{Kind: "machine", Href: "/fleet/machines/x", Name: "x", Text: text}}})},
		{"found-nothing", views.Found(views.FoundPage{Query: "x"})},
		{"askone", views.AskOne(views.AskOnePage{Title: "One thing", Lead: text, Action: "/x", Submit: "x", Back: "/desk", BackLabel: "x", Field: views.Field{ID: "reason", Label: "x", Error: "y"},
			Faults: []views.Fault{{Field: "reason", Label: "x", Message: "y"}}})},
		{"purchases", views.Purchases(views.PurchasesPage{State: "open", Items: []views.PurchaseRow{purchase, ordered}})},
		{"purchases-empty", views.Purchases(views.PurchasesPage{})},
		{"demand", views.Demand(views.DemandPage{Orders: 12, Sites: []views.DemandLine{{Site: text, Orders: 3}, {Orders: 9}}, Constraints: []views.DemandLine{{Ask: new(ask()), Orders: 12}},
			Requests: []views.DemandRequest{{Ask: ask(), Orders: 12, Orgs: 2, Last: now}}})},
		{"demand-none", views.Demand(views.DemandPage{})},
		{"simulated", views.Simulated(simulated)}, {"simulated-none", views.Simulated(noneNow)},
		{"orgs", views.Orgs(views.OrgsPage{Items: []views.OrgRow{org}, CanAdd: true, MaxHolds: "5", MaxMachines: "x", Faults: []views.Fault{{Field: "slug", Label: "x", Message: "y"}}})},
		{"orgs-empty", views.Orgs(views.OrgsPage{})},
		{"stafforg", views.StaffOrg(views.StaffOrgPage{OrgRow: org, SuspendedAt: atp(-5), SuspendedBy: text, SuspendedReason: text, Why: "org_off", CanLimits: true, CanSuspend: true,
			People: []views.PersonRow{{Name: text, Email: "a@b", Role: "customer", Disabled: true}}, Notes: notes, Events: orgHistory()})},
		{"checks", views.Checks(views.ChecksPage{AsOf: now, BehindProxy: true, Violated: 1, Items: []views.CheckRow{{Name: "a", Description: text, Violations: 2, Examples: []string{text}}, {Name: "b", Description: "x"}}})},
		{"health", views.Health(views.HealthPage{AsOf: now, Watched: true, Hidden: true,
			Charts:   []views.Chart{{Key: "locks", Unit: "count", Values: []float64{0, 3, 9}, Alarm: true}, {Key: "jobs", Unit: "seconds", Values: []float64{.2}}, {Key: "held", Unit: "count"}},
			Blockers: []views.BlockerRow{{Application: text, State: text, Open: time.Minute, HoldsUp: 3}},
			Tables:   []views.TableRow{{Name: "holds", Live: 1e6, Dead: 10, Hot: 97, Vacuumed: &now}, {Name: "machines"}},
			Replicas: []views.ReplicaRow{{Name: text, Sync: "sync", Lag: time.Second}}})},
		{"work", views.Work(views.WorkPage{AsOf: now, CanDo: true, Late: 1, Faults: []views.Fault{{Field: "reason-install-s1", Label: "Reason", Message: "x"}}, Items: []views.WorkRow{
			{Service: "s1", Kind: "install", Tag: "GOT-1001", Place: text, Org: text, State: "queued", OS: "debian-13", Keys: []string{text}, Since: now, Age: time.Hour, Late: true, ByHand: true, Aside: true, Wrong: "x", Reason: text},
			{Service: "s2", Kind: "wipe", Tag: "GOT-1002", Place: "GOT1", Org: text, State: "running", Driver: text, Percent: new(40), Since: now, Age: time.Minute, Detail: text, Trouble: text},
		}})},
		{"work-none", views.Work(views.WorkPage{AsOf: now})},
		{"health-unwatched", views.Health(views.HealthPage{AsOf: now})},
		{"checks-fine", views.Checks(views.ChecksPage{AsOf: now, Items: []views.CheckRow{{Name: "b", Description: "x"}}})},
		{"import", views.Import(views.ImportPage{MaxMB: 16, Faults: []views.Fault{{Field: "file", Label: "x", Message: "y"}}})},
		{"import-preview", views.Import(views.ImportPage{MaxMB: 16, Name: text, Upload: id, Hash: "abc", Until: at(15), Report: report})},
		{"import-done", views.Import(views.ImportPage{MaxMB: 16, Name: text, Done: true, Report: report})},
		{"classes", views.Classes(views.ClassesPage{Sites: options[:1], Items: []views.BoardRow{class}, Pager: views.Pager{First: "/fleet/classes", Next: "/fleet/classes?page=2", Sizes: sizes}})},
		{"classes-empty", views.Classes(views.ClassesPage{})},
		{"rollout-history", views.OrgRollout(views.OrgRolloutPage{Org: text, Setting: "on", Launch: "on", Reason: "org_off", Action: "/org/rollout", Flag: flag, History: changes})},
		{"launch-history", views.Launch(views.LaunchPage{Launch: "on", Flag: &views.FlagState{State: "away", Provider: text}, History: changes})},
	}
}
