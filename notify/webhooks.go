package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/notify/outbound"
	"ironhold/notify/sign"
)

const (
	// MaxEndpoints is how many an organisation may have.
	MaxEndpoints = 10
	// OverlapLife is how long messages are still signed with the secret before the present one too.
	OverlapLife = 24 * time.Hour
	// maxDescription is in characters.
	maxDescription = 200
)

// Endpoint is where an organisation is told. The secret is not part of it: it is given once, by the
// call that made it.
type Endpoint struct {
	ID             uuid.UUID  `db:"id"`
	OrgID          uuid.UUID  `db:"org_id"`
	URL            string     `db:"url"`
	Description    string     `db:"description"`
	Holds          bool       `db:"holds"`    // wants events of holds
	Services       bool       `db:"services"` // and of services
	CreatedAt      time.Time  `db:"created_at"`
	CreatedBy      string     `db:"created_by"`
	RotatedAt      *time.Time `db:"rotated_at"`
	OldSecretUntil *time.Time `db:"old_secret_until"` // ahead: the secret before still signs too
	DisabledAt     *time.Time `db:"disabled_at"`
	DisabledWhy    string     `db:"disabled_why"` // admin, or gone: the receiver said 410
	Open           int        `db:"open"`         // deliveries that are still tried
	Failed         int        `db:"failed"`       // of the last seven days, given up
	LastAt         *time.Time `db:"last_at"`      // of the last attempt
	LastOK         *bool      `db:"last_ok"`
}

const selectEndpoint = `
select e.id, e.org_id, e.url, e.description, e.holds, e.services, e.created_at, e.created_by, e.rotated_at,
       case when e.old_secret_until > clock_timestamp() then e.old_secret_until end as old_secret_until,
       e.disabled_at, e.disabled_why, n.open, n.failed, l.attempted_at as last_at, l.state = 'delivered' as last_ok
  from webhook_endpoints e
 cross join lateral (
   select count(*) filter (where d.state in ('waiting', 'queued')) as open,
          count(*) filter (where d.state = 'failed' and d.created_at > clock_timestamp() - interval '7 days') as failed
     from webhook_deliveries d where d.endpoint_id = e.id) n
  left join lateral (
   select d.attempted_at, d.state from webhook_deliveries d
    where d.endpoint_id = e.id and d.attempted_at is not null order by d.attempted_at desc limit 1) l on true
 where e.org_id = $1 and e.removed_at is null`

// NewEndpoint is what somebody says of a new one.
type NewEndpoint struct {
	URL, Description string
	Holds, Services  bool
}

// Fault says which field of a new endpoint cannot be used, and why: one of outbound's reasons,
// "taken", "long" or "nothing".
type Fault struct{ Field, Why string }

// Invalid lists everything that is wrong with a new endpoint.
type Invalid struct{ Faults []Fault }

func (e *Invalid) Error() string { return fmt.Sprintf("the endpoint cannot be used: %v", e.Faults) }

// check finds every fault that can be seen without the database.
func (n NewEndpoint) check(client *outbound.Client) (faults []Fault) {
	if _, err := client.CheckURL(n.URL); err != nil {
		faults = append(faults, Fault{"url", string(outbound.Why(err))})
	}
	if utf8.RuneCountInString(n.Description) > maxDescription || !utf8.ValidString(n.Description) ||
		strings.ContainsFunc(n.Description, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		faults = append(faults, Fault{"description", "long"})
	}
	if !n.Holds && !n.Services {
		faults = append(faults, Fault{"events", "nothing"})
	}
	return faults
}

// NotFound says that the organisation has no such endpoint or delivery.
type NotFound struct{ What, ID string }

func (e *NotFound) Error() string { return "no " + e.What + " " + e.ID }

// TooMany says that the organisation has as many endpoints as it may.
type TooMany struct{ Limit int }

func (e *TooMany) Error() string { return fmt.Sprintf("at most %d endpoints", e.Limit) }

// Webhooks is what administrators do with the endpoints of their organisation.
type Webhooks struct {
	db     pg.DB
	client *outbound.Client
}

// NewWebhooks makes it; client decides which addresses are taken.
func NewWebhooks(db pg.DB, client *outbound.Client) *Webhooks {
	return &Webhooks{db: db, client: client}
}

// Endpoints lists those of the organisation, the oldest first.
func (w *Webhooks) Endpoints(ctx context.Context, org uuid.UUID) (list []Endpoint, err error) {
	err = pg.Web(ctx, w.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectEndpoint+" order by e.id", org)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Endpoint])
		return err
	})
	return list, err
}

