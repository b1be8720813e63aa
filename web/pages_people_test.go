package web

import (
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// An operator asks a colleague in, changes the role, resets the password, disables: all of it with
// links that work once.
func TestOperatorsLookAfterPeople(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	olga := s.person("Olga", accounts.Operator, "")
	form := olga.get("/admin/people/invite").want(200)
	for _, c := range []struct {
		email, role, org, own, says string
		status                      int
	}{
		{"no address", "sales", "", password, "Enter an e-mail address", 422},
		{"nina@ironhold.example", "sales", "acme", password, "our own staff have none", 422},
		{"nina@ironhold.example", "customer", "", password, "need an organisation", 422},
		{"nina@ironhold.example", "root", "", password, "Choose one of these", 422},
		{"operator-@example.com", "sales", "", password, "an account with this address", 409},
		{"nina@ironhold.example", "sales", "", "not mine", "not your password", 422},
	} {
		p := olga.submit(form, "/admin/people/invite", "email", c.email, "role", c.role, "org", c.org, "own_password", c.own).want(c.status).says(c.says)
		if v := valueOf(p, "email"); v != c.email {
			t.Errorf("%s was not kept: %q", c.email, v)
		}
	}
	link := secretOf(olga.submit(form, "/admin/people/invite", "email", "nina@ironhold.example", "role", "sales", "own_password", password).outcome(201, "invitation-made"))
	if p := olga.get("/admin/people").want(200).says("nina@ironhold.example").says("Invited").says("Olga"); strings.Contains(p.raw, link) {
		t.Error("the link is shown again")
	}
	nina := s.stranger()
	join := nina.get(local(t, link)).outcome(200, "invitation").says("Join Ironhold").says("sales desk")
	nina.submit(join, "/invitation", "name", "Nina", "password", "ironhold ironhold").want(422)
	nina.follow(nina.submit(join, "/invitation", "name", "Nina", "password", "tea with a llama")).want(200).says("Welcome")
	nina.get("/desk").want(200)
	nina.get("/admin/people").outcome(403, "forbidden")
	id := userID(t, s, "nina@ironhold.example")
	page := olga.get(personURL(id)).want(200).says("Sales").says("Last sign-in")
	olga.submit(page, "/role", "role", "operator", "own_password", "wrong").want(422)
	olga.submit(page, "/role", "role", "customer", "own_password", password).want(422)
	nina.get("/desk").want(200)
	olga.follow(olga.submit(page, "/role", "role", "operator", "own_password", password)).want(200).says("The role is changed").says("Sales → Operator")
	nina.get("/desk").outcome(401, "unauthenticated") // rights begin with a sign-in
	nina.post("/sign-in", "email", "nina@ironhold.example", "password", "tea with a llama").want(303)
	nina.get("/admin/people").want(200)

	olga.submit(page, "/reset", "own_password", "wrong").want(422)
	reset := secretOf(olga.submit(page, "/reset", "own_password", password).outcome(201, "reset-made"))
	nina.submit(nina.get(local(t, reset)).want(200), "/reset", "password", "another long password").want(200)
	nina.get("/desk").outcome(401, "unauthenticated")
	nina.post("/sign-in", "email", "nina@ironhold.example", "password", "another long password").want(303)
	olga.follow(olga.submit(olga.get(personURL(id)), "/disable")).want(200).says("disabled and signed out")
	nina.get("/desk").outcome(401, "unauthenticated")
	nina.post("/sign-in", "email", "nina@ironhold.example", "password", "another long password").want(401)
	olga.get("/admin/people").says("Disabled")
	olga.follow(olga.submit(olga.get(personURL(id)), "/enable")).want(200).says("can sign in again")
	// Nobody changes themselves.
	self := userID(t, s, "operator-@example.com")
	olga.get(personURL(self)).want(200).says("This is you")
	olga.post(personURL(self) + "/disable").want(409).says("another operator")
	olga.post(personURL(self)+"/role", "role", "sales", "own_password", password).want(409)
	// A customer's account is looked after in the same way.
	ada := s.person("Ada", accounts.Customer, "acme")
	adas := personURL(userID(t, s, "customer-acme@example.com"))
	olga.follow(olga.submit(olga.get(adas), "/role", "role", "org-admin", "own_password", password)).want(200).says("Administrator")
	ada.get("/offers").outcome(401, "unauthenticated")
	olga.get("/admin/people?who=all&q=ada").want(200).says("Ada").says("acme")
	olga.get("/admin/orgs/acme").says("Ada")
	if s.person("Sam", accounts.Sales, "").get(adas).status != 403 {
		t.Error("sales looks after accounts")
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from account_events where actor = $1", "user:"+self.String()); n != 6 {
		t.Errorf("%d entries in the history", n)
	}
	olga.get("/admin/people/x").want(404)
	olga.get(personURL(s.acme)).want(404)
	olga.post(personURL(s.acme)+"/reset", "own_password", "wrong").want(404)
	olga.post("/admin/people/invitations/" + s.acme.String() + "/revoke").want(404)
}
