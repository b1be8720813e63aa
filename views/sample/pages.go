package sample

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"ironhold/views"
)

// Pages are all pages, in every state, with names that are good for files.
func Pages() []Page {
	return slices.Concat(customer(), people(), webhooks(), mails(), staff(), refusals())
}

func customer() []Page {
	live := views.HoldRow{ID: id, Tag: "GOT-1001", State: "held", Org: "nordlys", Price: eur(12900), CreatedAt: at(-10), ExpiresAt: at(5), By: text}
	rows := []views.HoldRow{live}
	for _, s := range []string{"converted", "expired", "cancelled"} {
		r := live
		r.State, r.Overdue, r.Withdrawn = s, s == "expired", s == "cancelled"
		rows = append(rows, r)
	}
	off := &views.RolloutRefusal{Reason: "org_off", WhoCanChange: "org-admin"}
	offers := views.OffersPage{
		Form: form(), Items: []views.Offer{offer(12, 1, 20), offer(1, 0, 1), offer(0, 2, 2), offer(0, 0, 3)}, Total: 4, Free: 13, AsOf: now, Sort: "price",
		Sorts: map[string]views.Sort{
			"price": {Href: "/offers?sort=-price", State: "ascending"}, "ram": {Href: "/offers?sort=-ram", State: "none"},
			"cores": {Href: "/offers?sort=-cores", State: "descending"}, "free": {Href: "/offers?sort=-free", State: "none"}, "site": {Href: "/offers?sort=site", State: "none"},
		},
		Pager: views.Pager{First: "/offers", Next: "/offers?page=2", Sizes: sizes}, From: 1, To: 4, CSV: "/offers.csv", Here: "/offers", Compared: []views.Hidden{{Name: "class", Value: "9"}},
	}
	empty, wrong, stale := offers, offers, offers
	empty.Items, empty.Total, empty.Filtered, empty.NearMiss = nil, 0, true, misses()
	wrong.Faults, wrong.Form.Faults, wrong.Filtered = faults(), faults(), true
	stale.Stale, stale.Age, stale.Off = true, 4*time.Minute, off
	match := views.Match{Eligible: 3, Considered: 200, AsOf: now, Best: []views.Offer{offer(3, 0, 4)}}
	none := views.Match{Considered: 1173, AsOf: now, NearMisses: misses(), Reasons: reasons(), NextFreeAt: atp(9)}
	orgs := form()
	orgs.Orgs = []views.Option{{Value: "a", Label: text}, {Value: "b", Label: "B", Chosen: true}}
	wrongForm := form()
	wrongForm.Faults = faults()
	review := views.ReviewPage{Ask: ask(), Match: match, Key: "k", Fields: []views.Hidden{{Name: "cpu", Value: text}}, ChangeURL: "/order", Minutes: 15}
	exact := review
	exact.Ask, exact.OrgName, exact.Match = views.Ask{Machine: "GOT-1001"}, text, none
	stopped := review
	stopped.Off = off
	withdrawn, staffHold, ended := hold("held"), hold("expired"), hold("expired")
	withdrawn.Withdrawn = true
	staffHold.Org, staffHold.Overdue, staffHold.AttemptID = "nordlys", true, id
	ended.Others = []views.Offer{offer(2, 0, 4), offer(5, 0, 5), offer(1, 0, 1)}
	service := views.ServicePage{
		ID: id, HoldID: id, Server: server("GOT-1001"), Price: eur(12900), Setup: eur(4900), Terms: text, StartedAt: at(-1), CreatedBy: text,
		CanEnd: true, Fresh: true, Events: events(),
	}
	running, over, wrongEnd := service, service, service
	running.Fresh = false
	over.EndedAt, over.EndedBy, over.EndReason, over.Org = atp(0), text, text, "nordlys"
	wrongEnd.Faults, wrongEnd.Reason = []views.Fault{{Field: "reason", Label: "Reason", Message: "x"}}, text
	services := []views.ServiceRow{{ID: id, Tag: "GOT-1001", Org: "nordlys", Price: eur(12900), StartedAt: at(-9000), By: text}, {ID: id, Tag: "GOT-1002", Price: eur(5), StartedAt: at(-9000), EndedAt: atp(-5)}}
	single, none1 := offers.Items[0], offers.Items[0]
	single.Tag, single.Total, single.Free, single.Held, single.YouHold = "GOT-1001", 1, 1, 0, 0
	none1.Free, none1.Held = 0, 2
	compared := views.ComparePage{AsOf: now, Back: "/offers?class=1"}
	for _, o := range []views.Offer{offers.Items[0], single, none1} {
		compared.Items = append(compared.Items, views.Compared{Offer: o, Without: "/offers/compare?class=1"})
	}
	compared.Items[1].GPU, compared.Items[1].Features, compared.Items[2].Drives = text, nil, nil
	return []Page{
		{"sign-in", views.SignIn(views.SignInForm{})},
		{"sign-in-asked", views.SignIn(views.SignInForm{Asked: true, Next: "/offers"})},
		{"sign-in-wrong", views.SignIn(views.SignInForm{Email: text, Next: text, Faults: []views.Fault{{Field: "email", Message: "x"}, {Field: "password", Message: "y"}}})},
		{"home", views.Home(views.HomePage{Live: rows[:1], Services: 2, Free: 170, Groups: 12, AsOf: now})},
		{"home-empty", views.Home(views.HomePage{Off: off})},
		{"offers", views.Offers(offers)},
		{"offers-empty", views.Offers(empty)},
		{"offers-wrong", views.Offers(wrong)},
		{"offers-stale", views.Offers(stale)},
		{"order", views.Order(views.OrderPage{Form: orgs})},
		{"order-match", views.Order(views.OrderPage{Form: form(), Match: &match})},
		{"order-none", views.Order(views.OrderPage{Form: form(), Match: &none, Off: off})},
		{"order-invalid", views.Order(views.OrderPage{Form: wrongForm, Faults: faults(), Invalid: true})},
		{"review", views.Review(review)},
		{"review-exact", views.Review(exact)},
		{"review-off", views.Review(stopped)},
		{"hold-held", views.Hold(hold("held"))},
		{"hold-withdrawn", views.Hold(withdrawn)},
		{"hold-expired", views.Hold(ended)},
		{"hold-expired-staff", views.Hold(staffHold)},
		{"hold-cancelled", views.Hold(hold("cancelled"))},
		{"hold-converted", views.Hold(hold("converted"))},
		{"confirm", views.Confirm(hold("held"))},
		{"holds", views.Holds(views.HoldsPage{Items: rows, Pager: views.Pager{First: "/holds", Next: "/holds?after=x", Sizes: sizes}, Staff: true})},
		{"holds-empty", views.Holds(views.HoldsPage{State: "held", CanOrder: true})},
		{"services", views.Services(views.ServicesPage{Items: services, Staff: true, Pager: views.Pager{Next: "/services?after=x", Sizes: sizes}})},
		{"services-empty", views.Services(views.ServicesPage{CanOrder: true})},
		{"service-fresh", views.Service(service)},
		{"service", views.Service(running)},
		{"service-ended", views.Service(over)},
		{"service-end", views.EndService(running)},
		{"service-end-wrong", views.EndService(wrongEnd)},
		{"offer", views.OfferDetail(views.OfferPage{Offer: offers.Items[0], AsOf: now, Compare: "/offers?class=1"})},
		{"offer-single", views.OfferDetail(views.OfferPage{Offer: single, AsOf: now, OrderThis: "/order?machine=GOT-1001", Compare: "/offers?class=1"})},
		{"offer-none", views.OfferDetail(views.OfferPage{Offer: none1, AsOf: now, Off: off, NextFreeAt: atp(9), Compare: "/offers?class=1", Wait: []views.Hidden{{Name: "cpu", Value: text}}})},
		{"compare", views.Compare(compared)},
		{"compare-empty", views.Compare(views.ComparePage{AsOf: now, TooMany: true, Gone: 2, Back: "/offers", Off: off})},
		{"waiting", views.Waiting(waiting())},
		{"waiting-empty", views.Waiting(views.WaitingPage{})},
		{"help", views.Help(Outcomes())},
		{"help-api", views.API(reference())},
	}
}

