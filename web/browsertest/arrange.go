package browsertest

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// visit is one person in front of one tab, with what surrounds both.
type visit struct {
	*Site
	*Tab
	t     testing.TB
	acme  uuid.UUID // the organisation of the visitor
	rival uuid.UUID // another one
	user  uuid.UUID // the visitor
}

// The people of every site.
const (
	customer = "ada@acme.example"
	colleage = "ben@acme.example"
	orgAdmin = "eva@acme.example"
	foreign  = "rob@rival.example"
	sales    = "sam@ironhold.example"
	operator = "ola@ironhold.example"
)

// begin starts a site with a small fleet and people, and signs one of them in; "" for nobody.
func begin(t testing.TB, who string, o Options) *visit {
	t.Helper()
	s := ordinary(t, o)
	return s.visit(t, s.Open(t), who)
}

func ordinary(t testing.TB, o Options) *Site {
	t.Helper()
	s := New(t, o)
	s.people(t)
	s.small(t)
	return s
}

// visit sets one of the people in front of a tab.
func (s *Site) visit(t testing.TB, tab *Tab, who string) *visit {
	t.Helper()
	v := &visit{Site: s, Tab: tab, t: t}
	v.acme = fixture.Get[uuid.UUID](t, s.Owner, "select id from organisations where slug = 'acme'")
	v.rival = fixture.Get[uuid.UUID](t, s.Owner, "select id from organisations where slug = 'rival'")
	if who != "" {
		v.user = fixture.Get[uuid.UUID](t, s.Owner, "select id from users where email = $1", who)
		v.SignIn(who)
	}
	return v
}

// another opens a further tab on the same site, as another person would.
func (v *visit) another(who string) *visit {
	v.t.Helper()
	return v.Site.visit(v.t, v.Open(v.t), who)
}

func (s *Site) people(t testing.TB) {
	t.Helper()
	s.Org(t, "acme")
	s.Org(t, "rival")
	fixture.Exec(t, s.Owner, "update organisations set name = 'Acme Analytics' where slug = 'acme'")
	fixture.Exec(t, s.Owner, "update organisations set name = 'Rival Rendering' where slug = 'rival'")
	s.Person(t, customer, "Ada Lindqvist", accounts.Customer, "acme")
	s.Person(t, colleage, "Ben Okafor", accounts.Customer, "acme")
	s.Person(t, orgAdmin, "Eva Marek", accounts.OrgAdmin, "acme")
	s.Person(t, foreign, "Rob Castell", accounts.Customer, "rival")
	s.Person(t, sales, "Sam Tanaka", accounts.Sales, "")
	s.Person(t, operator, "Ola Brandt", accounts.Operator, "")
}

// small is a fleet of three sites and ten machines: GOT-1 to GOT-4 are alike.
func (s *Site) small(t testing.TB) {
	t.Helper()
	fixture.Exec(t, s.Owner, `insert into sites (code, name, country, time_zone) values
		('GOT1', 'Gothenburg', 'SE', 'Europe/Stockholm'), ('LEJ1', 'Leipzig', 'DE', 'Europe/Berlin'), ('OPO1', 'Porto', 'PT', 'Europe/Lisbon')`)
	fixture.Exec(t, s.Owner, `insert into machines
		(asset_tag, site_code, vendor, model, cpu, cores, threads, ram_gb, ecc, nvme_gb, hdd_gb, nic_mbps, price_month_minor, setup_minor, status)
		select 'GOT-' || i, 'GOT1', 'Dell', 'PowerEdge R6515', 'AMD EPYC 7402P', 24, 48, 128, true, 1920, 0, 1000, 10900, 0, 'ready' from generate_series(1, 4) i
		union all select 'LEJ-' || i, 'LEJ1', 'Supermicro', 'AS-1015A', 'AMD Ryzen 9 7950X', 16, 32, 64, true, 2000, 0, 1000, 7900, 3900, 'ready' from generate_series(1, 3) i
		union all select 'OPO-1', 'OPO1', 'HPE', 'ProLiant DL325', 'AMD EPYC 9354P', 32, 64, 384, true, 7680, 0, 10000, 24900, 9900, 'ready'
		union all select 'OPO-2', 'OPO1', '', '', 'Intel Core i7-8700', 6, 12, 64, false, 0, 12000, 1000, 3900, 0, 'ready'
		union all select 'OPO-3', 'OPO1', '', '', 'Intel Core i7-8700', 6, 12, 64, false, 0, 12000, 1000, 3900, 0, 'maintenance'`)
}

// hold orders for an organisation without a page, and returns the hold's identifier.
func (v *visit) hold(org uuid.UUID, r allocator.Request) uuid.UUID {
	v.t.Helper()
	actor := "test"
	if org == v.acme {
		actor = "user:" + v.user.String()
	}
	res, err := v.Allocator.Order(v.t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: actor}, Key: uuid.NewString(), Request: r})
	if err != nil || res.Hold == nil {
		v.t.Fatalf("hold: %+v, %v", res, err)
	}
	return res.Hold.ID
}

