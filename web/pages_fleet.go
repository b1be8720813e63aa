package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"ironhold/accounts"
	"ironhold/fleet"
	"ironhold/holds/watch"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// fleetBoard is the stock by site and the list of machines.
func (s *server) fleetBoard(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	board, err := s.Fleet.Board(ctx)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	m := views.FleetPage{AsOf: board.AsOf, Total: boardRow(board.All), Query: q.Get("q"), Status: q.Get("status"), Site: q.Get("site")}
	states, err := watch.States(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, c := range states {
		if c.Violations > 0 {
			m.Alarms = append(m.Alarms, views.CheckRow{Name: c.Name, Violations: c.Violations, Examples: []string{c.Example}})
		}
	}
	for _, b := range board.Sites {
		m.Board = append(m.Board, boardRow(b))
		m.Sites = append(m.Sites, b.Site.Code)
	}
	for _, st := range fleet.Statuses() {
		m.Statuses = append(m.Statuses, string(st))
	}
	if !slices.Contains(m.Statuses, m.Status) {
		m.Status = ""
	}
	if !slices.Contains(m.Sites, m.Site) {
		m.Site = ""
	}
	rows := listSizes.of(r)
	list, err := s.Fleet.Machines(ctx, fleet.Filter{
		Status: fleet.Status(m.Status), Site: m.Site, Query: clip(m.Query), After: q.Get("after"), Limit: rows + 1,
	})
	if err != nil {
		return err
	}
	for _, f := range list[:min(len(list), rows)] {
		m.Items = append(m.Items, views.MachineRow{
			Tag: f.AssetTag, Status: string(f.Status), Site: f.SiteCode, Rack: f.Rack, CPU: f.CPU, RAMGB: f.RAMGB,
			Price: views.Money{Minor: f.PriceMonthMinor, Currency: f.Currency}, Reason: f.StatusReason,
		})
	}
	v := url.Values{}
	for name, value := range map[string]string{"status": m.Status, "site": m.Site, "q": m.Query} {
		if value != "" {
			v.Set(name, value)
		}
	}
	first, next := "", ""
	if q.Get("after") != "" {
		first = address("/fleet", v)
	}
	if len(list) > rows {
		v.Set("after", list[rows-1].AssetTag)
		next = address("/fleet", v)
	}
	m.Pager = listSizes.pager(r, first, next, len(m.Items))
	return s.render(w, r, http.StatusOK, views.Fleet(m))
}

func boardRow(b fleet.BoardRow) views.BoardRow {
	row := views.BoardRow{Site: b.Site.Code, SiteName: b.Site.Name, Held: b.Held, InService: b.InService, Free: b.Free, Out: b.Out(), Total: b.Total}
	for _, st := range fleet.Statuses() {
		if n := b.OutOfSale[st]; n > 0 {
			row.OutBy = append(row.OutBy, views.Reason{Code: string(st), Count: n})
		}
	}
	return row
}

func (s *server) showMachine(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	m, err := s.machineModel(ctx, request.PathValue(r, "tag"), pageOf(r))
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Machine(m))
}

func (s *server) machineModel(ctx context.Context, tag string, page int) (m views.MachinePage, err error) {
	actor := request.Actor(ctx)
	f, err := s.Fleet.Machine(ctx, tag)
	if err != nil {
		return m, err
	}
	occupant, err := s.Fleet.Occupant(ctx, tag)
	if err != nil {
		return m, err
	}
	events, err := s.Fleet.EventsAfter(ctx, tag, page*listRows, listRows+1)
	if err != nil {
		return m, err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return m, err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return m, err
	}
	m = views.MachinePage{
		Server: serverOf(f.Spec, f.AssetTag, c), Room: f.Room, Rack: f.Rack, Serial: f.Serial, Status: string(f.Status),
		StatusReason: f.StatusReason, StatusBy: who.of(ctx, f.StatusBy), StatusAt: f.StatusAt, WipedAt: f.WipedAt,
		CanWrite: accounts.Can(actor.Role, accounts.FleetWrite),
	}
	if m.CanWrite {
		moves, err := s.Fleet.Moves(ctx, tag)
		if err != nil {
			return m, err
		}
		m.Moves, m.WipeBar = movesOf(moves)
	}
	if occupant != nil {
		m.Occupant = &views.Occupant{
			Kind: occupant.Kind, ID: occupant.ID.String(), Org: occupant.OrgName, Since: occupant.Since, Until: occupant.Until, Overdue: occupant.Overdue,
		}
		if occupant.Attempt != nil {
			m.Occupant.AttemptID = occupant.Attempt.String()
		}
	}
	for _, e := range events[:min(len(events), listRows)] {
		m.Events = append(m.Events, views.Event{At: e.At, Event: e.Event, Actor: who.of(ctx, e.Actor), Details: e.Reason})
	}
	m.First, m.Next = numberedLinks(machineURL(tag), nil, page, len(events) > listRows)
	return m, nil
}

