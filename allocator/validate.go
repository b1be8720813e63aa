package allocator

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Bounds beyond which a minimum is no plausible machine.
const (
	maxCores   = 65_536
	maxRAMGB   = 1_048_576
	maxDriveGB = 100_000_000
	maxMbps    = 100_000_000
	maxPrice   = 100_000_000_000
	maxItems   = 50
	maxText    = 100
)

var currencyPattern = regexp.MustCompile(`^[A-Z]{3}$`)

// unsaid is the fault of a limit in no currency where prices are in several.
func unsaid(r *Request, cat *catalogue) []Fault {
	if r.MaxPriceMonthMinor == nil || r.Currency != "" || len(cat.currencies) < 2 {
		return nil
	}
	return []Fault{{Field: "currency", Message: "is missing: prices are in " + listed(cat.currencies) + ", and the limit is in one of them", Why: FaultCurrency}}
}

// doubts lists what only the database can tell of a request: unknown names, and a limit whose currency
// is not said.
func (a *Allocator) doubts(ctx context.Context, tx pgx.Tx, r *Request) ([]Fault, error) {
	faults, err := unknown(ctx, tx, r)
	if err != nil || r.MaxPriceMonthMinor == nil || r.Currency != "" {
		return faults, err
	}
	cat, err := a.current(ctx, tx)
	if err != nil {
		return faults, err
	}
	return append(faults, unsaid(r, cat)...), nil
}

// ValidKey reports whether a key is 1 to 255 visible ASCII characters.
func ValidKey(key string) bool {
	if len(key) < 1 || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// Faults lists everything wrong with a request that can be seen without the fleet.
func (r *Request) Faults() []Fault {
	var out []Fault
	bad := func(why FaultWhy, limit int64, field, format string, args ...any) {
		out = append(out, Fault{Field: field, Message: fmt.Sprintf(format, args...), Why: why, Limit: limit})
	}
	for _, n := range []struct {
		field string
		value int
		limit int
	}{
		{"min_cores", r.MinCores, maxCores}, {"min_threads", r.MinThreads, 2 * maxCores},
		{"min_ram_gb", r.MinRAMGB, maxRAMGB}, {"min_nvme_gb", r.MinNVMeGB, maxDriveGB},
		{"min_ssd_gb", r.MinSSDGB, maxDriveGB}, {"min_hdd_gb", r.MinHDDGB, maxDriveGB},
		{"min_nic_mbps", r.MinNICMbps, maxMbps},
	} {
		if n.value < 0 || n.value > n.limit {
			bad(FaultRange, int64(n.limit), n.field, "must be from 0 to %d, not %d", n.limit, n.value)
		}
	}
	if p := r.MaxPriceMonthMinor; p != nil && (*p < 0 || *p > maxPrice) {
		bad(FaultRange, maxPrice, "max_price_month_minor", "must be from 0 to %d, not %d", int64(maxPrice), *p)
	}
	switch {
	case r.Currency != "" && !currencyPattern.MatchString(r.Currency):
		bad(FaultCurrency, 0, "currency", "must be three letters of ISO 4217, as EUR")
	case r.Currency != "" && r.MaxPriceMonthMinor == nil:
		bad(FaultCurrency, 0, "currency", "is that of max_price_month_minor, which is missing")
	}
	for _, l := range []struct {
		field string
		items []string
	}{{"sites", r.Sites}, {"vendors", r.Vendors}, {"features", r.Features}} {
		if len(l.items) > maxItems {
			bad(FaultEntries, maxItems, l.field, "at most %d entries", maxItems)
			continue
		}
		for _, s := range l.items {
			if why := badText(s); s == "" || why != "" {
				bad(FaultText, maxText, l.field, "entries are 1 to %d printable characters", maxText)
				break
			}
		}
	}
	if why := badText(r.CPU); why != "" {
		bad(FaultText, maxText, "cpu", "%s", why)
	}
	if why := badText(r.Machine); why != "" {
		bad(FaultText, maxText, "machine", "%s", why)
	}
	return out
}

func badText(s string) string {
	if !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxText ||
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("must be at most %d printable characters", maxText)
	}
	return ""
}

// unknown lists the sites and the machine of a request that do not exist. What Faults has already
// refused as no name is not looked up.
func unknown(ctx context.Context, tx pgx.Tx, r *Request) ([]Fault, error) {
	b := &pgx.Batch{}
	faults := queueUnknown(b, r)
	if b.Len() == 0 {
		return nil, nil
	}
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		return nil, fmt.Errorf("sites and machine: %w", err)
	}
	return faults(), nil
}

// queueUnknown is unknown for those who ask more at once.
func queueUnknown(b *pgx.Batch, r *Request) (faults func() []Fault) {
	if len(r.Sites) == 0 && r.Machine == "" || len(r.Sites) > maxItems {
		return func() []Fault { return nil }
	}
	var sites []string
	b.Queue("select code from sites order by code").Query(func(rows pgx.Rows) (err error) {
		sites, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	there := true
	if r.Machine != "" && badText(r.Machine) == "" {
		b.Queue("select exists (select from machines where asset_tag = $1)", r.Machine).
			QueryRow(func(row pgx.Row) error { return row.Scan(&there) })
	}
	return func() []Fault {
		var out []Fault
		for _, s := range r.Sites {
			if s != "" && badText(s) == "" && !containsFold(sites, s) {
				out = append(out, Fault{Field: "sites", Message: fmt.Sprintf("there is no site %q; the sites are %s", s, listed(sites)), Why: FaultSite})
			}
		}
		if !there {
			out = append(out, Fault{Field: "machine", Message: fmt.Sprintf("there is no machine %q", r.Machine), Why: FaultMachine})
		}
		return out
	}
}

// listed joins at most twenty names.
func listed(names []string) string {
	if len(names) == 0 {
		return "none yet"
	}
	if len(names) > 20 {
		return strings.Join(slices.Clip(names[:20]), ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// Check lists everything wrong with a request, the unknown sites and machines included.
func (a *Allocator) Check(ctx context.Context, r Request) ([]Fault, error) {
	faults := r.Faults()
	err := a.reading(ctx, func(tx pgx.Tx) error {
		more, err := a.doubts(ctx, tx, &r)
		faults = append(faults, more...)
		return err
	})
	return faults, err
}

// allFaults completes the faults of an order with what the database knows. With the database away
// they are as true without it.
func (a *Allocator) allFaults(ctx context.Context, r *Request, faults []Fault) []Fault {
	err := a.reading(ctx, func(tx pgx.Tx) error {
		more, err := a.doubts(ctx, tx, r)
		faults = append(faults, more...)
		return err
	})
	if err != nil {
		a.opt.Logger.WarnContext(ctx, "faults of an order are incomplete", "error", err.Error())
	}
	return faults
}
