package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Members lists people of an organisation by name, limit of them after the one that is named; the
// zero id begins at the start.
func (d *Directory) Members(ctx context.Context, org, after uuid.UUID, limit int) (users []User, err error) {
	err = pg.Web(ctx, d.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, "select "+userColumns+` from users u
			where u.org_id = $1 and ($2::uuid is null or (u.name, u.id) > (select b.name, b.id from users b where b.id = $2 and b.org_id = $1))
			order by u.name, u.id limit $3`, org, optional(after), limit)
		if err2 != nil {
			return err2
		}
		users, err = pgx.CollectRows(rows, pgx.RowToStructByName[User])
		return err
	})
	return users, err
}

// Member finds a person of the organisation; another's answers NotFound.
func (d *Directory) Member(ctx context.Context, org, id uuid.UUID) (user User, err error) {
	err = pg.Web(ctx, d.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, "select "+userColumns+" from users u where u.id = $1 and u.org_id = $2", id, org)
		user, err = one[User](rows, err2, "user", id.String())
		return err
	})
	return user, err
}

// SetMemberRole makes a member customer or org-admin and ends their sessions: rights begin with a
// sign-in. actor is who does it.
func (d *Directory) SetMemberRole(ctx context.Context, by pg.By, org, actor, id uuid.UUID, role Role) error {
	if role != Customer && role != OrgAdmin {
		return &Invalid{"role", "must be customer or org-admin"}
	}
	return d.changeMember(ctx, by, org, id, func(tx pgx.Tx, u User) error {
		if u.Role == role {
			return nil
		}
		if err := mayLose(ctx, tx, u, actor); err != nil {
			return err
		}
		return setRole(ctx, tx, id, role)
	})
}

// setRole ends the person's sessions too: rights begin with a sign-in.
func setRole(ctx context.Context, tx pgx.Tx, id uuid.UUID, role Role) error {
	if _, err := tx.Exec(ctx, "update users set role = $2 where id = $1", id, role); err != nil {
		return err
	}
	return endSessions(ctx, tx, id)
}

// DisableMember lets nobody sign in as the member any more and ends their sessions at once. The last
// administrator stays, and nobody disables themselves.
func (d *Directory) DisableMember(ctx context.Context, by pg.By, org, actor, id uuid.UUID) error {
	return d.changeMember(ctx, by, org, id, func(tx pgx.Tx, u User) error {
		if u.DisabledAt != nil {
			return nil
		}
		if err := mayLose(ctx, tx, u, actor); err != nil {
			return err
		}
		return disable(ctx, tx, id)
	})
}

// disable ends sessions and open links too.
func disable(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	if _, err := tx.Exec(ctx, "update users set disabled_at = clock_timestamp() where id = $1", id); err != nil {
		return err
	}
	if err := revokeResets(ctx, tx, id); err != nil {
		return err
	}
	return endSessions(ctx, tx, id)
}

// EnableMember takes a disabling back.
func (d *Directory) EnableMember(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	return d.changeMember(ctx, by, org, id, func(tx pgx.Tx, _ User) error { return enable(ctx, tx, id) })
}

func enable(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	_, err := tx.Exec(ctx, "update users set disabled_at = null where id = $1 and disabled_at is not null", id)
	return err
}

// changeMember runs f with the member under the organisation's lock, so that two administrators who
// disable each other at the same moment do so one after the other.
func (d *Directory) changeMember(ctx context.Context, by pg.By, org, id uuid.UUID, f func(tx pgx.Tx, u User) error) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockOrg(ctx, tx, org); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "select "+userColumns+" from users u where u.id = $1 and u.org_id = $2 for no key update", id, org)
		u, err := one[User](rows, err, "user", id.String())
		if err != nil {
			return err
		}
		return f(tx, u)
	})
}

// mayLose refuses what would take rights from the last administrator or from the actor. The caller
// holds the organisation's lock.
func mayLose(ctx context.Context, tx pgx.Tx, u User, actor uuid.UUID) error {
	if u.ID == actor {
		return &MemberRefused{Yourself}
	}
	if u.Role != OrgAdmin || u.DisabledAt != nil {
		return nil
	}
	others := 0
	err := tx.QueryRow(ctx, `select count(*) from users
		where org_id = $1 and id <> $2 and role = 'org-admin' and disabled_at is null`, u.OrgID, u.ID).Scan(&others)
	if err == nil && others == 0 {
		err = &MemberRefused{LastAdmin}
	}
	return err
}
