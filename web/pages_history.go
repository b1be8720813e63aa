package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// orgHistory shows members who ordered what, and administrators everything.
func (s *server) orgHistory(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor, q := request.Actor(ctx), r.URL.Query()
	m := views.HistoryPage{Admin: accounts.Can(actor.Role, accounts.ManageMembers), Show: q.Get("show")}
	rows := listSizes.of(r)
	f := accounts.HistoryFilter{After: q.Get("after"), Limit: rows + 1}
	switch {
	case !m.Admin:
		m.Show, f.Orders = "", true
	case m.Show == "orders":
		f.Orders = true
	case m.Show == "people":
		f.People = true
	case m.Show == "settings":
		f.Settings = true
	default:
		m.Show = ""
	}
	list, err := s.Accounts.History(ctx, actor.OrgID, f)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	tokens, err := s.tokenNames(ctx, actor)
	if err != nil {
		return err
	}
	receivers, err := s.receivers(ctx, m.Admin, actor)
	if err != nil {
		return err
	}
	for _, e := range list[:min(len(list), rows)] {
		row := historyRow(ctx, e, m.Admin)
		if e.Kind == "webhook" && receivers[e.SubjectID] {
			row.Href = "/org/webhooks/" + e.SubjectID.String()
		}
		if row.Actor = tokens[e.Actor]; row.Actor == "" {
			row.Actor = who.of(ctx, e.Actor)
		}
		m.Items = append(m.Items, row)
	}
	first, next := historyLinks(m.Show, f.After != "", list, rows)
	m.Pager = listSizes.pager(r, first, next, len(m.Items))
	return s.render(w, r, http.StatusOK, views.OrgHistory(m))
}

// receivers are those that are still there, for who may see them.
func (s *server) receivers(ctx context.Context, admin bool, actor accounts.Actor) (map[uuid.UUID]bool, error) {
	if !admin {
		return nil, nil
	}
	list, err := s.Webhooks.Endpoints(ctx, actor.OrgID)
	out := make(map[uuid.UUID]bool, len(list))
	for _, e := range list {
		out[e.ID] = true
	}
	return out, err
}

func historyLinks(show string, further bool, list []accounts.HistoryEntry, rows int) (first, next string) {
	q := url.Values{}
	if show != "" {
		q.Set("show", show)
	}
	path := func() string {
		if len(q) == 0 {
			return "/org/history"
		}
		return "/org/history?" + q.Encode()
	}
	if further {
		first = path()
	}
	if len(list) > rows {
		q.Set("after", list[rows-1].Cursor())
		next = path()
	}
	return first, next
}

// tokenNames are the organisation's tokens as actors of the history.
func (s *server) tokenNames(ctx context.Context, actor accounts.Actor) (map[string]string, error) {
	list, err := s.Accounts.Tokens(ctx, actor.OrgID)
	out := make(map[string]string, len(list))
	for _, t := range list {
		out["token:"+t.ID.String()] = i18n.T(ctx, "actor.token_named", "name", t.Name)
	}
	return out, err
}

// facts are what the history keeps of before and after, as far as it is shown.
type facts struct {
	Role         string     `json:"role"`
	Email        string     `json:"email"`
	Name         string     `json:"name"`
	Reason       string     `json:"reason"`
	ExpiresAt    *time.Time `json:"expires_at"`
	SubstituteOf *string    `json:"substitute_of"`
	MaxHolds     int        `json:"max_holds"`
	MaxMachines  int        `json:"max_machines"`
}

func historyRow(ctx context.Context, e accounts.HistoryEntry, admin bool) views.HistoryRow {
	row := views.HistoryRow{At: e.At, Kind: e.Kind, Event: e.Event}
	var before, after facts
	_ = json.Unmarshal(e.Before, &before) // the settings' are plain texts
	_ = json.Unmarshal(e.After, &after)
	change := func(prefix, from, to string) string {
		return i18n.T(ctx, "orghist.from_to", "before", word(ctx, prefix, from), "after", word(ctx, prefix, to))
	}
	switch e.Kind {
	case "hold", "service":
		row.Tag, row.Href = e.Subject, "/"+e.Kind+"s/"+e.SubjectID.String()
		row.Details = after.Reason
		if after.ExpiresAt != nil && (e.Event == "held" || e.Event == "extended") {
			row.Details = i18n.T(ctx, "orghist.until", "time", i18n.DateTime(ctx, *after.ExpiresAt))
		}
		if e.Event == "held" && after.SubstituteOf != nil {
			row.Event = "substituted"
		}
	case "member":
		row.Name = e.Subject
		if admin {
			row.Href = "/org/members/" + e.SubjectID.String()
		}
		switch e.Event {
		case "added":
			row.Details = word(ctx, "role.", after.Role)
		case "role":
			row.Details = change("role.", before.Role, after.Role)
		case "renamed":
			row.Details = change("", strings.TrimSpace(before.Name+" "+before.Email), strings.TrimSpace(after.Name+" "+after.Email))
		}
	case "token":
		row.Name, row.Details = e.Subject, word(ctx, "role.", after.Role)
		if admin {
			row.Href = "/org/tokens/" + e.SubjectID.String()
		}
	case "invitation":
		row.Name, row.Details = e.Subject, word(ctx, "role.", after.Role)
	case "webhook":
		row.Name = e.Subject
	case "organisation":
		row.Details = after.Reason // staff alone are told
	case "rollout":
		row.Details = change("rollout.setting.", text(e.Before), text(e.After))
	case "launch":
		row.Details = change("launch.setting.", text(e.Before), text(e.After))
	case "limits":
		var parts []string
		if before.MaxHolds != after.MaxHolds {
			parts = append(parts, i18n.T(ctx, "orghist.limit_holds", "before", before.MaxHolds, "after", after.MaxHolds))
		}
		if before.MaxMachines != after.MaxMachines {
			parts = append(parts, i18n.T(ctx, "orghist.limit_machines", "before", before.MaxMachines, "after", after.MaxMachines))
		}
		row.Details = strings.Join(parts, " ")
	}
	return row
}

// word is a value in the person's language, or as it is.
func word(ctx context.Context, prefix, value string) string {
	if prefix != "" && i18n.Has(ctx, prefix+value) {
		return i18n.T(ctx, prefix+value)
	}
	return value
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
