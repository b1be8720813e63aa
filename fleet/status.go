package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// MaxReason is the longest reason of a move, in characters.
const MaxReason = 500

// Statuses lists all statuses in the order of a machine's life.
func Statuses() []Status {
	return []Status{Intake, Ready, InService, Cleaning, Maintenance, Retired}
}

// ParseStatus reads a status; the error is *Invalid and names the allowed ones.
func ParseStatus(s string) (Status, error) {
	if slices.Contains(Statuses(), Status(s)) {
		return Status(s), nil
	}
	return "", &Invalid{Field: "status", Message: fmt.Sprintf("%s is none; allowed: %s", show(s), joinStatuses(Statuses()))}
}

// LegalMoves returns the statuses that may follow s. The database has the same table in
// machines_legal_moves and decides.
func LegalMoves(s Status) []Status {
	switch s {
	case Intake:
		return []Status{Ready, Retired}
	case Ready:
		return []Status{InService, Maintenance, Retired}
	case InService:
		return []Status{Cleaning, Maintenance}
	case Cleaning:
		return []Status{Ready, Maintenance, Retired}
	case Maintenance:
		return []Status{Ready, Cleaning, InService, Retired}
	case Retired:
	}
	return nil
}

// SetStatus moves a machine on in its life. The reason is required. A move that is not possible
// is *IllegalMove, decided by the database; an unknown status or a bad reason is *Invalid; an
// unknown machine is *NotFound.
func (r *Registry) SetStatus(ctx context.Context, by pg.By, tag string, to Status, reason string) (m Machine, err error) {
	if to, err = ParseStatus(string(to)); err != nil {
		return Machine{}, err
	}
	if reason, err = checkReason(reason); err != nil {
		return Machine{}, err
	}
	err = pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		m, err = setStatus(ctx, tx, tag, to, reason)
		return err
	})
	return m, r.changed(err)
}

func setStatus(ctx context.Context, tx pgx.Tx, tag string, to Status, reason string) (Machine, error) {
	// Locked in a statement of its own: an update that waited is not evaluated again.
	m, err := machineByTag(ctx, tx, tag, "for no key update")
	if err != nil {
		return Machine{}, err
	}
	f, err := readFacts(ctx, tx, m.ID)
	if err != nil {
		return Machine{}, err
	}
	illegal := &IllegalMove{Tag: tag, From: m.Status, To: to, Legal: f.possible(m.Status)}
	if m.Status == to {
		illegal.Why = "it is " + string(to) + " already"
		return Machine{}, illegal
	}
	tell, err := tx.Exec(ctx, `update machines set status = $2, status_reason = $3, status_by = ironhold_actor(),
		updated_at = clock_timestamp() where id = $1`, m.ID, to, reason)
	switch {
	case err != nil:
		if illegal.Why = refusal(err, f, m.Status, to); illegal.Why != "" {
			return Machine{}, illegal
		}
		return Machine{}, fmt.Errorf("machine %s to %s: %w", tag, to, err)
	case tell.RowsAffected() != 1:
		return Machine{}, &NotFound{Tag: tag}
	}
	return machineByTag(ctx, tx, tag, "")
}

// refusal says why the database refused a move, by the constraint's name, or "" when the error is
// of another kind.
func refusal(err error, f facts, from, to Status) string {
	switch pg.Constraint(err) {
	case "machines_legal_move":
		if len(LegalMoves(from)) == 0 {
			return "a " + string(from) + " machine stays so"
		}
		return "from " + string(from) + " a machine goes to " + joinStatuses(LegalMoves(from))
	case "machines_occupied_stay":
		return or(f.whyNot(to), "it is held or in service")
	case "machines_status_facts":
		return or(f.whyNot(to), "its services say otherwise")
	case "machines_set_aside":
		return or(f.whyNot(to), BarAside.String())
	case "machines_wiped_before_sale":
		return or(f.whyNot(to), "it was not wiped since its last service ended: record the wipe")
	}
	return ""
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Wiped records that the machine was wiped now. A machine in cleaning becomes ready by it, in the
// same transaction. A machine in service is refused with *IllegalMove: a wipe recorded then would
// be none of what the customer leaves behind.
func (r *Registry) Wiped(ctx context.Context, by pg.By, tag, reason string) (m Machine, err error) {
	if reason, err = checkReason(reason); err != nil {
		return Machine{}, err
	}
	err = pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		if m, err = machineByTag(ctx, tx, tag, "for no key update"); err != nil {
			return err
		}
		f, err := readFacts(ctx, tx, m.ID)
		if err != nil {
			return err
		}
		refused := &IllegalMove{Tag: tag, From: m.Status, To: m.Status, Legal: f.possible(m.Status)}
		switch f.barsWipe() {
		case "":
		case BarService:
			refused.Why = "a wipe cannot be recorded while it is in service: end the service first"
			return refused
		default:
			refused.Why = "a wipe cannot be recorded: " + f.barsWipe().String()
			return refused
		}
		_, err = tx.Exec(ctx, `update machines set wiped_at = clock_timestamp(), wiped_by = ironhold_actor(), wipe_reason = $2,
			updated_at = clock_timestamp() where id = $1`, m.ID, reason)
		if pg.Constraint(err) == "machines_wipe_running" {
			refused.Why = "a wipe cannot be recorded: " + BarWiping.String()
			return refused
		}
		if err != nil {
			return fmt.Errorf("wipe of machine %s: %w", tag, err)
		}
		if m.Status == Cleaning && f.Aside == "" {
			m, err = setStatus(ctx, tx, tag, Ready, reason)
			return err
		}
		m, err = machineByTag(ctx, tx, tag, "")
		return err
	})
	return m, r.changed(err)
}

// Release lets a machine that was set aside after failures come back on sale; where it is in its life does
// not change by it. The reason is required: *Invalid. One that is not set aside is returned as it is.
func (r *Registry) Release(ctx context.Context, by pg.By, tag, reason string) (m Machine, err error) {
	if reason, err = checkReason(reason); err != nil {
		return Machine{}, err
	}
	err = pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		if m, err = machineByTag(ctx, tx, tag, "for no key update"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update machines set set_aside_at = null, set_aside_reason = $2, updated_at = clock_timestamp()
			where id = $1 and set_aside_at is not null`, m.ID, reason)
		if err != nil {
			return fmt.Errorf("release of machine %s: %w", tag, err)
		}
		m, err = machineByTag(ctx, tx, tag, "")
		return err
	})
	return m, r.changed(err)
}

func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "":
		return "", &Invalid{Field: "reason", Message: "is required: say why"}
	case !utf8.ValidString(reason):
		return "", &Invalid{Field: "reason", Message: "must be UTF-8 text"}
	case utf8.RuneCountInString(reason) > MaxReason:
		return "", &Invalid{Field: "reason", Message: fmt.Sprintf("has %d characters; at most %d are allowed", utf8.RuneCountInString(reason), MaxReason)}
	case strings.ContainsFunc(reason, func(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && unprintable(r) }):
		return "", &Invalid{Field: "reason", Message: "contains control characters; text is allowed"}
	}
	return reason, nil
}

// IsRefusal reports whether err is an answer to the caller and no fault of the system.
func IsRefusal(err error) bool {
	var (
		notFound *NotFound
		illegal  *IllegalMove
		invalid  *Invalid
		file     *FileError
		busy     *ImportBusy
	)
	return errors.As(err, &notFound) || errors.As(err, &illegal) || errors.As(err, &invalid) || errors.As(err, &file) || errors.As(err, &busy)
}