// reference has an operation of everything and one of nothing.
func reference() views.APIPage {
	full := views.APIOperation{
		Method: "POST", Path: "/api/v1/" + text, Summary: text, Text: text,
		Answers: []views.APIAnswer{{Status: "200", Object: text}, {Status: "304"}, {Status: "409", Problems: Outcomes()[:2]}},
	}
	for _, in := range []string{"path", "query", "header", "body"} {
		full.Takes = append(full.Takes, views.APIField{Name: text, In: in, Type: text, Text: text, Required: in == "path"})
	}
	return views.APIPage{Spec: "/api/v1/openapi.json", Groups: []views.APIGroup{
		{Name: text, Operations: []views.APIOperation{full, {Method: "GET", Path: "/healthz", Summary: text}}},
	}}
}

func staff() []Page {
	row := views.AttemptRow{
		ID: id, Org: "nordlys", Actor: text, Outcome: "someone_was_faster", At: now, Ask: ask(), Considered: 1173, Eligible: 3,
		Skipped: 2, Lost: 1, Took: 1234 * time.Microsecond, HoldID: id,
	}
	var rows []views.AttemptRow
	var options []views.Option
	for _, o := range []string{
		"invalid", "replayed", "key_reused", "not_rolled_out", "organisation_suspended", "already_yours", "limit_reached", "cool_down", "held",
		"someone_was_faster", "try_again_shortly", "all_held", "none_left", "busy", "checking",
	} {
		r := row
		r.Outcome = o
		rows, options = append(rows, r), append(options, views.Option{Value: o, Label: text, Chosen: o == "held"})
	}
	attempt := views.AttemptPage{
		AttemptRow: row, Key: text, RequestID: "r", Reasons: reasons(), NearMisses: misses(),
		Walk: []views.Step{
			{Tag: "GOT-1001", Result: "skipped", At: now}, {Tag: "GOT-1002", Result: "changed", Why: "held", At: now},
			{Tag: "GOT-1003", Result: "lost", At: now}, {Tag: "GOT-1004", Result: "won", At: now},
		},
		Faster: []views.Faster{{Tag: "GOT-1003", Org: text, HoldID: id, At: now, ByMS: 12}},
	}
	board := views.BoardRow{Site: "GOT1", SiteName: text, Held: 2, InService: 3, Free: 30, Out: 5, Total: 40, OutBy: []views.Reason{{Code: "cleaning", Count: 2}, {Code: "maintenance", Count: 3}}}
	wrong := board
	wrong.Total = 41
	fleet := views.FleetPage{Board: []views.BoardRow{board, wrong}, Total: wrong, AsOf: now, Statuses: []string{"ready"}, Sites: []string{"GOT1"}, Query: text}
	emptyFleet := fleet
	for _, s := range []string{"intake", "ready", "in_service", "cleaning", "maintenance", "retired"} {
		fleet.Items = append(fleet.Items, views.MachineRow{Tag: "GOT-1001", Status: s, Site: "GOT1", Rack: "A-01", CPU: text, RAMGB: 128, Price: eur(12900), Reason: text})
	}
	alarmed := emptyFleet
	alarmed.Alarms = []views.CheckRow{{Name: "one_occupant", Violations: 1, Examples: []string{text}}}
	machine := views.MachinePage{
		Server: server("GOT-1001"), Room: "A", Serial: text, Status: "ready", StatusBy: text, StatusAt: now, WipedAt: atp(-100),
		Occupant: &views.Occupant{Kind: "hold", ID: id, Org: text, Since: at(-20), Until: atp(-5), Overdue: true}, Events: events(),
		Moves: []views.Move{{To: "maintenance"}, {To: "ready", Bar: "unwiped"}, {To: "retired", Bar: "held"}}, CanWrite: true,
	}
	rented, wrongMachine := machine, machine
	rented.Occupant, rented.CanWrite, rented.WipedAt = &views.Occupant{Kind: "service", ID: id, Org: text, Since: now}, false, nil
	let := rented
	let.CanWrite, let.Moves, let.WipeBar = true, []views.Move{{To: "cleaning", Bar: "service"}, {To: "maintenance"}}, "service"
	wrongMachine.Occupant, wrongMachine.Faults = nil, []views.Fault{{Field: "reason", Label: "Reason", Message: "x"}}
	pages := []Page{
		{"desk", views.Desk(views.DeskPage{Items: rows, Outcomes: options, Orgs: options, Sites: options, From: "2026-11-30T12:00", Filtered: true, CSV: "/desk/attempts.csv", Pager: views.Pager{First: "/desk", Next: "/desk?after=x", Sizes: sizes}})},
		{"desk-empty", views.Desk(views.DeskPage{Outcomes: options, Faults: []views.Fault{{Field: "from", Label: "From", Message: "x"}}})},
		{"attempt", views.Attempt(attempt)},
		{"attempt-plain", views.Attempt(views.AttemptPage{AttemptRow: row})},
		{"fleet", views.Fleet(fleet)},
		{"fleet-alarm", views.Fleet(alarmed)},
		{"fleet-empty", views.Fleet(emptyFleet)},
		{"machine", views.Machine(machine)},
		{"machine-rented", views.Machine(rented)},
		{"machine-rented-operator", views.Machine(let)},
		{"machine-wrong", views.Machine(wrongMachine)},
	}
	pages = append(pages, deskPages(attempt, options)...)
	for _, r := range []string{"launch_off", "org_on", "org_off", "not_opted_in", "percentage_in", "percentage_out", "launch_on"} {
		pages = append(pages, Page{"rollout-" + r, views.OrgRollout(views.OrgRolloutPage{
			Org: text, Setting: "inherit", Launch: "on", Reason: r, Effective: r == "org_on", ChangedAt: atp(-50), ChangedBy: text, CanSet: true,
			Action: "/org/rollout", Faults: []views.Fault{{Field: "setting", Label: "x", Message: "y"}},
		})})
	}
	for _, l := range []string{"off", "opt-in", "25%", "on"} {
		pages = append(pages, Page{"launch-" + l, views.Launch(views.LaunchPage{Launch: l, Percent: "25", ChangedAt: now, ChangedBy: text, Faults: []views.Fault{{Field: "percent", Message: "x"}}})})
	}
	return pages
}

