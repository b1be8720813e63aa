package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// DB is anything that begins a transaction: a pool, a connection, or a transaction (which then
// opens a savepoint), so that a whole service can run inside a test's transaction.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// By says who acts, for the history that the database keeps. Actor is "user:<id>", "token:<id>",
// "command:<name>", "sweep" or another word for a part of the system.
type By struct {
	Actor     string
	RequestID string
}

type beginner interface {
	BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error)
}

// Engine runs f in one READ COMMITTED transaction as ironhold_engine and commits. An error of f, or
// of the commit, rolls everything back and is returned as it is.
func Engine(ctx context.Context, db DB, by By, f func(tx pgx.Tx) error) error {
	return run(ctx, db, "set local role ironhold_engine"+settings(by), f)
}

// Web runs f in one READ COMMITTED transaction as ironhold_web: it sees the rows of org alone.
func Web(ctx context.Context, db DB, org uuid.UUID, by By, f func(tx pgx.Tx) error) error {
	return run(ctx, db, "set local role ironhold_web; set local app.org_id = "+quote(org.String())+settings(by), f)
}

// BeginEngine begins the transaction that Engine runs, for those who commit by themselves and probe
// single rows. Their plans do not read whole tables: plans are kept, and one that was made while a
// table was empty would be as good as any for that moment and ruinous for the rush that follows.
func BeginEngine(ctx context.Context, db DB, by By) (pgx.Tx, error) {
	return begin(ctx, db, "set local role ironhold_engine; set local enable_seqscan = off"+settings(by))
}

func run(ctx context.Context, db DB, prologue string, f func(tx pgx.Tx) error) (err error) {
	tx, err := begin(ctx, db, prologue)
	if err != nil {
		return err
	}
	defer func() {
		// The request may have been cancelled; the connection still has to be given back clean.
		rollback := context.WithoutCancel(ctx)
		if err != nil {
			_ = tx.Rollback(rollback)
		}
	}()
	if err = f(tx); err != nil {
		return err
	}
	return Commit(ctx, tx)
}

// CommitUnknown is the error of a commit whose answer was lost: it may or may not have happened.
// Who must know reads the state on another connection, after locking what the lost transaction
// had locked.
type CommitUnknown struct{ Cause error }

func (e *CommitUnknown) Error() string {
	return "the answer to the commit was lost: " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *CommitUnknown) Unwrap() error { return e.Cause }

// commitWait bounds the wait for a commit's answer; it does not end with the request, since a
// commit that was sent may happen.
const commitWait = 5 * time.Second

// Commit commits tx although ctx may be cancelled. An error that is not the server's own word is a
// *CommitUnknown.
func Commit(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWait)
	defer cancel()
	err := tx.Commit(ctx)
	switch {
	case err == nil:
		return nil
	case Code(err) != "" && !Away(err), errors.Is(err, pgx.ErrTxCommitRollback), errors.Is(err, pgx.ErrTxClosed):
		return fmt.Errorf("commit: %w", err)
	}
	return &CommitUnknown{Cause: err}
}

type unbatchedKey struct{}

// Unbatched makes Pipeline send the statements under ctx one by one, so that a test can step
// between them.
func Unbatched(ctx context.Context) context.Context {
	return context.WithValue(ctx, unbatchedKey{}, true)
}

// Pipeline runs the queued statements in one round trip; each is still a statement of its own with
// a fresh snapshot. The first error is returned as it is, and the transaction is then aborted back
// to its last savepoint.
func Pipeline(ctx context.Context, tx pgx.Tx, b *pgx.Batch) error {
	if ctx.Value(unbatchedKey{}) == nil {
		return tx.SendBatch(ctx, b).Close()
	}
	for _, q := range b.QueuedQueries {
		if err := tx.SendBatch(ctx, &pgx.Batch{QueuedQueries: []*pgx.QueuedQuery{q}}).Close(); err != nil {
			return err
		}
	}
	return nil
}

// begin opens the transaction and sets role and settings in one round trip. "set local" ends with
// the transaction, so that nothing leaks to the next user of a pooled connection.
func begin(ctx context.Context, db DB, prologue string) (pgx.Tx, error) {
	if b, ok := db.(beginner); ok {
		tx, err := b.BeginTx(ctx, pgx.TxOptions{BeginQuery: "begin isolation level read committed; " + prologue})
		if err != nil {
			return nil, fmt.Errorf("begin: %w", err)
		}
		return tx, nil
	}
	tx, err := db.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if _, err := tx.Exec(ctx, prologue); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("begin: %w", err)
	}
	return tx, nil
}

func settings(by By) string {
	s := ""
	if by.Actor != "" {
		s += "; set local app.actor = " + quote(by.Actor)
	}
	if by.RequestID != "" {
		s += "; set local app.request_id = " + quote(by.RequestID)
	}
	return s
}

// quote makes a string literal; standard_conforming_strings is set by Connect.
func quote(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
