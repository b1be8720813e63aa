package pg_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

// TestUUIDs: identifiers, pointers to them, lists, NULL and text all come through as they are.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	pool, err := pg.Connect(t.Context(), pgtest.URL(t), pg.PoolOptions{Name: "uuids"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	a, b := uuid.New(), uuid.New()
	var (
		plain, fromText       uuid.UUID
		pointer, null, absent *uuid.UUID
		list                  []uuid.UUID
		text                  string
		none                  *uuid.UUID
	)
	absent = &a
	err = pool.QueryRow(t.Context(), "select $1::uuid, $2::uuid, $3::uuid, $4::uuid[], $1::uuid::text, $5::text::uuid, null::uuid",
		a, &b, none, []uuid.UUID{b, a}, b.String()).Scan(&plain, &pointer, &null, &list, &text, &fromText, &absent)
	if err != nil || plain != a || pointer == nil || *pointer != b || null != nil || absent != nil || text != a.String() || fromText != b ||
		!slices.Equal(list, []uuid.UUID{b, a}) {
		t.Errorf("%v %v %v %v %v %v %v, %v", plain, pointer, null, list, text, fromText, absent, err)
	}
	zero := a
	if err := pool.QueryRow(t.Context(), "select null::uuid").Scan(&zero); err != nil || zero != a {
		t.Errorf("NULL into an identifier: %v, %v", zero, err)
	}
	if err := pool.QueryRow(t.Context(), "select $1::uuid", pgx.QueryExecModeSimpleProtocol, a).Scan(&zero); err != nil || zero != a {
		t.Errorf("by the simple protocol: %v, %v", zero, err)
	}
	if err := pool.QueryRow(t.Context(), "select $1::text", a).Scan(&text); err != nil || text != a.String() {
		t.Errorf("as text: %v, %v", text, err)
	}
	_, err = pool.Exec(t.Context(), "create table t (id uuid, other uuid)")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := pool.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"id", "other"}, pgx.CopyFromRows([][]any{{a, none}, {b, &a}})); n != 2 || err != nil {
		t.Errorf("copied %d, %v", n, err)
	}
	rows, err := pool.Query(t.Context(), "select id, other from t order by other nulls first")
	if err != nil {
		t.Fatal(err)
	}
	type pair struct {
		ID    uuid.UUID  `db:"id"`
		Other *uuid.UUID `db:"other"`
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[pair])
	if err != nil || len(got) != 2 || got[0].ID != a || got[0].Other != nil || got[1].ID != b || *got[1].Other != a {
		t.Errorf("%+v, %v", got, err)
	}
}
