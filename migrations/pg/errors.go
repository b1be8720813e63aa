package pg

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that the application acts upon.
const (
	CodeUniqueViolation      = "23505"
	CodeCheckViolation       = "23514"
	CodeExclusionViolation   = "23P01"
	CodeForeignKeyViolation  = "23503"
	CodeSerializationFailure = "40001"
	CodeDeadlockDetected     = "40P01"
	CodeLockNotAvailable     = "55P03"
	CodeQueryCanceled        = "57014"
)

// Constraint returns the name of the constraint that the server reported, looking through the
// whole chain of causes, or "".
func Constraint(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.ConstraintName
	}
	return ""
}

// Code returns the SQLSTATE in the chain of causes, or "".
func Code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// Busy reports whether err means "not now, the same request may succeed later": a lock not
// obtained in time, a deadlock, a serialization failure, or a server that cannot be reached.
func Busy(err error) bool {
	switch Code(err) {
	case CodeSerializationFailure, CodeDeadlockDetected, CodeLockNotAvailable, CodeQueryCanceled:
		return true
	}
	return Away(err)
}

// Away reports whether err means that the server cannot be reached, is shutting down or is
// starting, or that no connection was free in time.
func Away(err error) bool {
	if err == nil {
		return false
	}
	// Whatever a server says to a connection that it does not take: starting, full, of the wrong kind.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if code := Code(err); code != "" {
		switch code[:2] {
		case "08", "53", "57", "58":
			return code != CodeQueryCanceled
		}
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err) || isClosed(err)
}

func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
