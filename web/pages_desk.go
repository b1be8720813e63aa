package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// outcomes are those that the log of attempts can have.
var outcomes = []allocator.Outcome{
	allocator.Held, allocator.SomeoneFaster, allocator.NoneLeft, allocator.AllHeld, allocator.LimitReached,
	allocator.AlreadyYours, allocator.CoolDown, allocator.NotRolledOut, allocator.Suspended, allocator.TryAgain, allocator.Busy,
}

// anyRefusal is the choice of all orders that got nothing: what sales begins the day with.
const anyRefusal = "refused"

// localTime is how a browser writes a time without a zone.
const localTime = "2006-01-02T15:04"

// deskFilter is what the desk's form asks for, read from the address.
type deskFilter struct {
	allocator.AttemptFilter
	values url.Values // those that count, for links
	faults []views.Fault
}

func (s *server) readDeskFilter(ctx context.Context, q url.Values, orgs []accounts.Org) deskFilter {
	f := deskFilter{values: url.Values{}}
	if o := allocator.Outcome(q.Get("outcome")); slices.Contains(outcomes, o) {
		f.Outcome = o
		f.values.Set("outcome", string(o))
	} else if o == anyRefusal {
		f.Refused = true
		f.values.Set("outcome", anyRefusal)
	}
	for _, o := range orgs {
		if o.Slug == q.Get("org") {
			f.OrgID = o.ID
			f.values.Set("org", o.Slug)
		}
	}
	if site := q.Get("site"); site != "" && len(site) <= 64 && !strings.ContainsRune(site, 0) {
		f.Site = site
		f.values.Set("site", site)
	}
	zone := i18n.From(ctx).Zone
	for name, to := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		text := strings.TrimSpace(q.Get(name))
		if text == "" {
			continue
		}
		at, err := time.ParseInLocation(localTime, text, zone)
		if err != nil || at.Year() < 2000 || at.Year() > 9000 {
			f.faults = append(f.faults, views.Fault{Field: name, Label: i18n.T(ctx, "desk."+name), Message: i18n.T(ctx, "desk.fault_time")})
			continue
		}
		*to = at
		f.values.Set(name, text)
	}
	return f
}

