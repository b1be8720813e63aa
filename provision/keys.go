package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// MaxKeys is how many keys an organisation keeps, and so how many a server may get.
const MaxKeys = 50

const (
	maxKeyText = 8000
	maxKeyName = 100
	minRSA     = 2048 // bits
)

// Key is a public SSH key of an organisation.
type Key struct {
	ID          uuid.UUID `db:"id"`
	Name        string    `db:"name"`
	PublicKey   string    `db:"public_key"` // type and key, without options and comment
	Fingerprint string    `db:"fingerprint"`
	CreatedAt   time.Time `db:"created_at"`
	CreatedBy   string    `db:"created_by"`
}

// ParseKey reads one line as in authorized_keys. Options are not allowed: they would decide what runs at a
// sign-in. The error is *Invalid.
func ParseKey(text string) (key Key, err error) {
	bad := func(code, message string) (Key, error) {
		return Key{}, &Invalid{Field: "ssh_key", Code: code, Message: message}
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return bad("required", "is required: the line of a .pub file")
	case len(text) > maxKeyText:
		return bad("too_long", fmt.Sprintf("has more than %d characters", maxKeyText))
	case strings.ContainsAny(text, "\r\n"):
		if strings.Contains(text, "PRIVATE KEY") {
			return bad("private", "is a private key: never give it away; the line of the .pub file is asked for")
		}
		return bad("one_line", "has several lines; one key in one line is allowed")
	}
	public, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return bad("format", "is no public SSH key; a line such as \"ssh-ed25519 AAAA... name\" is allowed")
	}
	if len(options) > 0 {
		return bad("options", "has options before the key; the key alone is allowed")
	}
	if _, cert := public.(*ssh.Certificate); cert {
		return bad("type", "is a certificate; a public key is allowed")
	}
	switch public.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	case ssh.KeyAlgoRSA:
		if bits(public) < minRSA {
			return bad("weak", fmt.Sprintf("is an RSA key of fewer than %d bits", minRSA))
		}
	default:
		return bad("type", "is of the type "+public.Type()+"; ed25519, ecdsa and rsa are allowed")
	}
	return Key{
		Name: clip(comment, maxKeyName), PublicKey: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public))),
		Fingerprint: ssh.FingerprintSHA256(public),
	}, nil
}

// Keys lists the keys of an organisation, the oldest first.
func (s *Store) Keys(ctx context.Context, org uuid.UUID) (list []Key, err error) {
	err = pg.Web(ctx, s.db, org, pg.By{}, func(tx pgx.Tx) error {
		list, err = keysIn(ctx, tx, org)
		return err
	})
	return list, err
}

func keysIn(ctx context.Context, tx pgx.Tx, org uuid.UUID) ([]Key, error) {
	rows, err := tx.Query(ctx, `select id, name, public_key, fingerprint, created_at, created_by from ssh_keys
 where org_id = $1 and removed_at is null order by id`, org)
	if err != nil {
		return nil, fmt.Errorf("ssh keys: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Key])
}

// AddKey keeps a key for an organisation; one that it has already is returned as it is. Without a name the
// key's comment is its name. Bad input is *Invalid with the field name or ssh_key.
func (s *Store) AddKey(ctx context.Context, by pg.By, org uuid.UUID, name, text string) (Key, error) {
	key, err := ParseKey(text)
	if err != nil {
		return Key{}, err
	}
	name = strings.TrimSpace(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Key{}, &Invalid{Field: "name", Code: "text", Message: "has characters that are no text"}
	case utf8.RuneCountInString(name) > maxKeyName:
		return Key{}, &Invalid{Field: "name", Code: "too_long", Message: fmt.Sprintf("has more than %d characters", maxKeyName)}
	case name != "":
		key.Name = name
	case key.Name == "":
		key.Name = key.Fingerprint[:19]
	}
	err = pg.Engine(ctx, s.db, by, func(tx pgx.Tx) error {
		// One at a time for an organisation, so that the number counts.
		if err := holds.LockOrg(ctx, tx, org); err != nil {
			return err
		}
		have, err := keysIn(ctx, tx, org)
		if err != nil {
			return err
		}
		for _, k := range have {
			if k.Fingerprint == key.Fingerprint {
				key = k
				return nil
			}
		}
		if len(have) >= MaxKeys {
			return &Invalid{Field: "ssh_key", Code: "too_many", Message: fmt.Sprintf("would be one of more than %d; remove another first", MaxKeys)}
		}
		return tx.QueryRow(ctx, `insert into ssh_keys (org_id, name, public_key, fingerprint) values ($1, $2, $3, $4)
returning id, created_at, created_by`, org, key.Name, key.PublicKey, key.Fingerprint).Scan(&key.ID, &key.CreatedAt, &key.CreatedBy)
	})
	if err != nil {
		return Key{}, err
	}
	s.onChange()
	return key, nil
}

// RemoveKey forgets a key. Servers that were set up with it keep it. Removing again does nothing; another
// organisation's is Refused with NotFound.
func (s *Store) RemoveKey(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	err := pg.Engine(ctx, s.db, by, func(tx pgx.Tx) error {
		var removed bool
		err := tx.QueryRow(ctx, "select removed_at is not null from ssh_keys where id = $1 and org_id = $2 for no key update", id, org).Scan(&removed)
		if errors.Is(err, pgx.ErrNoRows) {
			return &Refused{Kind: NotFound, Detail: "no such key"}
		}
		if err != nil || removed {
			return err
		}
		_, err = tx.Exec(ctx, "update ssh_keys set removed_at = clock_timestamp() where id = $1 and removed_at is null", id)
		return err
	})
	if err == nil {
		s.onChange()
	}
	return err
}
