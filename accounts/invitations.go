package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// How long one-use links can be used.
const (
	InvitationLife = 7 * 24 * time.Hour
	ResetLife      = time.Hour
)

// So many invitations of one organisation may be open, so many of its tokens in use.
const (
	maxOpenInvitations = 100
	maxTokens          = 100
)

// Invitation asks somebody into an organisation, or to the staff.
type Invitation struct {
	ID        uuid.UUID  `db:"id"`
	OrgID     *uuid.UUID `db:"org_id"` // nil for staff
	OrgSlug   string     `db:"org_slug"`
	OrgName   string     `db:"org_name"`
	Email     string     `db:"email"`
	Role      Role       `db:"role"`
	CreatedAt time.Time  `db:"created_at"`
	CreatedBy string     `db:"created_by"`
	ExpiresAt time.Time  `db:"expires_at"`
	Expired   bool       `db:"expired"` // by the database's clock
}

const selectInvitation = `select i.id, i.org_id, coalesce(o.slug, '') as org_slug, coalesce(o.name, '') as org_name, i.email, i.role,
	i.created_at, i.created_by, i.expires_at, i.expires_at <= clock_timestamp() as expired
	from invitations i left join organisations o on o.id = i.org_id`

// openInvitation is true for those that may be shown: open ones, and for thirty days those that were
// never used, so that they can be renewed.
const openInvitation = `i.accepted_at is null and i.revoked_at is null and i.expires_at > clock_timestamp() - interval '30 days'`

// Invite makes an invitation and gives back its secret, which is shown once: only a hash is kept. An
// earlier open one of the same address ends. Whether the address has an account elsewhere is not
// told here: only whoever opens the link learns it.
func (d *Directory) Invite(ctx context.Context, by pg.By, org uuid.UUID, email string, role Role) (secret string, inv Invitation, err error) {
	if role != Customer && role != OrgAdmin {
		return "", inv, &Invalid{"role", "must be customer or org-admin"}
	}
	return d.invite(ctx, by, &org, email, role, mayInvite)
}

// invite makes an invitation into the organisation, or to the staff for nil, if may says nothing
// against it under the lock.
func (d *Directory) invite(ctx context.Context, by pg.By, org *uuid.UUID, email string, role Role,
	may func(ctx context.Context, tx pgx.Tx, org *uuid.UUID, email string) error,
) (secret string, inv Invitation, err error) {
	email, err = cleanEmail(email)
	if err != nil {
		return "", inv, err
	}
	secret, hash := newSecret()
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockInvitations(ctx, tx, org); err != nil {
			return err
		}
		if err := may(ctx, tx, org, email); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update invitations set revoked_at = clock_timestamp()
			where org_id is not distinct from $1 and email = $2 and accepted_at is null and revoked_at is null`, org, email)
		if err != nil {
			return err
		}
		var id uuid.UUID
		err = tx.QueryRow(ctx, `insert into invitations (org_id, email, role, token_hash, expires_at)
			values ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5)) returning id`,
			org, email, role, hash, InvitationLife.Seconds()).Scan(&id)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectInvitation+" where i.id = $1", id)
		if inv, err = one[Invitation](rows, err, "invitation", id.String()); err != nil {
			return err
		}
		return d.linkMade(ctx, tx, Link{Kind: "invitation", ID: id, OrgID: org, Email: email, Secret: secret})
	})
	if pg.Constraint(err) == "invitations_email_check" {
		err = &Invalid{"email", "must be an address such as name@example.com"}
	}
	if err != nil {
		return "", Invitation{}, err
	}
	return secret, inv, nil
}

// lockInvitations lets invitations into one organisation, or to the staff for nil, be made one after the
// other.
func lockInvitations(ctx context.Context, tx pgx.Tx, org *uuid.UUID) error {
	if org != nil {
		return lockOrg(ctx, tx, *org)
	}
	_, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('ironhold_staff_invitations', 0))")
	return err
}

func mayInvite(ctx context.Context, tx pgx.Tx, org *uuid.UUID, email string) error {
	var member bool
	var open int
	err := tx.QueryRow(ctx, `select exists (select from users where org_id is not distinct from $1 and email = $2),
		(select count(*) from invitations where org_id is not distinct from $1 and email <> $2 and accepted_at is null and revoked_at is null
		    and expires_at > clock_timestamp())`, org, email).Scan(&member, &open)
	switch {
	case err != nil:
		return err
	case member:
		return &MemberRefused{IsMember}
	case open >= maxOpenInvitations:
		return &MemberRefused{TooMany}
	}
	return nil
}

// Invitations lists the open invitations of the organisation, the newest first; those that have
// expired stay for thirty days, so that they can be renewed.
func (d *Directory) Invitations(ctx context.Context, org uuid.UUID) (list []Invitation, err error) {
	err = pg.Web(ctx, d.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectInvitation+" where i.org_id = $1 and "+openInvitation+" order by i.id desc limit $2", org, 2*maxOpenInvitations)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Invitation])
		return err
	})
	return list, err
}

// RevokeInvitation ends an open invitation of the organisation; another's answers NotFound, one that
// was accepted or revoked before is left as it is.
func (d *Directory) RevokeInvitation(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	return d.revokeInvitation(ctx, by, id, " and org_id = $2", org)
}

func (d *Directory) revokeInvitation(ctx context.Context, by pg.By, id uuid.UUID, and string, args ...any) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update invitations
			set revoked_at = case when accepted_at is null then coalesce(revoked_at, clock_timestamp()) end
			where id = $1`+and, append([]any{id}, args...)...)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFound{"invitation", id.String()}
		}
		return err
	})
}

