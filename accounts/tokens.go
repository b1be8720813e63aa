package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

const (
	tokenPrefix = "ih_"
	tokenBytes  = 32
)

// tokenLength is that of the prefix and the encoded bytes.
var tokenLength = len(tokenPrefix) + base64.RawURLEncoding.EncodedLen(tokenBytes)

// Token is an API token as its owners see it: never the secret.
type Token struct {
	ID         uuid.UUID  `db:"id"`
	OrgID      *uuid.UUID `db:"org_id"`
	Name       string     `db:"name"`
	Role       Role       `db:"role"`
	CreatedAt  time.Time  `db:"created_at"`
	CreatedBy  string     `db:"created_by"`
	LastUsedAt *time.Time `db:"last_used_at"`
	RevokedAt  *time.Time `db:"revoked_at"`
}

// AddToken makes a token and gives back its secret, which is shown once: only a hash is kept.
// The secret has 256 random bits, so a plain hash of it is enough.
func (d *Directory) AddToken(ctx context.Context, by pg.By, name string, role Role, orgSlug string) (string, error) {
	name, err := cleanName(name)
	if err := first(err, checkOrgOfRole(role, orgSlug)); err != nil {
		return "", err
	}
	token := newToken()
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		org, err := orgOf(ctx, tx, orgSlug)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "insert into api_tokens (org_id, name, role, hash) values ($1, $2, $3, $4)", org, name, role, tokenHash(token))
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

func newToken() string {
	secret, _ := newSecret()
	return tokenPrefix + secret
}

// AddOrgToken is AddToken for an organisation's own administrator: a token of the organisation, with
// one of its roles, and not more than may be in use.
func (d *Directory) AddOrgToken(ctx context.Context, by pg.By, org uuid.UUID, name string, role Role) (string, error) {
	name, err := cleanName(name)
	if err == nil && role != Customer && role != OrgAdmin {
		err = &Invalid{"role", "must be customer or org-admin"}
	}
	if err != nil {
		return "", err
	}
	token := newToken()
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockOrg(ctx, tx, org); err != nil {
			return err
		}
		used := 0
		if err := tx.QueryRow(ctx, "select count(*) from api_tokens where org_id = $1 and revoked_at is null", org).Scan(&used); err != nil {
			return err
		}
		if used >= maxTokens {
			return &MemberRefused{TooMany}
		}
		_, err := tx.Exec(ctx, "insert into api_tokens (org_id, name, role, hash) values ($1, $2, $3, $4)", org, name, role, tokenHash(token))
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// ActorOfToken is whoever holds the token; Unauthenticated when it is unknown or revoked. It asks
// the database each time, so that a revocation counts at once.
func (d *Directory) ActorOfToken(ctx context.Context, token string) (Actor, error) {
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return Actor{}, tokenRefused()
	}
	hash := [sha256.Size]byte(tokenHash(token))
	found, err := d.tokens.Ask(ctx, d.actorsOfTokens, hash)
	if err != nil {
		return Actor{}, err
	}
	a, ok := found[hash]
	if !ok {
		return Actor{}, tokenRefused()
	}
	return a, nil
}

// actorsOfTokens reads those of many requests that came at the same moment.
func (d *Directory) actorsOfTokens(ctx context.Context, hashes [][sha256.Size]byte) (map[[sha256.Size]byte]Actor, error) {
	out := map[[sha256.Size]byte]Actor{}
	keys := make([][]byte, len(hashes))
	for i := range hashes {
		keys[i] = hashes[i][:]
	}
	err := d.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select t.hash, t.id, t.name, t.role, coalesce(o.id, '00000000-0000-0000-0000-000000000000'),
			       coalesce(o.slug, ''), coalesce(o.name, ''),
			       coalesce(t.last_used_at < clock_timestamp() - interval '1 minute', true)
			  from api_tokens t left join organisations o on o.id = t.org_id
			 where t.hash = any($1) and t.revoked_at is null`, keys)
		if err != nil {
			return err
		}
		var (
			hash   []byte
			a      = Actor{Kind: "token", TimeZone: "UTC"}
			stale  bool
			stales []uuid.UUID
		)
		_, err = pgx.ForEachRow(rows, []any{&hash, &a.ID, &a.Name, &a.Role, &a.OrgID, &a.OrgSlug, &a.OrgName, &stale}, func() error {
			out[[sha256.Size]byte(hash)] = a
			if stale {
				stales = append(stales, a.ID)
			}
			return nil
		})
		if err != nil || len(stales) == 0 {
			return err
		}
		// Readings at the same moment, of other processes, do not queue here: one of them writes it.
		_, err = tx.Exec(ctx, `update api_tokens set last_used_at = clock_timestamp()
			where id in (select id from api_tokens where id = any($1) order by id for no key update skip locked)`, stales)
		return err
	})
	return out, err
}

// Tokens lists the tokens of one organisation, or of staff for the zero id, newest first.
func (d *Directory) Tokens(ctx context.Context, orgID uuid.UUID) (tokens []Token, err error) {
	read := func(f func(tx pgx.Tx) error) error { return pg.Web(ctx, d.db, orgID, pg.By{}, f) }
	if orgID == uuid.Nil {
		read = func(f func(tx pgx.Tx) error) error { return d.read(ctx, f) }
	}
	err = read(func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, `select id, org_id, name, role, created_at, created_by, last_used_at, revoked_at
			from api_tokens where org_id is not distinct from $1 order by created_at desc, id desc`, optional(orgID))
		if err2 != nil {
			return err2
		}
		tokens, err = pgx.CollectRows(rows, pgx.RowToStructByName[Token])
		return err
	})
	return tokens, err
}

// RevokeToken ends a token of the organisation, or of staff for the zero id; another's answers
// NotFound. Revoking twice changes nothing.
func (d *Directory) RevokeToken(ctx context.Context, by pg.By, orgID, id uuid.UUID) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update api_tokens set revoked_at = coalesce(revoked_at, clock_timestamp())
			where id = $1 and org_id is not distinct from $2`, id, optional(orgID))
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFound{"token", id.String()}
		}
		return err
	})
}

func tokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
