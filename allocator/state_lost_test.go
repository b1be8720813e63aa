package allocator_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// intruder is a database whose orders meet, right before they insert their hold, somebody who does
// not keep to the rules: it inserts without triggers and without locks.
type intruder struct {
	*bench
	org    uuid.UUID // of the order
	hash   []byte    // of the empty request
	plants int
}

func newIntruder(t *testing.T, machines int) *intruder {
	t.Helper()
	owner := pgtest.DB(t)
	fixture.NoDeadlock(t, owner)
	i := &intruder{bench: &bench{t: t, owner: owner, app: tracedApp(t, owner, 4)}, org: fixture.Org(t, owner, "acme", 5, 50)}
	i.open(i.app)
	fixture.Org(t, owner, "intruder", 100, 100)
	for n := range machines {
		fixture.Add(t, owner, fixture.Machine{Tag: fmt.Sprint("M", n+1), Price: int64(1000 * (n + 1))})
	}
	body, err := json.Marshal(allocator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	i.hash = sum[:]
	return i
}

func (i *intruder) open(db pg.DB) {
	i.alloc = allocator.New(db, allocator.Options{Budget: patience})
	i.t.Cleanup(func() { i.alloc.Close(context.Background()) })
}

// order runs one order; plant runs before each insertion of a hold.
func (i *intruder) order(plant func(nth int)) allocator.Result {
	i.t.Helper()
	nth := 0
	tr := &traced{at: -1, pause: func(string) {}, every: func(sql string) {
		if strings.HasPrefix(strings.TrimSpace(sql), "insert into holds") {
			nth++
			plant(nth)
		}
	}}
	res, err := i.alloc.Order(tr.under(i.t.Context()), allocator.Order{OrgID: i.org, By: pg.By{Actor: "test"}, Key: "k"})
	if err != nil {
		i.t.Fatal(err)
	}
	return res
}

// plant inserts a hold without triggers.
func (i *intruder) plant(org, machine, key string) {
	i.t.Helper()
	i.plants++
	err := pgx.BeginFunc(i.t.Context(), i.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(i.t.Context(), "set local session_replication_role = replica"); err != nil {
			return err
		}
		_, err := tx.Exec(i.t.Context(), `
insert into holds (org_id, machine_id, idempotency_key, request_hash, expires_at)
select o.id, m.id, $3, $4, clock_timestamp() + interval '10 minutes' from organisations o, machines m
 where o.slug = $1 and m.asset_tag = $2`, org, machine, key, i.hash)
		return err
	})
	if err != nil {
		i.t.Errorf("plant: %v", err)
	}
}

func walked(res allocator.Result) string {
	var out []string
	for _, s := range res.Walk {
		out = append(out, s.AssetTag+" "+s.Result)
	}
	return strings.Join(out, ", ")
}

// TestLostInsertGoesOn: an insertion that the index refuses in the middle of the walk costs one
// candidate and no more. Without the savepoint the transaction would be lost with it.
func TestLostInsertGoesOn(t *testing.T) { // case 7
	t.Parallel()
	i := newIntruder(t, 3)
	res := i.order(func(nth int) {
		if nth <= 2 {
			i.plant("intruder", fmt.Sprint("M", nth), fmt.Sprint("k", nth))
		}
	})
	if res.Outcome != allocator.Held || res.Hold.AssetTag != "M3" || walked(res) != "M1 lost, M2 lost, M3 won" {
		t.Fatalf("%s by %s", res.Outcome, walked(res))
	}
	var d allocator.Decision
	if err := json.Unmarshal(res.Hold.Decision, &d); err != nil || d.Lost != 2 || d.Rank != 3 {
		t.Errorf("the decision says %+v, %v", d, err)
	}
	if n := fixture.Get[int](t, i.owner, "select count(*) from holds where org_id = $1", i.org); n != 1 {
		t.Errorf("%d holds", n)
	}
}

// TestLostLimit: after five lost candidates the order gives up, with the truth.
func TestLostLimit(t *testing.T) {
	t.Parallel()
	i := newIntruder(t, 7)
	res := i.order(func(nth int) { i.plant("intruder", fmt.Sprint("M", nth), fmt.Sprint("k", nth)) })
	if res.Outcome != allocator.SomeoneFaster || i.plants != 5 {
		t.Fatalf("%s after %d", res.Outcome, i.plants)
	}
	if n := fixture.Get[int](t, i.owner, "select count(*) from holds where org_id = $1", i.org); n != 0 {
		t.Errorf("%d holds", n)
	}
}

// TestConstraintNameDecides: a unique violation of the other index means the opposite, that this
// order has its hold.
func TestConstraintNameDecides(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{true, false} {
		i := newIntruder(t, 3)
		want := allocator.Replayed
		if !same {
			i.hash, want = []byte("another request"), allocator.KeyReused
		}
		// The first candidate is lost, and while the second is tried, the hold of this key appears.
		res := i.order(func(nth int) {
			if nth == 1 {
				i.plant("intruder", "M1", "k1")
			} else {
				i.plant("acme", "M3", "k")
			}
		})
		if res.Outcome != want || res.Hold == nil || res.Hold.AssetTag != "M3" || i.plants != 2 {
			t.Errorf("same request %v: %s %+v", same, res.Outcome, res.Hold)
		}
	}
}

// TestConstraintNameThroughTheChain: the name is found however deep the error lies.
func TestConstraintNameThroughTheChain(t *testing.T) {
	t.Parallel()
	i := newIntruder(t, 2)
	i.open(wrapping{i.app})
	res := i.order(func(nth int) {
		if nth == 1 {
			i.plant("intruder", "M1", "k1")
		}
	})
	if res.Outcome != allocator.Held || walked(res) != "M1 lost, M2 won" {
		t.Fatalf("%s by %s", res.Outcome, walked(res))
	}
}

// wrapping is a pool whose errors come wrapped, twice.
type wrapping struct{ *pgxpool.Pool }

func (w wrapping) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := w.Pool.BeginTx(ctx, o)
	return wrappingTx{tx}, err
}

type wrappingTx struct{ pgx.Tx }

func (w wrappingTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return wrappingResults{w.Tx.SendBatch(ctx, b)}
}

type wrappingResults struct{ pgx.BatchResults }

func (w wrappingResults) Close() error {
	if err := w.BatchResults.Close(); err != nil {
		return fmt.Errorf("network: %w", errors.Join(errors.New("batch"), fmt.Errorf("server: %w", err)))
	}
	return nil
}
