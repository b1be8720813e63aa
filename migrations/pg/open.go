package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Open begins the transaction of BeginEngine and runs its first statements in the same round trip;
// each is a statement of its own. first makes them when the connection is there. With an error of
// theirs there is no transaction.
//
// Only a pool saves the round trip: a transaction inside another one, and one that a test steps
// through, begin by themselves.
func Open(ctx context.Context, db DB, by By, first func() *pgx.Batch) (pgx.Tx, error) {
	pool, ok := db.(*pgxpool.Pool)
	if !ok || ctx.Value(unbatchedKey{}) != nil {
		tx, err := BeginEngine(ctx, db, by)
		if err != nil {
			return nil, err
		}
		if err := Pipeline(ctx, tx, first()); err != nil {
			_ = tx.Rollback(context.WithoutCancel(ctx))
			return nil, err
		}
		return tx, nil
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	tx := &opened{conn: conn}
	b := &pgx.Batch{}
	b.Queue("begin isolation level read committed")
	b.Queue(`select set_config('role', 'ironhold_engine', true), set_config('enable_seqscan', 'off', true),
		set_config('app.actor', $1, true), set_config('app.request_id', $2, true)`, setting(by.Actor), setting(by.RequestID))
	b.QueuedQueries = append(b.QueuedQueries, first().QueuedQueries...)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, err
	}
	return tx, nil
}

func setting(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// Finish runs the queued statements and commits, in one round trip where tx is from Open. After an
// error of a statement the transaction is there still, aborted back to its last savepoint, and the
// error is returned as it is; any other error is one of Commit's.
func Finish(ctx context.Context, tx pgx.Tx, b *pgx.Batch) error {
	t, ok := tx.(*opened)
	if !ok {
		if err := Pipeline(ctx, tx, b); err != nil {
			return err
		}
		return Commit(ctx, tx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWait)
	defer cancel()
	b.Queue("commit").Exec(committed)
	err := t.SendBatch(ctx, b).Close()
	if err == nil {
		t.end()
		return nil
	}
	if pc := t.conn.Conn().PgConn(); !pc.IsClosed() {
		switch pc.TxStatus() {
		case 'E', 'T': // the commit was not reached
			return err
		}
	}
	t.end()
	if Code(err) != "" && !Away(err) || errors.Is(err, pgx.ErrTxCommitRollback) { // a deferred constraint
		return fmt.Errorf("commit: %w", err)
	}
	return &CommitUnknown{Cause: err}
}

func committed(tag pgconn.CommandTag) error {
	if tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// opened is a transaction of Open. It has no savepoints of the driver's.
type opened struct{ conn *pgxpool.Conn }

func (t *opened) end() {
	t.conn.Release() // a connection that is not idle is closed
	t.conn = nil
}

// Begin is not supported.
func (*opened) Begin(context.Context) (pgx.Tx, error) { return nil, errors.ErrUnsupported }

// Commit commits and gives the connection back.
func (t *opened) Commit(ctx context.Context) error {
	if t.conn == nil {
		return pgx.ErrTxClosed
	}
	defer t.end()
	tag, err := t.conn.Exec(ctx, "commit")
	if err != nil {
		return err
	}
	return committed(tag)
}

// Rollback rolls back and gives the connection back.
func (t *opened) Rollback(ctx context.Context) error {
	if t.conn == nil {
		return pgx.ErrTxClosed
	}
	defer t.end()
	_, err := t.conn.Exec(ctx, "rollback")
	return err
}

// CopyFrom is that of the connection.
func (t *opened) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, src)
}

// SendBatch is that of the connection.
func (t *opened) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, b)
}

// LargeObjects is not supported.
func (*opened) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Prepare is that of the connection.
func (t *opened) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return t.conn.Conn().Prepare(ctx, name, sql)
}

// Exec is that of the connection.
func (t *opened) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, sql, args...)
}

// Query is that of the connection.
func (t *opened) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, sql, args...)
}

// QueryRow is that of the connection.
func (t *opened) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, sql, args...)
}

// Conn is the connection.
func (t *opened) Conn() *pgx.Conn { return t.conn.Conn() }
