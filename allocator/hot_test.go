package allocator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestTicketsStayHot: a claim's update of its machine touches no index. With an index on what it
// changes, or pages without room, each claim would write into every index of the machines.
func TestTicketsStayHot(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	pool, err := pg.Connect(context.Background(), pgtest.LoginURL(t, owner.Config().ConnString()), pg.PoolOptions{Name: "hot", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := allocator.New(pool, allocator.Options{})
	// Few of many: a page's room is enough without its old versions being removed, which a transaction in
	// another database of the same server can put off.
	const n = 40
	fixture.Equal(t, owner, "m", 1000)
	b := &bench{t: t, owner: owner, alloc: a}
	for i, org := range fixture.Orgs(t, owner, "org", n) {
		if res := b.order(org, fmt.Sprint(i), allocator.Request{}); res.Outcome != allocator.Held {
			t.Fatalf("%+v", res)
		}
	}
	a.Close(t.Context())
	pool.Close() // the sessions tell what they counted when they end
	var hot, updated int
	for deadline := time.Now().Add(time.Minute); updated < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d updates of machines were counted, want %d", updated, n)
		}
		if err := owner.QueryRow(t.Context(), "select n_tup_hot_upd, n_tup_upd from pg_stat_user_tables where relname = 'machines'").Scan(&hot, &updated); err != nil {
			t.Fatal(err)
		}
	}
	if hot*10 < updated*9 {
		t.Errorf("%d of %d updates of machines were HOT", hot, updated)
	}
}
