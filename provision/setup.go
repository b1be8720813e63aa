package provision

import (
	"context"
	"crypto/rsa"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// System is an operating system on offer.
type System struct {
	Code string `db:"code"`
	Name string `db:"name"`
}

// Systems lists what is on offer; the first is what whoever does not choose gets.
func (s *Store) Systems(ctx context.Context) (list []System, err error) {
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "select code, name from operating_systems where active order by position, code")
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[System])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("operating systems: %w", err)
	}
	return list, nil
}

// SystemName is the name of an operating system, also of one that is not on offer any more; its code when
// it is unknown.
func (s *Store) SystemName(ctx context.Context, code string) (name string, err error) {
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "select coalesce((select name from operating_systems where code = $1), $1)", code).Scan(&name)
	})
	return name, err
}

// Setup makes what is installed of a choice: the code of an operating system, "" for the first, and ids of
// the organisation's keys. The error is *Invalid with the field os or ssh_keys.
func (s *Store) Setup(ctx context.Context, org uuid.UUID, os string, keys []uuid.UUID) (holds.Setup, error) {
	systems, err := s.Systems(ctx)
	if err != nil {
		return holds.Setup{}, err
	}
	if os != "" && !slices.ContainsFunc(systems, func(v System) bool { return v.Code == os }) {
		return holds.Setup{}, &Invalid{Field: "os", Code: "not_offered", Message: "is not offered; see the list of operating systems"}
	}
	setup := holds.Setup{OS: os}
	if len(keys) == 0 {
		return setup, nil
	}
	have, err := s.Keys(ctx, org)
	if err != nil {
		return holds.Setup{}, err
	}
	for _, id := range keys {
		i := slices.IndexFunc(have, func(k Key) bool { return k.ID == id })
		if i < 0 {
			return holds.Setup{}, &Invalid{Field: "ssh_keys", Code: "unknown", Message: "names a key that the organisation does not have"}
		}
		if !slices.Contains(setup.Keys, have[i].PublicKey) {
			setup.Keys = append(setup.Keys, have[i].PublicKey)
		}
	}
	return setup, nil
}

// bits is the length of an RSA key, 0 when it cannot be told.
func bits(key ssh.PublicKey) int {
	c, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return 0
	}
	k, ok := c.CryptoPublicKey().(*rsa.PublicKey)
	if !ok {
		return 0
	}
	return k.N.BitLen()
}

// clip is the start of a text, at most n characters that can be printed.
func clip(text string, n int) string {
	out := make([]rune, 0, n)
	for _, r := range text {
		if len(out) == n {
			break
		}
		if r >= ' ' && r != 0x7f && r != 0xFFFD {
			out = append(out, r)
		}
	}
	return string(out)
}