// holdTag holds one machine.
func (v *visit) holdTag(org uuid.UUID, tag string) uuid.UUID {
	v.t.Helper()
	return v.hold(org, allocator.Request{Machine: tag})
}

// own is a hold of the visitor.
func (v *visit) own(tag string) uuid.UUID { v.t.Helper(); return v.holdTag(v.acme, tag) }

// rent makes a service of a hold.
func (v *visit) rent(org uuid.UUID, tag string) uuid.UUID {
	v.t.Helper()
	id := v.holdTag(org, tag)
	s, _, err := v.Holds.Convert(v.t.Context(), by, holds.Scope{OrgID: org}, id)
	if err != nil {
		v.t.Fatal(err)
	}
	return s.ID
}

func (v *visit) cancel(org, id uuid.UUID) {
	v.t.Helper()
	if _, err := v.Holds.Cancel(v.t.Context(), by, holds.Scope{OrgID: org}, id, ""); err != nil {
		v.t.Fatal(err)
	}
}

// leave moves a hold's deadline, as time passing would: negative for one that has passed.
func (v *visit) leave(id uuid.UUID, left time.Duration) {
	v.t.Helper()
	fixture.Exec(v.t, v.Owner, "update holds set expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond' where id = $1", id, left.Microseconds())
}

// look opens a page of a hold so near its deadline that this passes on the screen. Where opening the
// page took longer than that, the deadline is moved away and the page opened again.
func (v *visit) look(id uuid.UUID, page string) {
	v.t.Helper()
	for left := 2 * time.Second; ; left *= 2 {
		tx, err := v.Owner.Begin(v.t.Context())
		if err != nil {
			v.t.Fatal(err)
		}
		// Past the rule that what is over stays over.
		_, err = tx.Exec(v.t.Context(), "set local session_replication_role = replica")
		if err == nil {
			_, err = tx.Exec(v.t.Context(), "update holds set expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond' where id = $1", id, left.Microseconds())
		}
		if err = errors.Join(err, tx.Commit(v.t.Context())); err != nil {
			v.t.Fatal(err)
		}
		v.Go(page)
		if Eval[bool](v.Tab, `!!document.querySelector('[data-phase="over"]')`) {
			return
		}
		if left > patience {
			v.t.Fatalf("the page of a hold takes longer than %v to open\n%s", left, v.where())
		}
	}
}

// status moves a machine.
func (v *visit) status(tag, status string) {
	v.t.Helper()
	fixture.Exec(v.t, v.Owner, "update machines set status = $2, status_reason = 'Fan 3 has failed' where asset_tag = $1", tag, status)
}

// ask is an address of the order form.
func ask(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	return q
}

// review opens the review of an order.
func (v *visit) review(pairs ...string) {
	v.t.Helper()
	q := ask(pairs...)
	q.Set("step", "review")
	v.Go("/order?" + q.Encode())
}

const submitOrder = `form[method="post"][action="/order"] button`

// order orders through the review page.
func (v *visit) order(pairs ...string) {
	v.t.Helper()
	v.review(pairs...)
	v.Follow(func() { v.Click(submitOrder) })
}

// contend orders while another transaction is taking the machine: f is called once the order waits
// for it.
func (v *visit) contend(tag string, submit func(), f func()) {
	v.t.Helper()
	ctx := v.t.Context()
	tx, err := v.Owner.Begin(ctx)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// As an order of the rival does it: its own limits, the machine, the hold.
	if _, err := tx.Exec(ctx, `insert into holds (org_id, machine_id, idempotency_key, expires_at)
		select $1, id, gen_random_uuid()::text, clock_timestamp() + interval '15 minutes' from machines where asset_tag = $2`, v.rival, tag); err != nil {
		v.t.Fatal(err)
	}
	submit()
	v.waiting(1)
	if f != nil {
		f()
	}
	if err := tx.Commit(ctx); err != nil {
		v.t.Fatal(err)
	}
}

// waiting waits until so many of the server's transactions wait for a lock.
func (v *visit) waiting(n int) {
	v.t.Helper()
	v.until("transactions that wait for a lock", func() (bool, error) {
		var waiting int
		err := v.Owner.QueryRow(v.t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
		return waiting >= n, err
	})
}

// hang loses the answers to the commits of orders; these happen when the function that it returns
// is called.
func (v *visit) hang() (release func()) {
	v.t.Helper()
	return v.orders.hang(v.t)
}

// away takes the database away from the server.
func (v *visit) away() {
	v.t.Helper()
	name := fixture.Get[string](v.t, v.Owner, "select current_database()")
	fixture.Exec(v.t, v.Owner, "alter database "+name+" connection limit 0")
	fixture.Exec(v.t, v.Owner, `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and usename = 'ironhold_app'`)
}

// path joins an address from its parts.
func path(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case uuid.UUID:
			b.WriteString(p.String())
		}
	}
	return b.String()
}
