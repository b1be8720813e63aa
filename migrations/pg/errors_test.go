package pg_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

// That a server has died may be noticed only when a pooled connection is used. Whatever the driver
// makes of it then, it is no fault of the program.
func TestADeadConnectionIsADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(t *testing.T, conn *pgx.Conn, url string)
	}{
		{"closed", func(t *testing.T, conn *pgx.Conn, _ string) {
			if err := conn.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"ended by the server", func(t *testing.T, conn *pgx.Conn, url string) {
			pid := conn.PgConn().PID()
			if _, err := pgtest.Pool(t, url).Exec(t.Context(), "select pg_terminate_backend($1, 10000)", pid); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			c.end(t, conn, url)
			err = pg.Engine(t.Context(), conn, pg.By{Actor: "test"}, func(pgx.Tx) error { return nil })
			if !pg.Away(err) {
				t.Errorf("%v is not taken for a database that is away", err)
			}
		})
	}
}

// The driver says so when a failure earlier in the same operation has closed the connection; the
// failure itself is then not in the chain of causes.
func TestAnOperationOnAClosedConnectionIsADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	if err := fmt.Errorf("begin: %w", pgconn.ErrConnClosed); !pg.Away(err) || !pg.Busy(err) {
		t.Errorf("%v is not taken for a database that is away", err)
	}
}
