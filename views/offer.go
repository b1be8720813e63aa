package views

import (
	"context"
	"strings"
	"time"
)

// OfferPage is one group of equal machines, or one machine that has no equal, with all its facts.
type OfferPage struct {
	Offer
	AsOf       time.Time
	Off        *RolloutRefusal
	OrderThis  string // address: order exactly this machine; "" for a group
	NextFreeAt *time.Time
	Wait       []Hidden // the constraints, to be told when one is free
	Compare    string   // address: compare it with others
}

// ComparePage puts a few offers side by side.
type ComparePage struct {
	Items   []Compared
	AsOf    time.Time
	Off     *RolloutRefusal
	Back    string // the list, with what is compared ticked
	TooMany bool   // more were asked for than are compared
	Gone    int    // asked for, but not on offer any more
}

// Compared is one column.
type Compared struct {
	Offer
	Wait    []Hidden // the constraints, to be told when one is free
	Without string   // address: compare without it
}

// MaxCompared is how many offers stand side by side.
const MaxCompared = 4

// compareRow is one fact of all of them. Cells have one line for each value of the fact.
type compareRow struct {
	label   string
	cells   [][]string
	differs bool
}

func (m ComparePage) rows(ctx context.Context) []compareRow {
	var out []compareRow
	add := func(label string, of func(o Offer) []string) {
		row := compareRow{label: label}
		some := false
		for _, o := range m.Items {
			cell := of(o.Offer)
			some = some || strings.Join(cell, "") != ""
			row.differs = row.differs || strings.Join(cell, "\n") != strings.Join(of(m.Items[0].Offer), "\n")
			row.cells = append(row.cells, cell)
		}
		if some {
			out = append(out, row)
		}
	}
	one := func(of func(o Offer) string) func(o Offer) []string {
		return func(o Offer) []string { return []string{of(o)} }
	}
	add(t(ctx, "compare.price"), one(func(o Offer) string { return money(ctx, o.Price) }))
	add(t(ctx, "hold.setup"), one(func(o Offer) string {
		if o.Setup.Minor == 0 {
			return t(ctx, "compare.nothing")
		}
		return money(ctx, o.Setup)
	}))
	add(t(ctx, "server.site"), one(func(o Offer) string { return o.place(ctx) }))
	add(t(ctx, "server.delivery"), one(func(o Offer) string { return o.delivery(ctx) }))
	add(t(ctx, "server.cores_label"), one(func(o Offer) string { return o.cores(ctx) }))
	add(t(ctx, "server.memory"), one(func(o Offer) string { return o.memory(ctx) }))
	add(t(ctx, "server.drives"), func(o Offer) []string { return o.drives(ctx) })
	add(t(ctx, "server.network"), one(func(o Offer) string { return o.network(ctx) }))
	add(t(ctx, "server.gpu"), one(func(o Offer) string { return o.GPU }))
	add(t(ctx, "server.maker"), one(func(o Offer) string {
		if o.maker() == "" {
			return t(ctx, "common.unknown")
		}
		return o.maker()
	}))
	add(t(ctx, "server.features"), func(o Offer) []string { return o.Features })
	return out
}