// desk lists the attempts.
func (s *server) desk(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	orgs, err := s.Accounts.Orgs(ctx)
	if err != nil {
		return err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	f := s.readDeskFilter(ctx, r.URL.Query(), orgs)
	rows := listSizes.of(r)
	f.Before, f.Limit = listPage(r), rows+1
	list, err := s.Allocator.Attempts(ctx, f.AttemptFilter)
	if err != nil {
		return err
	}
	m := views.DeskPage{
		From: f.values.Get("from"), To: f.values.Get("to"), Filtered: len(f.values) > 0, Faults: f.faults,
		CSV: withQuery("/desk/attempts.csv", f.values),
	}
	m.Outcomes = append(m.Outcomes, views.Option{Value: anyRefusal, Label: i18n.T(ctx, "desk.refused"), Chosen: f.Refused})
	for _, o := range outcomes {
		m.Outcomes = append(m.Outcomes, views.Option{Value: string(o), Label: i18n.T(ctx, "outcome."+string(o)), Chosen: o == f.Outcome})
	}
	for _, o := range orgs {
		m.Orgs = append(m.Orgs, views.Option{Value: o.Slug, Label: o.Name, Chosen: o.ID == f.OrgID})
	}
	m.Sites = siteOptions(c, f.Site)
	for i := range list[:min(len(list), rows)] {
		m.Items = append(m.Items, attemptRow(&list[i]))
	}
	first, next := "", ""
	if f.Before != uuid.Nil {
		first = withQuery("/desk", f.values)
	}
	if len(list) > rows {
		f.values.Set("after", list[rows-1].ID.String())
		next = withQuery("/desk", f.values)
	}
	m.Pager = listSizes.pager(r, first, next, len(m.Items))
	return s.renderLive(w, r, "list", m.Items, views.Desk(m))
}

func siteOptions(c choices, chosen string) (out []views.Option) {
	for _, st := range c.sites {
		label := st.Code
		if st.Name != "" && st.Name != st.Code {
			label = st.Name + " (" + st.Code + ")"
		}
		out = append(out, views.Option{Value: st.Code, Label: label, Chosen: st.Code == chosen})
	}
	return out
}

func withQuery(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// deskCSV is the same rows as a file, in short pieces.
func (s *server) deskCSV(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	orgs, err := s.Accounts.Orgs(ctx)
	if err != nil {
		return err
	}
	f := s.readDeskFilter(ctx, r.URL.Query(), orgs)
	f.Limit = csvPiece
	list, err := s.Allocator.Attempts(ctx, f.AttemptFilter)
	if err != nil {
		return err
	}
	out := newSheet(w, "order-requests", "attempt", "at", "outcome", "organisation", "actor", "request", "considered", "eligible",
		"skipped", "lost", "changed", "took_us", "hold")
	for {
		for i := range list {
			a := &list[i]
			hold := ""
			if a.HoldID != nil {
				hold = a.HoldID.String()
			}
			out.row(a.ID.String(), i18n.ISO(a.At), string(a.Outcome), a.OrgSlug, a.Actor, string(a.Request), strconv.Itoa(a.Considered),
				strconv.Itoa(a.Eligible), strconv.Itoa(a.Skipped), strconv.Itoa(a.Lost), strconv.Itoa(a.Changed), strconv.FormatInt(a.TookUS, 10), hold)
		}
		out.flush()
		if len(list) < csvPiece {
			return nil
		}
		f.Before = list[len(list)-1].ID
		list, err = s.Allocator.Attempts(ctx, f.AttemptFilter)
		out.fail(err)
	}
}

func attemptRow(a *allocator.Attempt) views.AttemptRow {
	row := views.AttemptRow{
		ID: a.ID.String(), Org: a.OrgSlug, Actor: a.Actor, Outcome: string(a.Outcome), At: a.At, Ask: askOf(requestOf(a.Request)),
		Considered: a.Considered, Eligible: a.Eligible, Skipped: a.Skipped, Lost: a.Lost, Changed: a.Changed,
		Took: time.Duration(a.TookUS) * time.Microsecond,
	}
	if a.HoldID != nil {
		row.HoldID = a.HoldID.String()
	}
	return row
}

// deskHoldRows keeps the page small, whose rows have buttons.
const deskHoldRows = 35

// deskHolds lists what is held, by whomever.
func (s *server) deskHolds(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	after, rows := listPage(r), deskHoldSizes.of(r)
	list, err := s.Holds.Occupying(ctx, after, rows+1)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	m := views.DeskHoldsPage{CanConfirm: accounts.Can(actor.Role, accounts.ConvertHold)}
	var shown []views.HoldRow // what the passing of time alone does not change
	for _, h := range list[:min(len(list), rows)] {
		row := views.DeskHold{HoldRow: holdRow(h), Left: h.ExpiresAt.Sub(h.Now)}
		row.By = who.of(ctx, h.CreatedBy)
		if h.AttemptID != nil {
			row.AttemptID = h.AttemptID.String()
		}
		m.Items, shown = append(m.Items, row), append(shown, row.HoldRow)
	}
	last := uuid.Nil
	if len(list) > rows {
		last = list[rows-1].ID
	}
	first, next := pageLinks("/desk/holds", "", "", after != uuid.Nil, last)
	m.Pager = deskHoldSizes.pager(r, first, next, len(m.Items))
	return s.renderLive(w, r, "list", shown, views.DeskHolds(m))
}

// overrideOf is the reason in an attempt's record.
func overrideOf(detail json.RawMessage) string {
	var d struct {
		Reason string `json:"cool_down_overridden"`
	}
	_ = json.Unmarshal(detail, &d)
	return d.Reason
}
