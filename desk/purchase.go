package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"ironhold/allocator"
	"ironhold/migrations/pg"
)

// The states of a purchase request.
const (
	Open     = "open"
	Ordered  = "ordered"
	Declined = "declined"
)

// DemandWindow is how far back refused orders count.
const DemandWindow = 30 * 24 * time.Hour

// Purchase asks for machines at a site that fulfil a request.
type Purchase struct {
	ID        uuid.UUID         `db:"id"`
	SiteCode  string            `db:"site_code"`
	Request   allocator.Request `db:"-"`
	Raw       json.RawMessage   `db:"request"`
	AttemptID *uuid.UUID        `db:"attempt_id"`
	State     string            `db:"state"`
	Note      string            `db:"note"`
	CreatedAt time.Time         `db:"created_at"`
	CreatedBy string            `db:"created_by"`
	ChangedAt time.Time         `db:"changed_at"`
	ChangedBy string            `db:"changed_by"`

	Orders int `db:"-"` // refused orders within DemandWindow that such a machine would have served
}

const selectPurchases = `select id, site_code, request, attempt_id, state, note, created_at, created_by, changed_at, changed_by
	from purchase_requests`

// PurchasePage is how many purchase requests one answer has at most.
const PurchasePage = 25

// Purchases lists the requests of a state, all for "", newest first, each with how many refused
// orders it would have served.
func (d *Desk) Purchases(ctx context.Context, state string, after uuid.UUID) (list []Purchase, more bool, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectPurchases+" where ($1 = '' or state = $1) and ($2::uuid is null or id < $2) order by id desc limit $3",
			state, pgtype.UUID{Bytes: after, Valid: after != uuid.Nil}, PurchasePage+1)
		if err != nil {
			return fmt.Errorf("purchase requests: %w", err)
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Purchase])
		if err != nil {
			return fmt.Errorf("purchase requests: %w", err)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return nil, false, err
	}
	if more = len(list) > PurchasePage; more {
		list = list[:PurchasePage]
	}
	refused, err := d.allocator.Refused(ctx, DemandWindow)
	if err != nil {
		return nil, false, err
	}
	for i := range list {
		p := &list[i]
		if err := json.Unmarshal(p.Raw, &p.Request); err != nil {
			return nil, false, fmt.Errorf("purchase request %s: %w", p.ID, err)
		}
		p.Orders = served(p.Request, p.SiteCode, refused)
	}
	return list, more, nil
}

// served counts the refused orders that a machine bought for the request would have served.
func served(r allocator.Request, site string, refused []allocator.Demand) int {
	spec, n := allocator.SpecFor(r, site), 0
	for _, d := range refused {
		if allocator.Serves(spec, d.Request) {
			n += d.Orders
		}
	}
	return n
}

// WouldServe is how many refused orders a request for purchase at a site would have served.
func (d *Desk) WouldServe(ctx context.Context, r allocator.Request, site string) (int, error) {
	refused, err := d.allocator.Refused(ctx, DemandWindow)
	return served(r, site, refused), err
}

// AddPurchase asks for machines. The same request again, while it is open, is that one.
func (d *Desk) AddPurchase(ctx context.Context, by pg.By, site string, r allocator.Request, attempt *uuid.UUID, note string) (id uuid.UUID, err error) {
	if note, err = cleanText("note", note, false); err != nil {
		return id, err
	}
	if r.Machine != "" {
		return id, &Invalid{"machine", "cannot be bought: a certain machine is there once"}
	}
	faults, err := d.allocator.Check(ctx, r)
	if err != nil {
		return id, err
	}
	if len(faults) > 0 {
		return id, &Invalid{faults[0].Field, faults[0].Message}
	}
	r.Sites = []string{site}
	raw, err := json.Marshal(r)
	if err != nil {
		return id, fmt.Errorf("purchase request: %w", err)
	}
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into purchase_requests (site_code, request, attempt_id, note) values ($1, $2, $3, $4)
			on conflict (site_code, request) where state = 'open' do nothing`, site, raw, attempt, note)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select id from purchase_requests where site_code = $1 and request = $2 and state = 'open'", site, raw).Scan(&id)
	})
	if pg.Constraint(err) == "purchase_requests_site_code_fkey" {
		return id, &Invalid{"site", "is not known"}
	}
	if err != nil {
		return id, fmt.Errorf("purchase request: %w", err)
	}
	return id, nil
}

// SetPurchase sets the state, with a note that says why. Open again is allowed unless the same is
// open already.
func (d *Desk) SetPurchase(ctx context.Context, by pg.By, id uuid.UUID, state, note string) error {
	note, err := cleanText("note", note, true)
	if err != nil {
		return err
	}
	if state != Open && state != Ordered && state != Declined {
		return &Invalid{"state", "must be open, ordered or declined"}
	}
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		var before string
		err := tx.QueryRow(ctx, "select state from purchase_requests where id = $1 for no key update", id).Scan(&before)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFound{id}
		}
		if err != nil || before == state {
			return err
		}
		_, err = tx.Exec(ctx, `update purchase_requests set state = $2, note = $3, changed_at = clock_timestamp(), changed_by = ironhold_actor()
			where id = $1`, id, state, note)
		return err
	})
	if pg.Constraint(err) == "purchase_requests_once" {
		return &Invalid{"state", "cannot be open: the same is open already"}
	}
	return err
}
