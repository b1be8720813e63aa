package holds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Book gives the steps on holds and services. It is safe for concurrent use.
type Book struct {
	db        pg.DB
	policy    Policy
	onChange  func()
	onService OnService
}

// OnService is told of what is to be done to a service's machine, in the transaction that decided it: kind
// is install or wipe. It inserts a job and does nothing outside.
type OnService func(ctx context.Context, tx pgx.Tx, service uuid.UUID, kind string) error

// New makes a Book over a pool, or over a transaction in tests.
func New(db pg.DB, policy Policy) *Book {
	return &Book{
		db: db, policy: policy, onChange: func() {},
		onService: func(context.Context, pgx.Tx, uuid.UUID, string) error { return nil },
	}
}

// OnChange makes the book call f after each step that was committed, and after a sweep that
// expired something; never inside a transaction. Call it before the book is used; f must not block.
func (b *Book) OnChange(f func()) *Book {
	b.onChange = f
	return b
}

// Jobs makes the book call f in the transactions that begin and end services. Call it before the book is
// used.
func (b *Book) Jobs(f OnService) *Book {
	b.onService = f
	return b
}

// Policy returns the times that holds are given.
func (b *Book) Policy() Policy { return b.policy }

// Scope says whose holds a caller may see: those of one organisation, or with the zero value all
// of them, which is for staff.
type Scope struct{ OrgID uuid.UUID }

func (s Scope) covers(org uuid.UUID) bool { return s.OrgID == uuid.Nil || s.OrgID == org }

// read runs f in a transaction that sees what the scope allows: for an organisation row-level
// security is the second arbiter beside the condition in the statement.
func (b *Book) read(ctx context.Context, s Scope, f func(tx pgx.Tx) error) error {
	if s.OrgID == uuid.Nil {
		return pg.Engine(ctx, b.db, pg.By{}, f)
	}
	return pg.Web(ctx, b.db, s.OrgID, pg.By{}, f)
}

// step runs f as one transaction of the engine and turns what the server says into refusals.
// When the answer to the commit was lost, settled is asked on another connection, after the
// organisation's lock, whether the step has happened.
func (b *Book) step(ctx context.Context, by pg.By, org uuid.UUID, f func(tx pgx.Tx) error, settled func(tx pgx.Tx) (bool, error)) error {
	err := pg.Engine(ctx, b.db, by, f)
	if err == nil {
		b.onChange()
		return nil
	}
	if unknown, ok := errors.AsType[*pg.CommitUnknown](err); ok {
		return b.resolve(ctx, org, unknown, settled)
	}
	if _, ok := errors.AsType[*Refused](err); ok {
		return err
	}
	if pg.Busy(err) {
		return &Refused{Kind: Busy, Detail: err.Error()}
	}
	return err
}

// resolveWait bounds how long a lost commit is looked after before the caller is told "checking".
const resolveWait = 4 * time.Second

func (b *Book) resolve(ctx context.Context, org uuid.UUID, lost error, settled func(tx pgx.Tx) (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveWait)
	defer cancel()
	for {
		done := false
		err := pg.Engine(ctx, b.db, pg.By{Actor: "resolve"}, func(tx pgx.Tx) error {
			// Without the lock the look finds nothing while the lost transaction is still open.
			if err := LockOrg(ctx, tx, org); err != nil {
				return err
			}
			var err error
			done, err = settled(tx)
			return err
		})
		switch {
		case err == nil && done:
			b.onChange()
			return nil
		case err == nil:
			return &Refused{Kind: Busy, Detail: "the step did not happen"}
		case ctx.Err() != nil:
			return &Refused{Kind: Checking, Detail: lost.Error()}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// LockOrg locks the organisation's limits row, the first lock of whatever makes or keeps a hold
// live. No row is an error: a lock statement that finds nothing locks nothing.
func LockOrg(ctx context.Context, tx pgx.Tx, org uuid.UUID) error {
	return lockOne(ctx, tx, "organisation", "select 1 from org_limits where org_id = $1 for no key update", org)
}

func lockMachine(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	return lockOne(ctx, tx, "machine", "select 1 from machines where id = $1 for no key update", id)
}

func lockHold(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	return lockOne(ctx, tx, "hold", "select 1 from holds where id = $1 for no key update", id)
}

func lockService(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	return lockOne(ctx, tx, "service", "select 1 from services where id = $1 for no key update", id)
}

func lockOne(ctx context.Context, tx pgx.Tx, what, sql string, id uuid.UUID) error {
	tag, err := tx.Exec(ctx, sql, id)
	if err != nil {
		return fmt.Errorf("lock %s: %w", what, err)
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("lock %s %s: no such row", what, id)
	}
	return nil
}
