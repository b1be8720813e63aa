package web

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
	"ironhold/notify/outbound"
)

// blind is a database of which the program's own condition on the organisation is taken out: every
// "org_id = $1" of a transaction of the web role is true. What is left is row-level security. With
// engine it is not even that, so that a test can see that it would notice.
type blind struct {
	*pgxpool.Pool
	engine bool

	mu      sync.Mutex
	taken   int
	readers map[string]bool // statements of the engine with such a condition, which have no second arbiter
}

var (
	ownCondition = regexp.MustCompile(`\b(\w+\.)?org_id = (\$\d+)(::uuid)?`)
	whose        = regexp.MustCompile(`\b[hs]\.org_id,`)
	ofTheWeb     = "set local role ironhold_web"
)

func (b *blind) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	web := strings.Contains(o.BeginQuery, ofTheWeb)
	if web && b.engine {
		o.BeginQuery = strings.Replace(o.BeginQuery, ofTheWeb, "set local role ironhold_engine", 1)
	}
	tx, err := b.Pool.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return &blindTx{Tx: tx, b: b, web: web}, nil
}

type blindTx struct {
	pgx.Tx
	b   *blind
	web bool
}

func (t *blindTx) unbound(text string) string {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if !ownCondition.MatchString(text) {
		return text
	}
	if !t.web {
		if !strings.Contains(text, "update") {
			t.b.readers[strings.Join(strings.Fields(text), " ")] = true
		}
		return text
	}
	t.b.taken++
	return ownCondition.ReplaceAllString(text, "$2::uuid is not null")
}

// own says of each row that is read that it is the reader's: what is checked in Go after reading is
// blind too.
func own(text string) string { return whose.ReplaceAllString(text, "ironhold_org() as org_id,") }

func (t *blindTx) sql(text string) string {
	if t.web {
		text = own(text)
	}
	return t.unbound(text)
}

func (t *blindTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.Tx.Query(ctx, t.sql(sql), args...)
}

func (t *blindTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.Tx.QueryRow(ctx, t.sql(sql), args...)
}

func (t *blindTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.Tx.Exec(ctx, t.sql(sql), args...)
}

func (t *blindTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		q.SQL = t.sql(q.SQL)
	}
	return t.Tx.SendBatch(ctx, b)
}

// blindWorld is a world on such a database.
func blindWorld(t *testing.T, engine bool) (*world, *blind) {
	t.Helper()
	owner := pgtest.DB(t)
	b := &blind{Pool: fixture.App(t, owner, 20), engine: engine, readers: map[string]bool{}}
	s := newSiteOn(t, owner, b.Pool, func(c *Config) {
		c.Accounts, c.Holds = accounts.New(b), holds.New(b, holds.DefaultPolicy())
		c.Webhooks = notify.NewWebhooks(b, outbound.New(outbound.Options{}))
		c.Allocator = allocator.New(b, allocator.Options{Precondition: c.Rollout.Precondition()})
	})
	return newWorldOn(t, s), b
}

var _ pg.DB = (*blind)(nil)

// leaks asks every route that reads, as rival's people, for acme's objects and lists, and gives where
// something of acme's came out.
func (w *world) leaks() (found []string) {
	w.t.Helper()
	secrets := []string{"acme", "Member of", "Token of"}
	for name, rt := range w.walk() {
		if rt.method != "GET" || strings.HasPrefix(rt.pattern, "/static") || rt.pattern == "/sign-in/company/back" {
			continue
		}
		id, second := w.object(rt.pattern)
		for _, who := range []caller{foreign, foreignAdmin} {
			p := w.ask(rt, who, at(rt.pattern, id, second))
			if p.status != 200 {
				continue
			}
			for _, secret := range secrets {
				if strings.Contains(strings.ReplaceAll(p.raw, "class=", ""), secret) {
					found = append(found, name+" as "+string(who)+" shows "+secret)
				}
			}
			// An object's own page came although it is acme's.
			nobodys := []string{"/problems/", "/offers/"}
			if strings.Contains(rt.pattern, "{") && !slices.ContainsFunc(nobodys, func(s string) bool { return strings.Contains(rt.pattern, s) }) {
				found = append(found, name+" as "+string(who)+" shows an object of acme's")
			}
		}
	}
	slices.Sort(found)
	return found
}

// With the program's own check taken out, row-level security leaks nothing on any route.
func TestRowLevelSecurityAlone(t *testing.T) {
	t.Parallel()
	w, b := blindWorld(t, false)
	fillAcme(w)
	for _, leak := range w.leaks() {
		t.Error(leak)
	}
	if b.taken < 50 {
		t.Errorf("only %d conditions were taken out", b.taken)
	}
}

// Without either arbiter the same walk finds leaks: it would notice.
func TestWithoutEitherArbiterItLeaks(t *testing.T) {
	t.Parallel()
	w, _ := blindWorld(t, true)
	fillAcme(w)
	found := strings.Join(w.leaks(), "\n")
	for _, route := range []string{
		"GET /holds/{id}", "GET /services/{id}", "GET /api/v1/holds/{id}", "GET /org/members/{id}", "GET /org/webhooks/{id}", "GET /org/history", "GET /org ", "GET /org/webhooks ",
	} {
		if !strings.Contains(found, route) {
			t.Errorf("%s is not noticed among\n%s", route, found)
		}
	}
}

// fillAcme makes one of each object of acme's, so that lists have something to leak.
func fillAcme(w *world) {
	w.t.Helper()
	for _, pattern := range []string{"/holds/{id}", "/services/{id}", "/waiting/{id}", "/org/members/{id}", "/org/invitations/{id}", "/org/tokens/{id}", "/org/webhooks/{id}"} {
		w.object(pattern)
	}
	fixture.Exec(w.t, w.owner, "update waiting_list set request = '{\"cpu\": \"acme cpu\"}' where org_id = $1", w.acme)
}

// What reads for an organisation without the second arbiter is named here, with the reason why.
var engineReads = []string{
	"org_limits",                            // the caps and the lock row, read where orders are decided
	"idempotency_key",                       // an order's own key
	"cross join lateral",                    // the candidates of an order: whoever holds what
	"with cool as",                          // the survey, likewise
	"select m.class_id, coalesce(array_agg", // one's own in the catalogue, together with the counts of all
	"select exists (",                       // of the claim and of changes, under the organisation's lock
	"for no key update",                     // locks
	"from waiting_list",                     // says whether a machine is free, which others' holds decide
}

func TestReadsHaveASecondArbiter(t *testing.T) {
	t.Parallel()
	w, b := blindWorld(t, false)
	fillAcme(w)
	b.mu.Lock()
	clear(b.readers)
	b.mu.Unlock()
	w.leaks()
	for sql := range b.readers {
		if !slices.ContainsFunc(engineReads, func(s string) bool { return strings.Contains(sql, s) }) {
			t.Errorf("read by the engine, where row-level security decides nothing: %s", sql)
		}
	}
}