func waiting() views.WaitingPage {
	row := views.WaitingRow{
		ID: id, Ask: ask(), Since: now, By: text, Again: []views.Hidden{{Name: "cpu", Value: text}}, OrderBy: "/order?cpu=x",
		Tag: "GOT-1001", ToldAt: now, Free: true, OrderThis: "/order?machine=GOT-1001",
	}
	taken, ours := row, row
	taken.Free, taken.ID = false, id[:len(id)-1]+"0"
	ours.Free, ours.HoldID, ours.ID = false, id, id[:len(id)-1]+"1"
	return views.WaitingPage{Told: []views.WaitingRow{row, taken, ours}, Waiting: []views.WaitingRow{row}}
}

// Outcomes are the names of the problems that have a page of their own.
func Outcomes() []string {
	return []string{
		"someone-was-faster", "none-left", "all-held", "try-again-shortly", "busy", "checking", "organisation-suspended", "limit-reached",
		"already-yours", "cool-down", "not-rolled-out", "hold-expired", "hold-cancelled", "hold-converted", "machine-withdrawn",
		"not-withdrawn", "no-substitute", "extension-used", "ceiling-reached", "service-ended", "key-missing", "key-reused",
		"waiting-list-full",
	}
}

// Refusal is a refusal by its name, with all that its page can show.
func Refusal(name string) views.Refusal {
	r := views.Refusal{Name: name, Reference: id, Ask: new(ask()), ChangeURL: "/order?cpu=x", Wait: 2}
	switch name {
	case "none-left", "all-held", "someone-was-faster":
		r.Considered, r.Reasons, r.NearMisses = 1173, reasons(), misses()[:3]
	case "checking":
		r.CheckURL = "/order/result?key=k"
	case "limit-reached":
		r.LimitName, r.Limit, r.LiveHolds, r.Active = "max_holds", 5, 5, 2
	case "cool-down", "ceiling-reached":
		r.Until = atp(600)
		if name == "ceiling-reached" {
			r.HoldID = id
		}
	case "not-rolled-out":
		r.Rollout = &views.RolloutRefusal{Reason: "org_off", WhoCanChange: "org-admin"}
	case "already-yours", "key-reused", "extension-used", "not-withdrawn", "no-substitute":
		r.HoldID = id
	case "hold-expired", "hold-cancelled":
		r.HoldID, r.Hold = id, new(hold("expired"))
	case "hold-converted":
		r.HoldID, r.ServiceID = id, id
	case "machine-withdrawn":
		r.HoldID, r.Substitute = id, true
	}
	if name == "all-held" {
		r.NextFreeAt = atp(9)
	}
	r.Retry = &views.Retry{Action: "/order", Key: "k", Fields: []views.Hidden{{Name: "cpu", Value: text}}}
	return r
}

