package allocator

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// stepping runs between before each batch but the first.
type stepping struct {
	pgx.Tx
	between func()
	sent    int
}

func (s *stepping) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if s.sent++; s.sent == 2 {
		s.between()
	}
	return s.Tx.SendBatch(ctx, b)
}

// What changed before the time that a look names is in it.
func TestALookNamesATimeThatItSaw(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	id := fixture.Add(t, db, fixture.Machine{Tag: "ONE"})[0]
	a := New(db, Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	var changed time.Time
	err := pg.Engine(t.Context(), db, pg.By{}, func(tx pgx.Tx) error {
		step := &stepping{Tx: tx, between: func() {
			changed = fixture.Get[time.Time](t, db, "update machines set status = 'maintenance', status_reason = 'fan' where id = $1 returning clock_timestamp()", id)
		}}
		l, err := a.lookAt(pg.Unbatched(t.Context()), step, uuid.Nil, a.opt.Policy, "")
		if err != nil {
			return err
		}
		if saw := l.groups[0].Status == "maintenance"; !saw && l.asOf.After(changed) {
			t.Errorf("as of %s it does not know what was so at %s", l.asOf, changed)
		}
		return nil
	})
	if err != nil || changed.IsZero() {
		t.Fatal(changed, err)
	}
}
