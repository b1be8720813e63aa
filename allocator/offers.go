package allocator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
)

// OfferQuery selects and sorts offers. Org marks what that organisation holds and rents.
type OfferQuery struct {
	Org     uuid.UUID
	Request Request // the constraints; Machine is not used
	Sort    string  // one of Sorts, "" for price
}

// Offer is a machine class with how its machines stand. Free = ready, not live-held, not in
// service; Total counts every machine that is not retired.
type Offer struct {
	Class     fleet.Class
	Free      int
	Held      int
	InService int
	Total     int
	YouHold   int
	YouRent   int

	YourHolds    []uuid.UUID // the live holds that YouHold counts
	YourServices []uuid.UUID // the active services that YouRent counts
	Tag          string      // of ClassOffers: the asset tag when it is a single machine
	NextFreeAt   *time.Time  // of ClassOffers: when the first live hold ends
}

// Offers is a list of offers as of a time of the database.
type Offers struct {
	Items []Offer
	AsOf  time.Time
}

// sorts order offers; what remains equal goes by price, then by class. Prices are compared within a
// currency alone: one currency comes after the other.
var sorts = map[string]func(a, b *Offer) int{
	"price": func(a, b *Offer) int {
		return cmp.Or(cmp.Compare(a.Class.Currency, b.Class.Currency), cmp.Compare(a.Class.PriceMonthMinor, b.Class.PriceMonthMinor))
	},
	"-price": func(a, b *Offer) int {
		return cmp.Or(cmp.Compare(a.Class.Currency, b.Class.Currency), cmp.Compare(b.Class.PriceMonthMinor, a.Class.PriceMonthMinor))
	},
	"ram":    func(a, b *Offer) int { return cmp.Compare(a.Class.RAMGB, b.Class.RAMGB) },
	"-ram":   func(a, b *Offer) int { return cmp.Compare(b.Class.RAMGB, a.Class.RAMGB) },
	"cores":  func(a, b *Offer) int { return cmp.Compare(a.Class.Cores, b.Class.Cores) },
	"-cores": func(a, b *Offer) int { return cmp.Compare(b.Class.Cores, a.Class.Cores) },
	"free":   func(a, b *Offer) int { return cmp.Compare(a.Free, b.Free) },
	"-free":  func(a, b *Offer) int { return cmp.Compare(b.Free, a.Free) },
	"site":   func(a, b *Offer) int { return cmp.Compare(a.Class.SiteCode, b.Class.SiteCode) },
}

// Sorts lists the ways in which offers may be sorted.
func Sorts() []string {
	return []string{"price", "-price", "ram", "-ram", "cores", "-cores", "free", "-free", "site"}
}

const selectYours = `
select m.class_id, coalesce(array_agg(x.id order by x.id) filter (where x.hold), '{}'),
       coalesce(array_agg(x.id order by x.id) filter (where not x.hold), '{}')
  from (select id, machine_id, true as hold from holds where org_id = $1 and state = 'held' and expires_at > clock_timestamp()
        union all
        select id, machine_id, false from services where org_id = $1 and ended_at is null) x
  join machines m on m.id = x.machine_id
 group by 1`

// yours are an organisation's holds and services of each class.
type yours map[int][2][]uuid.UUID

func (a *Allocator) yours(ctx context.Context, tx pgx.Tx, org uuid.UUID) (yours, error) {
	out := yours{}
	if org == uuid.Nil {
		return out, nil
	}
	rows, err := tx.Query(ctx, selectYours, org)
	if err != nil {
		return nil, fmt.Errorf("offers: %w", err)
	}
	var class int
	var held, rented []uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&class, &held, &rented}, func() error {
		out[class] = [2][]uuid.UUID{slices.Clone(held), slices.Clone(rented)}
		return nil
	})
	return out, err
}

func (y yours) mark(o *Offer) {
	of := y[o.Class.ID]
	o.YourHolds, o.YourServices = of[0], of[1]
	o.YouHold, o.YouRent = len(of[0]), len(of[1])
}

// Offers lists the classes that fit, with their counts. A class whose machines are all retired is
// left out.
func (a *Allocator) Offers(ctx context.Context, q OfferQuery) (Offers, error) {
	var l *fleetLook
	var mine yours
	began := time.Now() //nolint:forbidigo // the age of a copy in this process
	err := a.reading(ctx, func(tx pgx.Tx) (err error) {
		if l, err = a.lookAt(ctx, tx, uuid.Nil, a.opt.Policy, ""); err != nil {
			return err
		}
		mine, err = a.yours(ctx, tx, q.Org)
		return err
	})
	if err != nil {
		return Offers{}, err
	}
	a.lastLook.Store(&datedLook{l, began})
	return l.offers(q, mine), nil
}

// datedLook is a look with when it began by this process's monotonic clock.
type datedLook struct {
	*fleetLook
	began time.Time
}

// LastOffers is what the last Offers of this process read, for when the database is away, with its
// age; false when nothing was read yet. It marks nothing as an organisation's own, and it is never
// the reason for a refusal.
func (a *Allocator) LastOffers(q OfferQuery) (list Offers, age time.Duration, ok bool) {
	l := a.lastLook.Load()
	if l == nil {
		return Offers{}, 0, false
	}
	return l.offers(q, nil), time.Since(l.began), true //nolint:forbidigo // see Offers
}

func (l *fleetLook) offers(q OfferQuery, mine yours) Offers {
	out := Offers{Items: fold(&q.Request, l.groups, l.cat), AsOf: l.asOf}
	for i := range out.Items {
		mine.mark(&out.Items[i])
	}
	order := sorts[q.Sort]
	if order == nil {
		order = sorts["price"]
	}
	slices.SortFunc(out.Items, func(x, y Offer) int {
		return cmp.Or(order(&x, &y), sorts["price"](&x, &y), cmp.Compare(x.Class.ID, y.Class.ID))
	})
	return out
}

// fold adds the groups of each fitting class up.
func fold(r *Request, gs []group, cat *catalogue) []Offer {
	byClass := map[int]*Offer{}
	var class fleet.Class
	for i := range gs {
		g := &gs[i]
		if !cat.fill(g.ClassID, &class) || g.Status == string(fleet.Retired) || !fits(r, &class.Spec) {
			continue
		}
		o := byClass[g.ClassID]
		if o == nil {
			o = &Offer{Class: class}
			byClass[g.ClassID] = o
		}
		o.count(g.Count, g.InService, g.Held, g.Status == string(fleet.Ready))
	}
	out := make([]Offer, 0, len(byClass))
	for _, o := range byClass {
		out = append(out, *o)
	}
	return out
}

// count adds n machines that stand alike.
func (o *Offer) count(n int, inService, held, ready bool) {
	o.Total += n
	switch {
	case inService:
		o.InService += n
	case held:
		o.Held += n
	case ready:
		o.Free += n
	}
}
