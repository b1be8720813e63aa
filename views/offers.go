package views

import (
	"context"
	"time"
)

// OffersPage is the catalogue: groups of equal machines that are for sale.
type OffersPage struct {
	Form   AskForm
	Ask    Ask // the filters, to be told in words
	Faults []Fault
	Items  []Offer
	Total  int // groups that match, on all pages
	Free   int // machines free now, of all that match
	AsOf   time.Time
	Sorts  map[string]Sort // by column: price, ram, cores, free, site
	Sort   string
	Pager
	From, To int // which of Total are shown
	Filtered bool
	NearMiss []NearMiss
	Off      *RolloutRefusal
	OrderURL string        // order with the same constraints
	CSV      string        // the same rows as a file
	Here     string        // this list
	Compared []Hidden      // ticked to be compared, but not on this page
	Stale    bool          // the counts are from memory: the database is away
	Age      time.Duration // how old they are then
}

// Offer is one group, or one machine that has no equal.
type Offer struct {
	ID string
	Server
	Free, Held, InService, Total int
	YouHold, YouRent             int
	Holds, Services              []string // the ids of what YouHold and YouRent count
	OrderURL                     string
	Compared                     bool // ticked to be compared
}

// href is the offer's own page.
func (o Offer) href() string { return "/offers/" + o.ID }

// holdsHref leads to the one hold, or to the list.
func (o Offer) holdsHref() string {
	if len(o.Holds) == 1 {
		return "/holds/" + o.Holds[0]
	}
	return "/holds?state=held"
}

func (o Offer) servicesHref() string {
	if len(o.Services) == 1 {
		return "/services/" + o.Services[0]
	}
	return "/services"
}

// Sort is a column's link.
type Sort struct {
	Href  string
	State string // aria-sort: "ascending", "descending" or "none"
}

func (o Offer) availability(ctx context.Context) (tone, icn, text string) {
	switch {
	case o.Free > 2:
		return "ok", "check", t(ctx, "offers.free", "n", o.Free)
	case o.Free > 0:
		return "few", "bolt", t(ctx, "offers.few", "n", o.Free)
	case o.Held > 0:
		return "wait", "hourglass", t(ctx, "offers.held")
	}
	return "none", "minus", t(ctx, "offers.none")
}

// RolloutRefusal says why nothing can be ordered now.
type RolloutRefusal struct{ Reason, WhoCanChange string }

// filtersOpen shows the form where it is needed; otherwise what was found comes first.
func (m OffersPage) filtersOpen() bool {
	return len(m.Faults) > 0 || m.Filtered && len(m.Items) == 0
}

func (m OffersPage) sorted(column string) bool {
	state := m.Sorts[column].State
	return state == "ascending" || state == "descending"
}

// sortLabel is the key of a column's name.
func sortLabel(column string) string {
	return map[string]string{
		"cores": "offers.col_cpu", "ram": "server.memory", "site": "server.site", "price": "offers.col_price", "free": "offers.col_free",
	}[column]
}