// maxPages bounds how far a list that is numbered by pages goes.
const maxPages = 10_000

// pageOf is the number of the page in the address, from 0.
func pageOf(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		return 0
	}
	return min(max(n, 0), maxPages)
}

// numberedLinks lead to the first page and the next, where there are any.
func numberedLinks(path string, q url.Values, page int, more bool) (first, next string) {
	link := func(page int) string {
		v := maps.Clone(q)
		if page > 0 {
			if v == nil {
				v = url.Values{}
			}
			v.Set("page", strconv.Itoa(page))
		}
		if len(v) == 0 {
			return path
		}
		return path + "?" + v.Encode()
	}
	if page > 0 {
		first = link(0)
	}
	if more {
		next = link(page + 1)
	}
	return first, next
}

// movesOf leaves out what a person never does, and says of the rest what stands in the way.
func movesOf(moves fleet.Moves) (list []views.Move, wipe string) {
	for _, move := range moves.To {
		list = append(list, views.Move{To: string(move.To), Bar: string(move.Bar)})
	}
	return list, string(moves.Wipe)
}

// moveMachine sets a status or records a wipe.
func (s *server) moveMachine(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	tag, reason, notice := request.PathValue(r, "tag"), f.Get("reason"), "machine.moved"
	if f.Get("status") == "wiped" {
		notice = "machine.wipe_recorded"
		_, err = s.Fleet.Wiped(ctx, request.By(ctx), tag, reason)
	} else {
		_, err = s.Fleet.SetStatus(ctx, request.By(ctx), tag, fleet.Status(f.Get("status")), reason)
	}
	if invalid, ok := errors.AsType[*fleet.Invalid](err); ok {
		m, err := s.machineModel(ctx, tag, 0)
		if err != nil {
			return err
		}
		fault := views.Fault{Field: "reason", Label: i18n.T(ctx, "common.reason"), Message: i18n.T(ctx, "form.fault.required")}
		if invalid.Field != "reason" {
			fault = views.Fault{Message: i18n.T(ctx, "form.fault.pick")}
		} else if reason != "" {
			fault.Message = i18n.T(ctx, "form.fault.too_long", "n", fleet.MaxReason)
		}
		m.Faults, m.Reason = []views.Fault{fault}, reason
		return s.renderAt(w, r, http.StatusUnprocessableEntity, machineURL(tag), views.Machine(m))
	}
	if err != nil {
		return err
	}
	s.notify(ctx, notice)
	return seeOther(w, r, machineURL(tag))
}

func machineURL(tag string) string { return "/fleet/machines/" + url.PathEscape(tag) }

// classBoard is the stock by class.
func (s *server) classBoard(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	site := r.URL.Query().Get("site")
	if !slices.ContainsFunc(c.sites, func(st fleet.Site) bool { return st.Code == site }) {
		site = ""
	}
	list, more, err := s.Fleet.ClassBoard(ctx, site, pageOf(r))
	if err != nil {
		return err
	}
	q := url.Values{}
	if site != "" {
		q.Set("site", site)
	}
	m := views.ClassesPage{Sites: siteOptions(c, site)}
	m.First, m.Next = numberedLinks("/fleet/classes", q, pageOf(r), more)
	for _, row := range list {
		b := boardRow(row.BoardRow)
		b.Site, b.SiteName, b.Class = row.Spec.SiteCode, c.siteName(row.Spec.SiteCode), new(serverOf(row.Spec, "", c))
		m.Items = append(m.Items, b)
	}
	return s.render(w, r, http.StatusOK, views.Classes(m))
}