func refusals() []Page {
	var pages []Page
	add := func(name string, page templ.Component) { pages = append(pages, Page{name, page}) }
	for _, name := range Outcomes() {
		add("refused-"+name, views.Refused(Refusal(name)))
	}
	more := Refusal("limit-reached")
	more.LimitName = "max_machines"
	add("refused-limit-reached-machines", views.Refused(more))
	rented := Refusal("already-yours")
	rented.ServiceID = id
	add("refused-already-yours-rented", views.Refused(rented))
	alone := Refusal("machine-withdrawn")
	alone.Substitute = false
	add("refused-machine-withdrawn-alone", views.Refused(alone))
	bare := Refusal("none-left")
	bare.NearMisses = nil
	add("refused-none-left-bare", views.Refused(bare))
	for name, status := range map[string]int{
		"not-found": 404, "forbidden": 403, "method-not-allowed": 405, "not-acceptable": 406, "unsupported-media-type": 415, "too-large": 413, "too-many-requests": 429, "internal": 500,
		"busy": 503, "cross-origin": 403, "unauthenticated": 401, "invalid": 400, "illegal-move": 409, "unheard-of": 500,
	} {
		add("problem-"+name, views.Problem(views.ProblemPage{Name: name, Status: status, Wait: 3}))
	}
	for _, name := range Outcomes() {
		add("explain-"+name, views.Explain(views.ExplainPage{Name: name, Status: 409}))
	}
	return pages
}
