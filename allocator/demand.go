package allocator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
)

// Demand is what was asked for and could not be given: one request with how often it was refused
// for want of a machine.
type Demand struct {
	Request Request
	Orders  int // refused orders
	Orgs    int // organisations that made them
	Last    time.Time
}

// maxDemand bounds the different requests that one answer carries, the most frequent first.
const maxDemand = 5000

// Refused adds up the orders of the time before now that were refused because nothing was left, or
// everything was held, by what they asked for.
func (a *Allocator) Refused(ctx context.Context, before time.Duration) ([]Demand, error) {
	type row struct {
		Request json.RawMessage `db:"request"`
		Orders  int             `db:"orders"`
		Orgs    int             `db:"orgs"`
		Last    time.Time       `db:"last"`
	}
	var list []row
	err := a.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select request, count(*)::int as orders, count(distinct org_id)::int as orgs, max(at) as last
  from allocation_attempts
 where at > clock_timestamp() - $1::interval and outcome in ('none_left', 'all_held')
 group by request order by orders desc, last desc limit $2`, before, maxDemand)
		if err != nil {
			return fmt.Errorf("demand: %w", err)
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[row])
		if err != nil {
			return fmt.Errorf("demand: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]Demand, 0, len(list))
	for _, l := range list {
		d := Demand{Orders: l.Orders, Orgs: l.Orgs, Last: l.Last}
		if err := json.Unmarshal(l.Request, &d.Request); err != nil {
			return nil, fmt.Errorf("demand: %w", err)
		}
		out = append(out, d)
	}
	return out, nil
}

// Serves reports whether a machine of this configuration would do for the request: the same filters
// as for any machine. A request for one certain machine is served by no other.
func Serves(spec fleet.Spec, r Request) bool { return r.Machine == "" && fits(&r, &spec) }

// SpecFor is the least machine that fulfils a request: what somebody would buy to serve it. Sites
// names where, if the request leaves a choice.
func SpecFor(r Request, site string) fleet.Spec {
	s := fleet.Spec{
		SiteCode: site, CPU: r.CPU, Cores: r.MinCores, Threads: r.MinThreads, RAMGB: r.MinRAMGB, ECC: wants(r.ECC),
		NVMeGB: r.MinNVMeGB, SSDGB: r.MinSSDGB, HDDGB: r.MinHDDGB, NICMbps: r.MinNICMbps, Features: r.Features,
	}
	if len(r.Vendors) > 0 {
		s.Vendor = r.Vendors[0]
	}
	if wants(r.GPU) {
		s.GPU = "any"
	}
	if r.MaxPriceMonthMinor != nil {
		s.PriceMonthMinor = *r.MaxPriceMonthMinor
	}
	return s
}
