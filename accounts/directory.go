package accounts

import (
	"context"
	"crypto/sha256"
	"errors"
	"runtime"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Directory reads and writes organisations, people and tokens. Use one per process: it bounds how
// many passwords are checked at once.
type Directory struct {
	db pg.DB
	// hashing has room for as many password checks as may run at once: each takes 19 MiB and a
	// core, and a flood of sign-ins must be neither a flood of memory nor of work.
	hashing  chan struct{}
	tokens   *pg.Together[[sha256.Size]byte, map[[sha256.Size]byte]Actor]
	breached string                                             // file of passwords that were stolen elsewhere; "" for none
	onLink   func(ctx context.Context, tx pgx.Tx, l Link) error // nil: nobody is told
}

// New makes a directory on a pool, or on a transaction in tests and imports.
func New(db pg.DB) *Directory {
	return &Directory{db: db, hashing: make(chan struct{}, min(4, max(2, runtime.NumCPU()))),
		tokens: pg.NewTogether[[sha256.Size]byte, map[[sha256.Size]byte]Actor]()}
}

// lockOrg locks the organisation's limits row, the first in the lock order, and makes it when it
// is missing.
func lockOrg(ctx context.Context, tx pgx.Tx, org uuid.UUID) error {
	const lock = "select from org_limits where org_id = $1 for no key update"
	tag, err := tx.Exec(ctx, lock, org)
	if err != nil || tag.RowsAffected() == 1 {
		return err
	}
	_, err = tx.Exec(ctx, "insert into org_limits (org_id) values ($1) on conflict do nothing", org)
	if pg.Code(err) == pg.CodeForeignKeyViolation {
		return &NotFound{"organisation", org.String()}
	}
	if err != nil {
		return err
	}
	if tag, err = tx.Exec(ctx, lock, org); err == nil && tag.RowsAffected() != 1 {
		err = &NotFound{"organisation", org.String()}
	}
	return err
}

// one collects exactly one row by column names; none is a NotFound.
func one[T any](rows pgx.Rows, err error, what, id string) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return v, &NotFound{what, id}
	}
	return v, err
}
