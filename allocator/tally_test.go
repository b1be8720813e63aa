package allocator

import (
	"testing"
	"time"

	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestTally counts each minute's orders by what became of them, minutes without any included.
func TestTally(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	org := fixture.Org(t, owner, "acme", 5, 5)
	for outcome, ago := range map[string]string{
		"held": "1 minute", "replayed": "1 minute", "none_left": "2 minutes", "busy": "2 minutes", "all_held": "3 hours",
	} {
		fixture.Exec(t, owner, `insert into allocation_attempts (id, at, org_id, actor, idempotency_key, outcome, request)
			values (gen_random_uuid(), date_trunc('minute', clock_timestamp()) - $3::text::interval + interval '1 second', $1, 'test', 'k', $2, '{}')`, org, outcome, ago)
	}
	got, err := Tally(t.Context(), fixture.App(t, owner, 2), 60)
	if err != nil {
		t.Fatal(err)
	}
	var held, refused, undecided int
	for i, m := range got {
		held, refused, undecided = held+m.Held, refused+m.Refused, undecided+m.Undecided
		if i > 0 && m.At.Sub(got[i-1].At) != time.Minute {
			t.Errorf("from %s to %s", got[i-1].At, m.At)
		}
	}
	if len(got) != 60 || held != 2 || refused != 1 || undecided != 1 {
		t.Errorf("%d minutes, held %d, refused %d, undecided %d", len(got), held, refused, undecided)
	}
}
