package invariants

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Result is how one invariant stands. Examples are at most maxExamples of the violations, in words.
type Result struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Violations  int      `json:"violations"`
	Examples    []string `json:"examples"`
	Machines    []Named  `json:"-"` // at most maxMachines
}

// Named is a machine that a violation names.
type Named struct {
	Machine uuid.UUID
	What    string
}

const (
	maxExamples = 5
	maxMachines = 1000
	// statementWait bounds one query: a check must not become the load.
	statementWait = "20s"
	defaultSweep  = time.Minute
)

// Checker asks the invariants.
type Checker struct {
	db    pg.DB
	sweep time.Duration
}

// New makes a checker that takes the sweep to run each minute.
func New(db pg.DB) *Checker { return &Checker{db: db, sweep: defaultSweep} }

// WithSweepInterval returns a checker for another SWEEP_INTERVAL.
func (c *Checker) WithSweepInterval(d time.Duration) *Checker { return &Checker{db: c.db, sweep: d} }

// Check asks every invariant, each in a transaction of its own, so that none is open for long. The
// error says which query failed; what was asked before it is returned.
func (c *Checker) Check(ctx context.Context) ([]Result, error) {
	out := make([]Result, 0, len(all))
	for _, inv := range all {
		r := Result{Name: inv.name, Description: inv.description, Examples: []string{}}
		err := pg.Engine(ctx, c.db, pg.By{}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "select set_config('statement_timeout', $1, true)", statementWait); err != nil {
				return err
			}
			var args []any
			if inv.sweep {
				args = append(args, 2*c.sweep)
			}
			ask := `select count(*) over ()::int, what, null::uuid from (` + inv.query + `) v(what) limit ` + fmt.Sprint(maxExamples)
			if inv.machine {
				ask = `select count(*) over ()::int, what, machine from (` + inv.query + `) v(what, machine) limit ` + fmt.Sprint(maxMachines)
			}
			rows, err := tx.Query(ctx, ask, args...)
			if err != nil {
				return err
			}
			var what string
			var machine *uuid.UUID
			_, err = pgx.ForEachRow(rows, []any{&r.Violations, &what, &machine}, func() error {
				if len(r.Examples) < maxExamples {
					r.Examples = append(r.Examples, what)
				}
				if machine != nil {
					r.Machines = append(r.Machines, Named{*machine, what})
				}
				return nil
			})
			return err
		})
		if err != nil {
			return out, fmt.Errorf("invariant %s: %w", inv.name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Violated lists the results that are not as they must be.
func Violated(results []Result) []Result {
	var out []Result
	for _, r := range results {
		if r.Violations > 0 {
			out = append(out, r)
		}
	}
	return out
}
