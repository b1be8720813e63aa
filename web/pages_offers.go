package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ironhold/allocator"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// offersPerPage keeps a page well below 50 kB; fewer can be chosen.
const offersPerPage = 20

// offers is the catalogue. Filters and order are in the address: unknown parameters are ignored,
// wrong ones are told and left out.
func (s *server) offers(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	ctx := i18n.With(r.Context(), s.locale(r))
	query := r.URL.Query()
	list, at, a, faults, err := s.findOffers(ctx, query)
	if err != nil {
		return err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	m := views.OffersPage{
		Form: a.form, Ask: askOf(at.req), Faults: faults, Total: len(list.Items), AsOf: list.AsOf, Sort: at.sort, Sorts: at.sortLinks(),
		Filtered: len(formValues(at.req, "")) > 0, OrderURL: orderURL(at.req, "", ""), CSV: at.csv(), Here: at.alone().url(1),
	}
	m.Form.Faults = faults
	c.fill(&m.Form, a.request)
	for i := range list.Items {
		m.Free += list.Items[i].Free
	}
	if m.Off, err = s.offFor(ctx, actor.OrgID); err != nil {
		return err
	}
	if m.Total == 0 && m.Filtered {
		sv, _, err := s.Allocator.Survey(ctx, actor.OrgID, at.req)
		if err != nil {
			return err
		}
		m.NearMiss = at.filterLinks(sv.NearMisses)
	}
	at.turnPage(r, &m)
	elsewhere := at.compared
	for _, o := range list.Items[max(m.From-1, 0):m.To] {
		shown := offerFor(o, c, actor)
		shown.Compared = slices.Contains(at.compared, o.Class.ID)
		elsewhere = slices.DeleteFunc(slices.Clone(elsewhere), func(id int) bool { return id == o.Class.ID })
		m.Items = append(m.Items, shown)
	}
	m.Compared = classFields(elsewhere)
	shown := m
	shown.AsOf, shown.Form, shown.Sorts = time.Time{}, views.AskForm{}, nil
	return s.renderLive(w, r, "stock", shown, views.Offers(m))
}

// findOffers is what the filters and the order of an address select, and what is wrong with them.
func (s *server) findOffers(ctx context.Context, query url.Values) (list allocator.Offers, at catalogue, a asked, faults []views.Fault, err error) {
	a = readAsk(ctx, s.knownChoices(ctx), query)
	a.request.Machine, a.form.Machine = "", "" // the catalogue shows groups
	at = catalogue{sort: query.Get("sort"), compared: readClasses(query)}
	if at.req, faults, err = s.sound(ctx, a); err != nil {
		return list, at, a, nil, err
	}
	if !slices.Contains(allocator.Sorts(), at.sort) {
		at.sort = ""
	}
	list, err = s.Allocator.Offers(ctx, allocator.OfferQuery{Org: request.Actor(ctx).OrgID, Request: at.req, Sort: at.sort})
	if at.sort == "" {
		availableFirst(list.Items)
	}
	return list, at, a, faults, err
}

// sound is the request without what is wrong with it, and all that is wrong.
func (s *server) sound(ctx context.Context, a asked) (allocator.Request, []views.Fault, error) {
	req, faults := a.request, a.faults
	more, err := s.Allocator.Check(ctx, req)
	if err != nil {
		return req, nil, err
	}
	faults = append(faults, s.tell(ctx, more, faults)...)
	for _, f := range more {
		switch f.Field {
		case "sites":
			req.Sites = nil
		case "vendors":
			req.Vendors = nil
		case "features":
			req.Features = nil
		case "cpu":
			req.CPU = ""
		}
	}
	return req, faults, nil
}

// formField is the input behind a field of the API.
func formField(name string) string {
	switch name {
	case "sites", "vendors", "features":
		return name[:len(name)-1]
	case "max_price_month_minor", "currency":
		return "max_price"
	}
	return name
}

// tell says the allocator's faults beside the inputs they belong to; an input that has a fault
// already does not get a second one.
func (s *server) tell(ctx context.Context, list []allocator.Fault, before []views.Fault) []views.Fault {
	var out []views.Fault
	for _, f := range list {
		field := formField(f.Field)
		if slices.ContainsFunc(append(before, out...), func(b views.Fault) bool { return b.Field == field }) {
			continue
		}
		fault := views.Fault{Field: field, Message: faultText(ctx, f)}
		if i18n.Has(ctx, "ask."+field) {
			fault.Label = i18n.T(ctx, "ask."+field)
		}
		out = append(out, fault)
	}
	return out
}

// faultText words a fault in the person's language.
func faultText(ctx context.Context, f allocator.Fault) string {
	switch f.Why {
	case allocator.FaultRange:
		if f.Field == "max_price_month_minor" {
			return i18n.T(ctx, "form.fault.price")
		}
		return i18n.T(ctx, "form.fault.range", "max", int(f.Limit))
	case allocator.FaultEntries, allocator.FaultText:
		return i18n.T(ctx, "form.fault."+string(f.Why), "n", int(f.Limit))
	case allocator.FaultSite, allocator.FaultMachine, allocator.FaultCurrency:
		return i18n.T(ctx, "form.fault."+string(f.Why))
	}
	return f.Message
}

// catalogue is an address of the catalogue: filters, order, and what is ticked to be compared.
type catalogue struct {
	req      allocator.Request
	sort     string
	compared []int
}

func (at catalogue) query() url.Values {
	v := formValues(at.req, "")
	if at.sort != "" {
		v.Set("sort", at.sort)
	}
	for _, id := range at.compared {
		v.Add("class", strconv.Itoa(id))
	}
	return v
}

func (at catalogue) url(page int) string {
	v := at.query()
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return address("/offers", v)
}

// alone is the same without what is ticked.
func (at catalogue) alone() catalogue { at.compared = nil; return at }

// csv is what is shown, as a file.
func (at catalogue) csv() string { return address("/offers.csv", at.alone().query()) }

// address is a path with a query, if there is one.
func address(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// sortLinks say for each column how the list is sorted by it, and lead to the other way round.
func (at catalogue) sortLinks() map[string]views.Sort {
	by := func(sort string) string { at.sort = sort; return at.url(1) }
	sort := at.sort
	out := map[string]views.Sort{}
	for _, column := range []string{"price", "ram", "cores", "free", "site"} {
		up, down := column, "-"+column
		link := views.Sort{Href: by(up), State: "none"}
		switch {
		case column == "site" && sort == up:
			link.State = "ascending"
		case sort == up:
			link = views.Sort{Href: by(down), State: "ascending"}
		case sort == down:
			link.State = "descending"
		case column != "price" && column != "site":
			link.Href = by(down) // the most first
		}
		out[column] = link
	}
	return out
}

// filterLinks are near misses that lead to the list and not to an order.
func (at catalogue) filterLinks(list []allocator.NearMiss) []views.NearMiss {
	var out []views.NearMiss
	for _, n := range list {
		if relaxed, shown, ok := relax(at.req, n); ok {
			shown.Href = catalogue{req: relaxed, sort: at.sort}.url(1)
			out = append(out, shown)
		}
	}
	return out
}

// turnPage finds the page that was asked for; one beyond the end is the last.
func (at catalogue) turnPage(r *http.Request, m *views.OffersPage) {
	rows := offersSizes.of(r)
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	last := max(1, (m.Total+rows-1)/rows)
	page = min(page, last)
	m.From, m.To = min((page-1)*rows+1, m.Total), min(page*rows, m.Total)
	first, next := "", ""
	if page > 1 {
		first = at.url(1)
	}
	if page < last {
		next = at.url(page + 1)
	}
	m.Pager = offersSizes.pager(r, first, next, m.Total)
	for column, link := range m.Sorts {
		link.Href = m.Keep(link.Href)
		m.Sorts[column] = link
	}
	m.Here = m.Keep(m.Here)
}

// availableFirst puts what can be had now before what may come free, and that before the rest;
// within each by price, as the list comes.
func availableFirst(list []allocator.Offer) {
	rank := func(o *allocator.Offer) int {
		switch {
		case o.Free > 0:
			return 0
		case o.Held > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b allocator.Offer) int { return rank(&a) - rank(&b) })
}
