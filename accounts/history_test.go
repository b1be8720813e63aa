package accounts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
	"ironhold/migrations/pg"
)

func (f fixture) history(t *testing.T, org uuid.UUID, filter accounts.HistoryFilter) (lines []string, list []accounts.HistoryEntry) {
	t.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	list = must(f.dir.History(f.ctx, org, filter))(t)
	for _, e := range list {
		lines = append(lines, e.Kind+" "+e.Event+" "+e.Subject)
	}
	return lines, list
}

func TestHistory(t *testing.T) {
	f := setup(t)
	bea := f.add(t, "bea@example.com", accounts.OrgAdmin, "acme")
	f.add(t, "rob@example.com", accounts.OrgAdmin, "rival")
	who := pg.By{Actor: "user:" + bea.ID.String(), RequestID: "r"}
	steps := []error{
		f.dir.SetMemberRole(f.ctx, who, f.org.ID, bea.ID, f.user.ID, accounts.OrgAdmin),
		f.dir.DisableMember(f.ctx, who, f.org.ID, bea.ID, f.user.ID),
		f.dir.EnableMember(f.ctx, who, f.org.ID, f.user.ID),
		f.dir.SetPassword(f.ctx, who, f.user.ID, chosen),
	}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.dir.AddOrgToken(f.ctx, who, f.org.ID, "CI", accounts.Customer))(t)
	if err := f.dir.RevokeToken(f.ctx, who, f.org.ID, must(f.dir.Tokens(f.ctx, f.org.ID))(t)[0].ID); err != nil {
		t.Fatal(err)
	}
	secret, _ := f.invite(t, "cy@example.com")
	must(f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Cy", Password: chosen}))(t)
	must(f.dir.SetLimits(f.ctx, by, "acme", 3, 30))(t)
	must(f.dir.SetRollout(f.ctx, who, f.org.ID, "off"))(t)
	must(f.dir.Suspend(f.ctx, by, "acme", "for staff alone"))(t)
	must(f.dir.Resume(f.ctx, by, "acme", "paid, for staff alone"))(t)
	for _, sql := range []string{
		`insert into sites (code, name) values ('S', 'S')`,
		`insert into machines (asset_tag, site_code, cpu, cores, threads, ram_gb, price_month_minor, status) values ('M-1', 'S', 'x', 1, 1, 1, 1, 'ready'), ('M-2', 'S', 'x', 1, 1, 1, 1, 'ready')`,
		`update rollout_launch set launch = 'on'`,
		`insert into holds (org_id, machine_id, idempotency_key, expires_at) select o.id, m.id, m.asset_tag, clock_timestamp() + interval '1 hour'
			from organisations o, machines m where (o.slug, m.asset_tag) in (('acme', 'M-1'), ('rival', 'M-2'))`,
		`update holds set state = 'cancelled', closed_at = clock_timestamp() where state = 'held'`,
	} {
		if _, err := f.db.Exec(f.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	all, entries := f.history(t, f.org.ID, accounts.HistoryFilter{})
	want := []string{
		"hold cancelled M-1", "hold held M-1", "launch set ", "organisation resumed Acme", "organisation suspended Acme", "rollout set ", "limits set ",
		"invitation accepted cy@example.com", "member added Cy", "invitation added cy@example.com", "token revoked CI", "token added CI",
		"member password Ada", "member enabled Ada", "member disabled Ada", "member role Ada", "member added bea@example.com", "member added Ada",
	}
	if !slices.Equal(all, want) {
		t.Errorf("got\n%q\nwant\n%q", all, want)
	}
	for _, e := range entries {
		if e.Kind == "token" && e.Actor != who.Actor {
			t.Errorf("%+v", e)
		}
		if s := string(e.Before) + string(e.After); len(s) > 300 || slices.ContainsFunc([]string{"argon", "alone"}, func(w string) bool { return strings.Contains(s, w) }) {
			t.Errorf("too much is told: %s", s)
		}
	}
	// Page by page is the whole, whatever the size.
	for size := 1; size <= 6; size++ {
		var paged []string
		after := ""
		for range 30 {
			lines, list := f.history(t, f.org.ID, accounts.HistoryFilter{After: after, Limit: size})
			if len(list) == 0 {
				break
			}
			paged, after = append(paged, lines...), list[len(list)-1].Cursor()
		}
		if !slices.Equal(paged, want) {
			t.Errorf("in pages of %d: %q", size, paged)
		}
	}
	orders, _ := f.history(t, f.org.ID, accounts.HistoryFilter{Orders: true})
	people, _ := f.history(t, f.org.ID, accounts.HistoryFilter{People: true})
	settings, _ := f.history(t, f.org.ID, accounts.HistoryFilter{Settings: true})
	if len(orders) != 2 || len(settings) != 5 || len(orders)+len(people)+len(settings) != len(want) {
		t.Errorf("orders %q, people %q, settings %q", orders, people, settings)
	}
	for _, cursor := range []string{"x", "////", "MjAyNg", accounts.HistoryEntry{At: time.Now().AddDate(0, 0, 1), Key: "\x00"}.Cursor()} {
		if lines, _ := f.history(t, f.org.ID, accounts.HistoryFilter{After: cursor}); len(lines) != len(want) {
			t.Errorf("cursor %q: %d entries", cursor, len(lines))
		}
	}
	rival := must(f.dir.OrgBySlug(f.ctx, "rival"))(t)
	if lines, _ := f.history(t, rival.ID, accounts.HistoryFilter{}); !slices.Equal(lines, []string{"hold cancelled M-2", "hold held M-2", "launch set ", "member added rob@example.com"}) {
		t.Errorf("the other organisation sees %q", lines)
	}
	// Nobody rewrites it.
	err := pg.Engine(f.ctx, f.db, pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(f.ctx, "update account_events set actor = 'x'")
		return err
	})
	if pg.Code(err) != "42501" {
		t.Errorf("got %v", err)
	}
}
