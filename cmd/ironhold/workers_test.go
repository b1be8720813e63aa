package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A database that stands still while the workers start must not end the process.
func TestWorkersThatStartLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		later bool
	}{
		{errors.New("timed out waiting for interrupt operation"), true},
		{fmt.Errorf("start: %w", &pgconn.PgError{Code: "57P01"}), true},
		{fmt.Errorf("start: %w", &pgconn.PgError{Code: "57014"}), true},
		{fmt.Errorf("start: %w", &pgconn.PgError{Code: "42501"}), false},
	} {
		if got := startsLater(c.err); got != c.later {
			t.Errorf("%v: %v, want %v", c.err, got, c.later)
		}
	}
}