// InvitationBy finds the open invitation of a secret, or answers a *LinkEnded.
func (d *Directory) InvitationBy(ctx context.Context, secret string) (inv Invitation, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		inv, err = invitationBy(ctx, tx, secret, "")
		return err
	})
	return inv, err
}

func invitationBy(ctx context.Context, tx pgx.Tx, secret, lock string) (inv Invitation, err error) {
	var accepted, revoked bool
	err = tx.QueryRow(ctx, `select i.id, i.accepted_at is not null, i.revoked_at is not null
		from invitations i where i.token_hash = $1`+lock, tokenHash(secret)).Scan(&inv.ID, &accepted, &revoked)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return inv, &LinkEnded{LinkUnknown}
	case err != nil:
		return inv, err
	case accepted:
		return inv, &LinkEnded{LinkUsed}
	case revoked:
		return inv, &LinkEnded{LinkRevoked}
	}
	rows, err := tx.Query(ctx, selectInvitation+" where i.id = $1", inv.ID)
	inv, err = one[Invitation](rows, err, "invitation", inv.ID.String())
	if err == nil && inv.Expired {
		err = &LinkEnded{LinkExpired}
	}
	return inv, err
}

// Newcomer is what somebody says who accepts an invitation. Address, role and organisation are the
// invitation's.
type Newcomer struct {
	Name, Password     string
	TimeZone, Language string // as in NewUser
}

// Accept makes the person that an invitation asked for, who is signed in by it; the secret works once. The answer may be a
// *LinkEnded, an *Invalid (also for the e-mail address, when it has an account already) or a
// *WeakPassword.
func (d *Directory) Accept(ctx context.Context, requestID, secret string, n Newcomer) (user User, err error) {
	inv, err := d.InvitationBy(ctx, secret)
	if err != nil {
		return User{}, err
	}
	if n.TimeZone == "" {
		n.TimeZone = "UTC"
	}
	name, nameErr := cleanName(n.Name)
	err = first(nameErr, checkTimeZone(n.TimeZone), checkLanguage(n.Language))
	if err == nil {
		err = d.checkFirst(ctx, n.Password, inv.OrgSlug, inv.Email, name)
	}
	if err != nil {
		return User{}, err
	}
	hash, err := d.hash(ctx, n.Password)
	if err != nil {
		return User{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return User{}, err
	}
	err = pg.Engine(ctx, d.db, Actor{Kind: "user", ID: id}.By(requestID), func(tx pgx.Tx) error {
		// As it is now: it may have been used or revoked meanwhile.
		if inv, err = invitationBy(ctx, tx, secret, " for no key update"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `insert into users as u (id, org_id, email, name, role, password_hash, time_zone, language, signed_in_at)
			values (@id, @org, @email, @name, @role, @hash, @zone, @language, clock_timestamp()) returning `+userColumns,
			pgx.StrictNamedArgs{
				"id": id, "org": inv.OrgID, "email": inv.Email, "name": name, "role": inv.Role, "hash": hash, "zone": n.TimeZone, "language": n.Language,
			})
		if user, err = one[User](rows, err, "user", inv.Email); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "update invitations set accepted_at = clock_timestamp(), user_id = $2 where id = $1", inv.ID, id)
		return err
	})
	if pg.Constraint(err) == "users_email" {
		err = &Invalid{"email", fmt.Sprintf("%s has an account already", inv.Email)}
	}
	return user, err
}

// newSecret makes the secret of a one-use link and what is kept of it. It has 256 random bits, so a
// plain hash is enough.
func newSecret() (secret string, hash []byte) {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	secret = base64.RawURLEncoding.EncodeToString(b[:])
	return secret, tokenHash(secret)
}
