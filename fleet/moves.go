package fleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Bar is the fact that forbids a move which a machine's life would allow; the zero value is none.
type Bar string

// The bars, each with its own way out.
const (
	BarNotSold Bar = "not_sold" // into service by hand: a sale does that
	BarService Bar = "service"  // in service: end it first
	BarHeld    Bar = "held"     // on hold: cancel the hold or wait
	BarUnwiped Bar = "unwiped"  // not wiped since its last service: record the wipe
	BarAside   Bar = "aside"    // set aside after failures: release it
	BarWiping  Bar = "wiping"   // a driver wipes it: wait, or take over
)

func (b Bar) String() string {
	switch b {
	case BarNotSold:
		return "it comes into service by a sale, not by hand"
	case BarService:
		return "it is in service: end the service first"
	case BarHeld:
		return "it is held: cancel the hold or wait for its deadline"
	case BarUnwiped:
		return "it was not wiped since its last service ended: record the wipe"
	case BarAside:
		return "it was set aside after failures: release it first"
	case BarWiping:
		return "it is being wiped: wait for the end, or take the wipe over"
	}
	return ""
}

// Move is a status that may follow a machine's own, and what forbids it at this moment, if anything.
type Move struct {
	To  Status
	Bar Bar
}

// Moves are what a person may do with a machine now. It is advice: what was true when it was read
// may change, and SetStatus and Wiped decide.
type Moves struct {
	To    []Move // without those that only a sale makes
	Wipe  Bar    // what forbids recording a wipe
	Aside string // why the machine was set aside; "": it was not
}

// Moves returns the moves of a machine; *NotFound for an unknown one.
func (r *Registry) Moves(ctx context.Context, tag string) (moves Moves, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		m, err := machineByTag(ctx, tx, tag, "")
		if err != nil {
			return err
		}
		f, err := readFacts(ctx, tx, m.ID)
		if err != nil {
			return err
		}
		moves.Wipe, moves.Aside = f.barsWipe(), f.Aside
		for _, to := range LegalMoves(m.Status) {
			if bar := f.bars(to); bar != BarNotSold {
				moves.To = append(moves.To, Move{To: to, Bar: bar})
			}
		}
		return nil
	})
	return moves, err
}

// facts are what else the database asks before a move.
type facts struct {
	Active  bool   `db:"active"`  // has an active service
	Held    bool   `db:"held"`    // has a live hold
	Unwiped bool   `db:"unwiped"` // no wipe since the end of the last service
	Wiping  bool   `db:"wiping"`  // a driver is at it
	Aside   string `db:"aside"`   // why it was set aside
}

// bars names the fact that forbids a move, or "".
func (f facts) bars(to Status) Bar {
	switch {
	case to == InService && !f.Active:
		return BarNotSold
	case (to == Cleaning || to == Ready || to == Retired) && f.Active:
		return BarService
	case to == Retired && f.Held:
		return BarHeld
	case to == Ready && f.Aside != "":
		return BarAside
	case to == Ready && f.Unwiped:
		return BarUnwiped
	}
	return ""
}

func (f facts) barsWipe() Bar {
	if f.Active {
		return BarService
	}
	if f.Wiping {
		return BarWiping
	}
	return ""
}

func (f facts) whyNot(to Status) string { return f.bars(to).String() }

func (f facts) possible(from Status) []Status {
	return slices.DeleteFunc(LegalMoves(from), func(to Status) bool { return f.bars(to) != "" })
}

func readFacts(ctx context.Context, tx pgx.Tx, machine uuid.UUID) (facts, error) {
	rows, err := tx.Query(ctx, `select
		coalesce(bool_or(s.id is not null and s.ended_at is null), false) as active,
		exists (select from holds where machine_id = m.id and state = 'held' and expires_at > clock_timestamp()) as held,
		coalesce(max(s.ended_at) > coalesce(m.wiped_at, '-infinity'), false) as unwiped,
		exists (select from provisionings p where p.machine_id = m.id and p.kind = 'wipe' and p.state = 'running'
			and p.driver not in ('', 'manual')) as wiping,
		case when m.set_aside_at is null then '' else m.set_aside_reason end as aside
		from machines m left join services s on s.machine_id = m.id where m.id = $1 group by m.id`, machine)
	if err != nil {
		return facts{}, fmt.Errorf("occupancy of a machine: %w", err)
	}
	f, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[facts])
	if err != nil {
		return facts{}, fmt.Errorf("occupancy of a machine: %w", err)
	}
	return f, nil
}