// Endpoint reads one; another organisation's is a *NotFound.
func (w *Webhooks) Endpoint(ctx context.Context, org, id uuid.UUID) (e Endpoint, err error) {
	err = pg.Web(ctx, w.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectEndpoint+" and e.id = $2", org, id)
		e, err = one[Endpoint](rows, err2, "endpoint", id)
		return err
	})
	return e, err
}

// Add takes an endpoint in and gives its secret, which nobody can read a second time. The answer may
// be an *Invalid or a *TooMany.
func (w *Webhooks) Add(ctx context.Context, by pg.By, org uuid.UUID, n NewEndpoint) (id uuid.UUID, secret sign.Secret, err error) {
	n.URL, n.Description = strings.TrimSpace(n.URL), strings.TrimSpace(n.Description)
	if faults := n.check(w.client); len(faults) > 0 {
		return id, nil, &Invalid{faults}
	}
	secret = sign.NewSecret()
	err = pg.Engine(ctx, w.db, by, func(tx pgx.Tx) error {
		// The organisation's row makes the count and the insert one.
		if _, err := tx.Exec(ctx, "select from org_limits where org_id = $1 for no key update", org); err != nil {
			return err
		}
		var have int
		if err := tx.QueryRow(ctx, "select count(*) from webhook_endpoints where org_id = $1 and removed_at is null", org).Scan(&have); err != nil {
			return err
		}
		if have >= MaxEndpoints {
			return &TooMany{MaxEndpoints}
		}
		return tx.QueryRow(ctx, `insert into webhook_endpoints (org_id, url, description, holds, services, secret)
			values ($1, $2, $3, $4, $5, $6) returning id`, org, n.URL, n.Description, n.Holds, n.Services, []byte(secret)).Scan(&id)
	})
	if pg.Constraint(err) == "webhook_endpoints_url" {
		err = &Invalid{[]Fault{{"url", "taken"}}}
	}
	if err != nil {
		return uuid.Nil, nil, err
	}
	return id, secret, nil
}

// Rotate gives the endpoint a new secret. Until the time that is answered, messages are signed with
// the one before too; one that was still so used ends at once.
func (w *Webhooks) Rotate(ctx context.Context, by pg.By, org, id uuid.UUID) (secret sign.Secret, until time.Time, err error) {
	secret = sign.NewSecret()
	err = w.change(ctx, by, org, id, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `update webhook_endpoints
			set secret = $2, old_secret = secret, rotated_at = clock_timestamp(),
			    old_secret_until = clock_timestamp() + make_interval(secs => $3)
			where id = $1 returning old_secret_until`, id, []byte(secret), OverlapLife.Seconds()).Scan(&until)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return secret, until, nil
}

// Disable stops deliveries; what is under way is dropped. It is no error when it is disabled already.
func (w *Webhooks) Disable(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	return w.change(ctx, by, org, id, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "update webhook_endpoints set disabled_at = clock_timestamp(), disabled_why = 'admin' where id = $1 and disabled_at is null", id)
		return err
	})
}

// Enable takes deliveries up again, of what happens from now on.
func (w *Webhooks) Enable(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	return w.change(ctx, by, org, id, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "update webhook_endpoints set disabled_at = null, disabled_why = '' where id = $1", id)
		return err
	})
}

// Remove ends an endpoint and overwrites its secrets; its deliveries are seen no more.
func (w *Webhooks) Remove(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	return w.change(ctx, by, org, id, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update webhook_endpoints set removed_at = clock_timestamp(), secret = $2, old_secret = null, old_secret_until = null
			where id = $1`, id, []byte(sign.NewSecret()))
		return err
	})
}

// Test sends a message that says nothing happened.
func (w *Webhooks) Test(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	return w.change(ctx, by, org, id, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into webhook_messages (org_id, kind, subject_id, event, endpoint_id) values ($1, 'test', $2, 'test', $2)`, org, id)
		return err
	})
}

// change locks the endpoint of the organisation and runs f.
func (w *Webhooks) change(ctx context.Context, by pg.By, org, id uuid.UUID, f func(tx pgx.Tx) error) error {
	return pg.Engine(ctx, w.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "select from webhook_endpoints where id = $1 and org_id = $2 and removed_at is null for no key update", id, org)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return &NotFound{"endpoint", id.String()}
		}
		return f(tx)
	})
}

// one collects exactly one row; none is a *NotFound.
func one[T any](rows pgx.Rows, err error, what string, id uuid.UUID) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return zero, &NotFound{what, id.String()}
	}
	return v, err
}
