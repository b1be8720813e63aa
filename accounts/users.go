package accounts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

const userColumns = "u.id, u.org_id, u.email, u.name, u.role, u.time_zone, u.language, u.disabled_at, u.signed_in_at"

// NewUser is a person to add. OrgSlug is empty for staff.
type NewUser struct {
	Email    string
	Name     string
	Role     Role
	OrgSlug  string
	Password string
	TimeZone string // UTC when empty
	Language string // of the browser when empty
}

// AddUser adds a person who can sign in at once. The password is held to the rules of one that a person
// chooses.
func (d *Directory) AddUser(ctx context.Context, by pg.By, n NewUser) (user User, err error) {
	email, emailErr := cleanEmail(n.Email)
	name, nameErr := cleanName(n.Name)
	if n.TimeZone == "" {
		n.TimeZone = "UTC"
	}
	err = first(emailErr, nameErr, checkOrgOfRole(n.Role, n.OrgSlug), checkTimeZone(n.TimeZone), checkLanguage(n.Language))
	if err == nil {
		err = d.checkFirst(ctx, n.Password, n.OrgSlug, email, name)
	}
	if err != nil {
		return User{}, err
	}
	// Before the transaction: it takes time.
	hash, err := d.hash(ctx, n.Password)
	if err != nil {
		return User{}, err
	}
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		org, err := orgOf(ctx, tx, n.OrgSlug)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `insert into users as u (org_id, email, name, role, password_hash, time_zone, language)
			values (@org, @email, @name, @role, @hash, @zone, @language) returning `+userColumns,
			pgx.StrictNamedArgs{"org": org, "email": email, "name": name, "role": n.Role, "hash": hash, "zone": n.TimeZone, "language": n.Language})
		user, err = one[User](rows, err, "user", email)
		return err
	})
	switch pg.Constraint(err) {
	case "users_email":
		return User{}, &Invalid{"email", fmt.Sprintf("%s is in use already", email)}
	case "users_email_check":
		return User{}, &Invalid{"email", "must be an address such as name@example.com"}
	}
	return user, err
}

// UserByID finds a person, or answers NotFound.
func (d *Directory) UserByID(ctx context.Context, id uuid.UUID) (user User, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, "select "+userColumns+" from users u where u.id = $1", id)
		user, err = one[User](rows, err2, "user", id.String())
		return err
	})
	return user, err
}

// Users lists the people of one organisation, or the staff for the zero id, by name.
func (d *Directory) Users(ctx context.Context, orgID uuid.UUID) (users []User, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, "select "+userColumns+` from users u
			where u.org_id is not distinct from $1 order by u.name, u.id`, optional(orgID))
		if err2 != nil {
			return err2
		}
		users, err = pgx.CollectRows(rows, pgx.RowToStructByName[User])
		return err
	})
	return users, err
}

// UserByEmail finds a person by the address they sign in with, or answers NotFound.
func (d *Directory) UserByEmail(ctx context.Context, email string) (user User, err error) {
	email, err = cleanEmail(email)
	if err != nil {
		return user, err
	}
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, "select "+userColumns+" from users u where u.email = $1", email)
		user, err = one[User](rows, err2, "user", email)
		return err
	})
	return user, err
}

// SetPassword replaces the password, by the rules of one that a person chooses, and ends all sessions of
// the person.
func (d *Directory) SetPassword(ctx context.Context, by pg.By, userID uuid.UUID, password string) error {
	user, err := d.known(ctx, userID)
	if err != nil {
		return err
	}
	if err := d.checkChosen(password, user.about()...); err != nil {
		return err
	}
	hash, err := d.hash(ctx, password)
	if err != nil {
		return err
	}
	return d.changeUser(ctx, by, userID, "update users set password_hash = $2 where id = $1", hash)
}

// SetPreferences keeps the person's time zone and language ("" for the browser's).
func (d *Directory) SetPreferences(ctx context.Context, by pg.By, userID uuid.UUID, timeZone, language string) error {
	if err := first(checkTimeZone(timeZone), checkLanguage(language)); err != nil {
		return err
	}
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "update users set time_zone = $2, language = $3 where id = $1", userID, timeZone, language)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFound{"user", userID.String()}
		}
		return err
	})
}

// SignOutEverywhere ends all sessions of the person.
func (d *Directory) SignOutEverywhere(ctx context.Context, by pg.By, userID uuid.UUID) error {
	return d.changeUser(ctx, by, userID, "select from users where id = $1 for no key update")
}

// changeUser runs one statement with the person's id as $1, and ends their sessions and open links.
func (d *Directory) changeUser(ctx context.Context, by pg.By, userID uuid.UUID, sql string, args ...any) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, append([]any{userID}, args...)...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return &NotFound{"user", userID.String()}
		}
		if err := revokeResets(ctx, tx, userID); err != nil {
			return err
		}
		return endSessions(ctx, tx, userID)
	})
}

// checkFirst is checkChosen for somebody who is not there yet; slug is their organisation's.
func (d *Directory) checkFirst(ctx context.Context, password, slug string, about ...string) error {
	about = append(about, "Ironhold")
	if slug != "" {
		org, err := d.OrgBySlug(ctx, slug)
		if err != nil {
			return err
		}
		about = append(about, org.Slug, org.Name)
	}
	return d.checkChosen(password, about...)
}

// orgOf finds the id for a slug; nil for the empty one.
func orgOf(ctx context.Context, tx pgx.Tx, slug string) (*uuid.UUID, error) {
	if slug == "" {
		return nil, nil //nolint:nilnil // staff belong to no organisation
	}
	org, err := orgBySlug(ctx, tx, slug)
	return &org.ID, err
}

func optional(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
