package fleet_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ironhold/fleet"
	"ironhold/migrations/pgtest"
)

// What is offered is done by the database, and what is not offered is refused by it, in every
// situation of a machine.
func TestMovesAreWhatTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	const broken = "update machines set status = 'maintenance', status_reason = 'x'"
	for name, c := range map[string]struct {
		has, then string
		wipe      fleet.Bar
		retired   fleet.Bar
	}{
		"nobody":            {},
		"maintenance":       {then: broken},
		"held":              {has: "hold", retired: fleet.BarHeld},
		"held, maintenance": {has: "hold", then: broken, retired: fleet.BarHeld},
		"rented":            {has: "service", wipe: fleet.BarService},
		"rented, broken":    {has: "service", then: broken, wipe: fleet.BarService, retired: fleet.BarService},
		"unwiped": {has: "service", then: `update services set ended_at = clock_timestamp(), ended_by = 'test';
			update machines set status = 'cleaning', status_reason = 'ended'`},
		"set aside": {then: broken + "; update machines set set_aside_at = now(), set_aside_reason = 'failed twice'"},
		"being wiped": {has: "service", wipe: fleet.BarWiping, then: `update services set ended_at = clock_timestamp(), ended_by = 'test';
			update machines set status = 'cleaning', status_reason = 'ended';
			update provisionings set state = 'running', driver = 'x' where kind = 'wipe'`},
		"retired": {then: "update machines set status = 'retired', status_reason = 'x'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.DB(t)
			importText(t, db, head+"rack\nA1,S1,Xeon,8,64,R1\n", fleet.ImportOptions{})
			if c.has != "" {
				sell(t, db, "A1", "acme", c.has == "service")
			}
			exec(t, db, c.then)
			moves, err := fleet.New(db).Moves(t.Context(), "A1")
			if err != nil || moves.Wipe != c.wipe {
				t.Fatalf("%+v %v", moves, err)
			}
			for _, m := range moves.To {
				if m.To == fleet.Retired && m.Bar != c.retired {
					t.Errorf("to retired: %q, want %q", m.Bar, c.retired)
				}
			}
			for _, to := range append(fleet.Statuses(), "wiped") {
				offered := slices.Contains(moves.To, fleet.Move{To: to})
				tx, err := db.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if to == "wiped" {
					offered = moves.Wipe == ""
					_, err = fleet.New(tx).Wiped(t.Context(), by, "A1", "why")
				} else {
					_, err = fleet.New(tx).SetStatus(t.Context(), by, "A1", to, "why")
				}
				_ = tx.Rollback(context.WithoutCancel(t.Context()))
				_, refused := errors.AsType[*fleet.IllegalMove](err)
				if offered && err != nil || !offered && !refused {
					t.Errorf("to %s: offered %v of %+v, and then %v", to, offered, moves, err)
				}
			}
		})
	}
	if _, err := fleet.New(pgtest.DB(t)).Moves(t.Context(), "Z"); !isMissing(err) {
		t.Errorf("unknown machine: %v", err)
	}
}

func isMissing(err error) bool {
	_, ok := errors.AsType[*fleet.NotFound](err)
	return ok
}
