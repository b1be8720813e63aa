package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Person is somebody who signs in, with their organisation: what operators look after.
type Person struct {
	User
	OrgSlug string `db:"org_slug"` // empty for staff
	OrgName string `db:"org_name"`
}

const selectPerson = "select " + userColumns + `, coalesce(o.slug, '') as org_slug, coalesce(o.name, '') as org_name
	from users u left join organisations o on o.id = u.org_id`

// PeopleFilter selects a page of people, by name.
type PeopleFilter struct {
	Staff bool      // those who belong to no organisation
	Text  string    // part of a name or an address
	After uuid.UUID // the last one of the page before; zero for the first page
	Limit int
}

// People lists people of every organisation, and staff.
func (d *Directory) People(ctx context.Context, f PeopleFilter) (list []Person, err error) {
	text := strings.TrimSpace(f.Text)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, nil
	}
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectPerson+`
			where (not $1 or u.org_id is null)
			  and ($2 = '' or position(lower($2) in lower(u.name)) > 0 or position(lower($2) in u.email) > 0)
			  and ($3::uuid is null or (u.name, u.id) > (select b.name, b.id from users b where b.id = $3))
			order by u.name, u.id limit $4`, f.Staff, text, optional(f.After), f.Limit)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Person])
		return err
	})
	return list, err
}

// Person finds anybody, or answers NotFound.
func (d *Directory) Person(ctx context.Context, id uuid.UUID) (p Person, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectPerson+" where u.id = $1", id)
		p, err = one[Person](rows, err2, "user", id.String())
		return err
	})
	return p, err
}

// InvitePerson is Invite by an operator: into the organisation of that slug, or to the staff when it is
// empty. That somebody has the address already is told.
func (d *Directory) InvitePerson(ctx context.Context, by pg.By, slug, email string, role Role) (secret string, inv Invitation, err error) {
	if err := checkOrgOfRole(role, slug); err != nil {
		return "", inv, err
	}
	var org *uuid.UUID
	if slug != "" {
		o, err := d.OrgBySlug(ctx, slug)
		if missing, ok := errors.AsType[*NotFound](err); ok {
			return "", inv, &Invalid{"org", missing.Error()}
		}
		if err != nil {
			return "", inv, err
		}
		org = &o.ID
	}
	return d.invite(ctx, by, org, email, role, func(ctx context.Context, tx pgx.Tx, org *uuid.UUID, email string) error {
		var taken bool
		err := tx.QueryRow(ctx, "select exists (select from users where email = $1)", email).Scan(&taken)
		switch {
		case err != nil:
			return err
		case taken:
			return &MemberRefused{HasAccount}
		}
		return mayInvite(ctx, tx, org, email)
	})
}

// AllInvitations lists the open invitations to the staff and into every organisation, the newest first.
func (d *Directory) AllInvitations(ctx context.Context, staff bool, limit int) (list []Invitation, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectInvitation+" where (not $1 or i.org_id is null) and "+openInvitation+" order by i.id desc limit $2", staff, limit)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Invitation])
		return err
	})
	return list, err
}

// RevokeAnyInvitation is RevokeInvitation for any organisation's and the staff's.
func (d *Directory) RevokeAnyInvitation(ctx context.Context, by pg.By, id uuid.UUID) error {
	return d.revokeInvitation(ctx, by, id, "")
}

// SetPersonRole gives somebody another role and ends their sessions. Staff stay staff, and members stay
// in their organisation: what they did stands in its history. actor is who does it; nobody changes
// themselves, and the last operator stays (*MemberRefused).
func (d *Directory) SetPersonRole(ctx context.Context, by pg.By, actor, id uuid.UUID, role Role) error {
	return d.changePerson(ctx, by, actor, id, func(tx pgx.Tx, u User) error {
		if role.Staff() != (u.OrgID == nil) || !slices.Contains(Roles(), role) {
			allowed := "must be customer or org-admin"
			if u.OrgID == nil {
				allowed = "must be sales or operator"
			}
			return &Invalid{"role", allowed}
		}
		if u.Role == role {
			return nil
		}
		return setRole(ctx, tx, id, role)
	})
}

// DisablePerson lets nobody sign in as them any more, and ends sessions and open links. Disabling twice
// is no error. An organisation may be left without an administrator: an operator can invite another.
func (d *Directory) DisablePerson(ctx context.Context, by pg.By, actor, id uuid.UUID) error {
	return d.changePerson(ctx, by, actor, id, func(tx pgx.Tx, u User) error {
		if u.DisabledAt != nil {
			return nil
		}
		return disable(ctx, tx, id)
	})
}

// EnablePerson takes a disabling back.
func (d *Directory) EnablePerson(ctx context.Context, by pg.By, id uuid.UUID) error {
	return d.changePerson(ctx, by, uuid.Nil, id, func(tx pgx.Tx, _ User) error { return enable(ctx, tx, id) })
}

// AddPersonReset is AddReset for anybody.
func (d *Directory) AddPersonReset(ctx context.Context, by pg.By, actor, id uuid.UUID) (secret string, until time.Time, err error) {
	err = d.changePerson(ctx, by, actor, id, func(tx pgx.Tx, u User) error {
		if u.DisabledAt != nil {
			return &MemberRefused{IsDisabled}
		}
		secret, until, err = d.newReset(ctx, tx, Link{OrgID: u.OrgID, UserID: &id, Email: u.Email})
		return err
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return secret, until, nil
}

// changePerson runs f with the person, under the lock of their organisation if they have one.
func (d *Directory) changePerson(ctx context.Context, by pg.By, actor, id uuid.UUID, f func(tx pgx.Tx, u User) error) error {
	if id == actor {
		return &MemberRefused{Yourself}
	}
	err := pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		// Nobody changes organisations, so that it can be read before its lock. The lock of the staff is the
		// trigger's, after the row: the other way round would meet plain SQL in a deadlock.
		var org *uuid.UUID
		err := tx.QueryRow(ctx, "select org_id from users where id = $1", id).Scan(&org)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFound{"user", id.String()}
		}
		if err == nil && org != nil {
			err = lockOrg(ctx, tx, *org)
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "select "+userColumns+" from users u where u.id = $1 for no key update", id)
		u, err := one[User](rows, err, "user", id.String())
		if err != nil {
			return err
		}
		return f(tx, u)
	})
	if pg.Constraint(err) == "users_last_operator" {
		err = &MemberRefused{LastOne}
	}
	return err
}

// PersonHistory lists what happened to somebody's account, the newest first.
func (d *Directory) PersonHistory(ctx context.Context, id uuid.UUID, limit int) ([]HistoryEntry, error) {
	return d.accountEvents(ctx, "subject_id = $1", limit, id)
}

// StaffHistory lists what happened to staff, their invitations and tokens, the newest first.
func (d *Directory) StaffHistory(ctx context.Context, limit int) ([]HistoryEntry, error) {
	return d.accountEvents(ctx, "org_id is null", limit)
}

func (d *Directory) accountEvents(ctx context.Context, where string, limit int, args ...any) (list []HistoryEntry, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, fmt.Sprintf(`select at, subject as kind, subject_id, subject_name as subject, event, actor, before, after, 'account:' || id as key
			from account_events where %s order by at desc, id desc limit %d`, where, limit), args...)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[HistoryEntry])
		return err
	})
	return list, err
}
