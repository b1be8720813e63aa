package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// HistoryPage is what happened in an organisation, the newest first.
type HistoryPage struct {
	Show  string // "", "orders", "people" or "settings"
	Admin bool   // sees more than orders
	Items []HistoryRow
	Pager
}

// HistoryRow is one thing that happened. Tag is a machine's, Name a person's or a token's.
type HistoryRow struct {
	At              time.Time
	Kind, Event     string
	Tag, Name, Href string
	Details, Actor  string
}

func historyTabs(ctx context.Context, show string) []Tab {
	out := []Tab{{t(ctx, "orghist.show.all"), "/org/history", show == ""}}
	for _, s := range []string{"orders", "people", "settings"} {
		out = append(out, Tab{t(ctx, "orghist.show."+s), "/org/history?show=" + s, show == s})
	}
	return out
}

func historyWhat(ctx context.Context, r HistoryRow) string {
	if key := "orghist." + r.Kind + "." + r.Event; i18n.Has(ctx, key) {
		return t(ctx, key)
	}
	return r.Kind + " " + r.Event
}
