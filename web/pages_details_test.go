package web

import (
	"testing"

	"ironhold/accounts"
)

// TestNameAndAddress: the name is the person's to change; the address only with the password, and
// whoever is signed in elsewhere is signed out.
func TestNameAndAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.person("Rob", accounts.Customer, "rival")
	b := s.person("Ada", accounts.Customer, "acme")
	other := s.again(ada, password)
	p := b.get("/account/details").want(200)
	b.follow(b.submit(p, "/account/details", "name", " Ada Lind ", "email", ada)).want(200).says("Saved").says("Ada Lind")
	b.submit(p, "/account/details", "name", " ", "email", ada).want(422).says("Enter your name")
	other.get("/holds").want(200)

	b.submit(p, "/account/details", "name", "Ada Lind", "email", "new@example.com").want(422).says("not your present password")
	for _, bad := range []string{"no address", "customer-rival@example.com"} {
		b.submit(p, "/account/details", "name", "Ada Lind", "email", bad, "old_password", password).want(422).says("cannot be used")
	}
	b.submit(p, "/account/details", "name", " ", "email", "new@example.com", "old_password", password).want(422).says("Enter your name")
	s.again(ada, password) // nothing is half written
	old := sessionToken(s, b)
	b.follow(b.submit(p, "/account/details", "name", "Ada Lind", "email", "New@example.com", "old_password", password)).want(200).says("new@example.com")
	if sessionToken(s, b) == old {
		t.Error("the session has its old token")
	}
	other.get("/holds").outcome(401, "unauthenticated")
	s.stranger().post("/sign-in", "email", ada, "password", password).want(401)
	s.again("new@example.com", password)
}
