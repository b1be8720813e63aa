package accounts_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
	"ironhold/migrations/pg"
)

func (f fixture) operator(t *testing.T, email string) accounts.User {
	t.Helper()
	return f.add(t, email, accounts.Operator, "")
}

// Operators ask staff and customers in by one-use links.
func TestInvitePeople(t *testing.T) {
	f := setup(t)
	olga := f.operator(t, "olga@ironhold.example")
	who := accounts.Actor{Kind: "user", ID: olga.ID}.By("r")
	old, _, err := f.dir.InvitePerson(f.ctx, who, "", "Sam@Ironhold.example", accounts.Sales)
	if err != nil {
		t.Fatal(err)
	}
	secret, inv, err := f.dir.InvitePerson(f.ctx, who, "", "sam@ironhold.example", accounts.Sales)
	if err != nil || inv.OrgID != nil || inv.OrgName != "" || inv.Role != accounts.Sales {
		t.Fatalf("%+v, %v", inv, err)
	}
	_, err = f.dir.InvitationBy(f.ctx, old)
	wantEnded(t, err, accounts.LinkRevoked)
	if list := must(f.dir.AllInvitations(f.ctx, true, 10))(t); len(list) != 1 || list[0].ID != inv.ID {
		t.Errorf("open are %+v", list)
	}
	if list := must(f.dir.Invitations(f.ctx, f.org.ID))(t); len(list) != 0 {
		t.Errorf("an organisation sees %+v", list)
	}
	_, err = f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Sam", Password: "ironhold 2026"})
	if _, ok := errors.AsType[*accounts.WeakPassword](err); !ok {
		t.Errorf("a password of our name: %v", err)
	}
	sam := must(f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Sam", Password: chosen}))(t)
	if sam.Role != accounts.Sales || sam.OrgID != nil || sam.SignedInAt == nil {
		t.Errorf("got %+v", sam)
	}
	_, inv, err = f.dir.InvitePerson(f.ctx, who, "acme", "cy@example.com", accounts.OrgAdmin)
	if err != nil || *inv.OrgID != f.org.ID {
		t.Fatalf("%+v, %v", inv, err)
	}
	if err := f.dir.RevokeAnyInvitation(f.ctx, who, inv.ID); err != nil {
		t.Error(err)
	}
	if err := f.dir.RevokeAnyInvitation(f.ctx, who, uuid.New()); !isNotFound(err) {
		t.Errorf("got %v", err)
	}
	for _, c := range []struct {
		slug, email, field string
		role               accounts.Role
	}{
		{"", "x@example.com", "org", accounts.Customer},
		{"acme", "x@example.com", "org", accounts.Sales},
		{"nobody", "x@example.com", "org", accounts.Customer},
		{"", "x", "email", accounts.Sales},
		{"", "x@example.com", "role", "root"},
	} {
		_, _, err := f.dir.InvitePerson(f.ctx, who, c.slug, c.email, c.role)
		wantInvalid(t, err, c.field)
	}
	_, _, err = f.dir.InvitePerson(f.ctx, who, "", f.user.Email, accounts.Sales)
	wantRefused(t, err, accounts.HasAccount)
	var events []string
	for _, e := range must(f.dir.StaffHistory(f.ctx, 20))(t) {
		events = append(events, e.Kind+" "+e.Event+" "+e.Subject)
		if e.Kind == "invitation" && e.Event != "accepted" && e.Actor != who.Actor {
			t.Errorf("%+v", e)
		}
	}
	wantLines(t, events, "invitation accepted sam@ironhold.example", "member added Sam", "invitation added sam@ironhold.example",
		"invitation revoked sam@ironhold.example", "invitation added sam@ironhold.example", "member added olga@ironhold.example")
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("line %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// What operators do to accounts: staff stay staff, nobody changes themselves, the last operator stays.
func TestChangePeople(t *testing.T) {
	f := setup(t)
	olga, otto := f.operator(t, "olga@ironhold.example"), f.operator(t, "otto@ironhold.example")
	who := accounts.Actor{Kind: "user", ID: olga.ID}.By("r")
	wantRefused(t, f.dir.DisablePerson(f.ctx, who, olga.ID, olga.ID), accounts.Yourself)
	wantRefused(t, f.dir.SetPersonRole(f.ctx, who, olga.ID, olga.ID, accounts.Sales), accounts.Yourself)
	wantInvalid(t, f.dir.SetPersonRole(f.ctx, who, olga.ID, otto.ID, accounts.Customer), "role")
	wantInvalid(t, f.dir.SetPersonRole(f.ctx, who, olga.ID, f.user.ID, accounts.Operator), "role")
	wantInvalid(t, f.dir.SetPersonRole(f.ctx, who, olga.ID, otto.ID, "root"), "role")
	if err := f.dir.SetPersonRole(f.ctx, who, olga.ID, f.user.ID, accounts.OrgAdmin); err != nil {
		t.Error(err)
	}
	// The last administrator of an organisation is no obstacle for an operator.
	f.session(t, f.user.ID)
	if err := f.dir.DisablePerson(f.ctx, who, olga.ID, f.user.ID); err != nil || len(f.live(t, f.user.ID)) != 0 {
		t.Error(err)
	}
	_, _, err := f.dir.AddPersonReset(f.ctx, who, olga.ID, f.user.ID)
	wantRefused(t, err, accounts.IsDisabled)
	if err := f.dir.EnablePerson(f.ctx, who, f.user.ID); err != nil {
		t.Error(err)
	}
	secret, _, err := f.dir.AddPersonReset(f.ctx, who, olga.ID, otto.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.dir.UseReset(f.ctx, "r", secret, chosen); err != nil {
		t.Error(err)
	}
	must3(f.dir.SignIn(f.ctx, otto.Email, chosen))(t)
	if p := must(f.dir.Person(f.ctx, otto.ID))(t); p.SignedInAt == nil || p.OrgSlug != "" {
		t.Errorf("%+v", p)
	}
	var events []string
	for _, e := range must(f.dir.PersonHistory(f.ctx, otto.ID, 10))(t) {
		events = append(events, e.Event)
	}
	wantLines(t, events, "password", "reset_link", "added")
	if err := f.dir.SetPersonRole(f.ctx, who, olga.ID, otto.ID, accounts.Sales); err != nil {
		t.Error(err)
	}
	wantRefused(t, f.dir.DisablePerson(f.ctx, by, uuid.Nil, olga.ID), accounts.LastOne)
	wantRefused(t, f.dir.SetPersonRole(f.ctx, by, uuid.Nil, olga.ID, accounts.Sales), accounts.LastOne)
	for _, sql := range []string{
		"update users set disabled_at = clock_timestamp()", "update users set role = 'sales' where role = 'operator'", "delete from users where role = 'operator'",
	} {
		if _, err := f.db.Exec(f.ctx, sql); pg.Constraint(err) != "users_last_operator" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	tx := must(f.db.BeginTx(f.ctx, pgx.TxOptions{IsoLevel: pgx.Serializable}))(t)
	defer tx.Rollback(f.ctx) //nolint:errcheck // nothing is kept
	if _, err := tx.Exec(f.ctx, "update users set disabled_at = clock_timestamp() where role = 'operator'"); pg.Constraint(err) != "users_isolation" {
		t.Errorf("on an old snapshot: %v", err)
	}
}

// Two operators who disable each other: one stays.
func TestOperatorsDisableEachOther(t *testing.T) {
	f := setup(t)
	for range 5 {
		pair := []accounts.User{f.operator(t, uuid.NewString()+"@x.example"), f.operator(t, uuid.NewString()+"@x.example")}
		var wg sync.WaitGroup
		for i := range pair {
			wg.Go(func() {
				err := f.dir.DisablePerson(f.ctx, by, pair[i].ID, pair[1-i].ID)
				if refused, ok := errors.AsType[*accounts.MemberRefused](err); err != nil && (!ok || refused.Why != accounts.LastOne) {
					t.Error(err)
				}
			})
			// And by hand, round the application.
			wg.Go(func() {
				_, err := f.db.Exec(f.ctx, "update users set role = 'sales' where id = $1", pair[i].ID)
				if err != nil && pg.Constraint(err) != "users_last_operator" {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		left := 0
		err := f.db.QueryRow(f.ctx, "select count(*) from users where role = 'operator' and disabled_at is null").Scan(&left)
		if err != nil || left != 1 {
			t.Fatalf("%d operators are left, %v", left, err)
		}
	}
}

func TestFindPeople(t *testing.T) {
	f := setup(t)
	f.operator(t, "olga@ironhold.example")
	f.add(t, "rob@example.com", accounts.OrgAdmin, "rival")
	all := must(f.dir.People(f.ctx, accounts.PeopleFilter{Limit: 10}))(t)
	if len(all) != 3 || all[0].OrgName != "Acme" {
		t.Errorf("%+v", all)
	}
	var paged []accounts.Person
	after := uuid.Nil
	for range 3 {
		page := must(f.dir.People(f.ctx, accounts.PeopleFilter{After: after, Limit: 1}))(t)
		paged, after = append(paged, page...), page[0].ID
	}
	for i := range paged {
		if paged[i].ID != all[i].ID {
			t.Errorf("page %d is %s", i, paged[i].Name)
		}
	}
	for text, want := range map[string]int{"ROB": 1, "@example": 2, "%": 0, "_": 0, "\x00": 0, " olga ": 1} {
		if got := must(f.dir.People(f.ctx, accounts.PeopleFilter{Text: text, Limit: 10}))(t); len(got) != want {
			t.Errorf("%q finds %d", text, len(got))
		}
	}
	if got := must(f.dir.People(f.ctx, accounts.PeopleFilter{Staff: true, Limit: 10}))(t); len(got) != 1 || got[0].Role != accounts.Operator {
		t.Errorf("staff are %+v", got)
	}
}

// The rules of a password are the same whoever sets it.
func TestOneRuleForPasswords(t *testing.T) {
	f := setup(t)
	secret, _ := f.invite(t, "cy@example.com")
	for _, weak := range []string{"password1234", "acme acme 2026", "aaaaaaaaaaaaaa"} {
		_, added := f.dir.AddUser(f.ctx, by, accounts.NewUser{Email: "dee@example.com", Name: "Dee", Role: accounts.Customer, OrgSlug: "acme", Password: weak})
		_, accepted := f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Cy", Password: weak})
		for where, err := range map[string]error{
			"added": added, "accepted": accepted, "set": f.dir.SetPassword(f.ctx, by, f.user.ID, weak),
		} {
			if _, ok := errors.AsType[*accounts.WeakPassword](err); !ok {
				t.Errorf("%q, %s: %v", weak, where, err)
			}
		}
	}
}
