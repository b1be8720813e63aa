package migrations_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// These tests speak plain SQL that knows nothing of the application: whatever they try, at any
// isolation level and as any role, the schema alone has to hold.

var levels = []string{"read committed", "repeatable read", "serializable"}

// actor is a way to come into the database. Setup is run in each of its transactions.
type actor struct {
	name  string
	login bool // as the application's login, which inherits nothing
	setup string
}

var (
	asOwner  = actor{name: "owner"}
	asEngine = actor{name: "engine", setup: "set local role ironhold_engine"}
	asLogin  = actor{name: "login", login: true, setup: "set local role ironhold_engine"}
	asWeb    = actor{name: "web", login: true, setup: "set local role ironhold_web"}
	writers  = []actor{asOwner, asEngine, asLogin}
)

// scene is a database with machines and organisations.
type scene struct {
	t     *testing.T
	owner *pgxpool.Pool
	app   *pgxpool.Pool
}

func newScene(t *testing.T) *scene {
	t.Helper()
	owner := pgtest.DB(t)
	fixture.NoDeadlock(t, owner)
	return &scene{t: t, owner: owner, app: fixture.App(t, owner, 20)}
}

func (s *scene) pool(a actor) *pgxpool.Pool {
	if a.login {
		return s.app
	}
	return s.owner
}

// begin opens a transaction; it is rolled back at the end of the test if it is still open.
func (s *scene) begin(a actor, level string) pgx.Tx {
	s.t.Helper()
	tx, err := s.open(context.Background(), a, level)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func (s *scene) open(ctx context.Context, a actor, level string) (pgx.Tx, error) {
	begin := "begin isolation level " + level
	if a.setup != "" {
		begin += "; " + a.setup
	}
	return s.pool(a).BeginTx(ctx, pgx.TxOptions{BeginQuery: begin + "; set local lock_timeout = '20s'"})
}

// run runs statements in one transaction and commits.
func (s *scene) run(a actor, level string, statements ...string) error {
	ctx := context.Background()
	tx, err := s.open(ctx, a, level)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// try runs statements in one transaction up to where a commit would succeed, and takes all back.
func (s *scene) try(a actor, statements ...string) error {
	ctx := context.Background()
	tx, err := s.open(ctx, a, "read committed")
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	for _, sql := range append(statements, "set constraints all immediate") {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// refused asserts that a transaction of the statements fails by the constraint.
func (s *scene) refused(a actor, constraint string, statements ...string) {
	s.t.Helper()
	if err := s.run(a, "read committed", statements...); pg.Constraint(err) != constraint {
		s.t.Errorf("%s, %s: %v, want a refusal by %s", a.name, strings.Join(statements, "; "), err, constraint)
	}
}

func (s *scene) must(statements ...string) {
	s.t.Helper()
	if err := s.run(asOwner, "read committed", statements...); err != nil {
		s.t.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
}

// asReplica plants what the triggers would refuse.
func (s *scene) asReplica(statements ...string) {
	s.t.Helper()
	s.must(append([]string{"set local session_replication_role = replica"}, statements...)...)
}

// exec is one statement in an open transaction, in the background; the channel has its error.
func exec(tx pgx.Tx, sql string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := tx.Exec(context.Background(), sql)
		done <- err
	}()
	return done
}

func mustExec(t *testing.T, tx pgx.Tx, sql string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// waits asserts that the transaction waits for a lock now.
func (s *scene) waits(tx pgx.Tx) {
	s.t.Helper()
	pid := tx.Conn().PgConn().PID()
	for range 1000 {
		if fixture.Get[bool](s.t, s.owner, "select coalesce(bool_or(wait_event_type = 'Lock'), false) from pg_stat_activity where pid = $1", int(pid)) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatal("the statement does not wait for a lock")
}

// together starts n functions at one instant and returns their errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func (s *scene) count(sql string, args ...any) int {
	s.t.Helper()
	return fixture.Get[int](s.t, s.owner, sql, args...)
}

// invariant fails the test when one of the named invariants is violated.
func (s *scene) invariant(names ...string) {
	s.t.Helper()
	results, err := invariants.New(s.owner).Check(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	seen := 0
	for _, r := range results {
		for _, name := range names {
			if r.Name == name {
				seen++
				if r.Violations > 0 {
					s.t.Errorf("%s: %d violations: %v", r.Name, r.Violations, r.Examples)
				}
			}
		}
	}
	if seen != len(names) {
		s.t.Errorf("%d of the invariants %v exist", seen, names)
	}
}

// The statements that the tests put together. Machines and organisations are named by tag and slug.

func insertHold(slug, tag, key, lasts string) string {
	return fmt.Sprintf(`insert into holds (org_id, machine_id, idempotency_key, expires_at)
		select o.id, m.id, '%s', clock_timestamp() + interval '%s' from organisations o, machines m
		where o.slug = '%s' and m.asset_tag = '%s'`, key, lasts, slug, tag)
}

func insertService(key string) string {
	return fmt.Sprintf(`insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
		select org_id, machine_id, id, price_month_minor, setup_minor, currency from holds where idempotency_key = '%s'`, key)
}

func setHold(key, what string) string {
	return fmt.Sprintf(`update holds set %s where idempotency_key = '%s'`, what, key)
}

func setMachine(tag, what string) string {
	return fmt.Sprintf(`update machines set %s where asset_tag = '%s'`, what, tag)
}

// sale is the whole conversion of a hold.
func sale(key, tag string) []string {
	return []string{insertService(key), setHold(key, "state = 'converted', closed_at = clock_timestamp()"), setMachine(tag, "status = 'in_service'")}
}

func orgs(t *testing.T, s *scene, n, maxHolds, maxMachines int) []uuid.UUID {
	t.Helper()
	out := make([]uuid.UUID, n)
	for i := range n {
		out[i] = fixture.Org(t, s.owner, fmt.Sprintf("org-%d", i+1), maxHolds, maxMachines)
	}
	return out
}
