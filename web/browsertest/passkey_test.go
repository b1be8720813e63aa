package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/webauthn"

	"ironhold/migrations/pgtest/fixture"
)

// authenticator gives the tab a device that makes passkeys and knows its owner.
func (tab *Tab) authenticator() webauthn.AuthenticatorID {
	tab.t.Helper()
	call(tab, webauthn.Enable, webauthn.EnableParams{})
	return call(tab, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}}).AuthenticatorID
}

// passkey adds one by the page.
func (v *visit) passkey(name string) {
	v.t.Helper()
	v.Go("/account/factors")
	v.Fill("key_name", name)
	v.Follow(func() { v.Click(`form[data-passkey="create"] button`) })
}

// A passkey is added, named anew, and signs its owner in without a password; removed, it does not.
func TestPasskey(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{Named: true})
	device := v.authenticator()
	v.passkey("My laptop")
	v.WantOutcome("codes-made")
	v.Follow(func() { v.Press("I have kept them") })
	v.Says("My laptop")
	v.Says("10 recovery codes")
	v.Press("Rename")
	v.Fill("name", "The old laptop")
	v.Follow(func() { v.Click(`form[action$="/rename"] button`) })
	v.Says("The old laptop")

	v.Go("/account")
	v.Follow(func() { v.Click(`form[action="/sign-out"] button`) })
	v.Follow(func() { v.Press("Sign in with a passkey") })
	v.Go("/account/factors")
	v.Says("The old laptop")
	if n := fixture.Get[int](t, v.Owner, "select count(*)::int from passkeys where last_used_at is not null"); n != 1 {
		t.Errorf("%d passkeys were used", n)
	}
	// It is the second step of a sign-in by password too.
	v.Go("/account")
	v.Follow(func() { v.Click(`form[action="/sign-out"] button`) })
	v.signInWith(customer, password)
	v.WantOutcome("second-factor")
	v.Follow(func() { v.Press("Sign in with a passkey") })
	v.Go("/holds")

	// A device whose owner did not show themselves is none.
	v.Go("/account")
	v.Follow(func() { v.Click(`form[action="/sign-out"] button`) })
	call(v.Tab, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: false})
	v.Press("Sign in with a passkey")
	v.Wait("the word that nothing came", `document.querySelector("[data-passkey-trouble]").checkVisibility()`)
	call(v.Tab, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: device, IsUserVerified: true})

	v.Follow(func() { v.Press("Sign in with a passkey") })
	v.Go("/account/factors")
	v.Follow(func() { v.Click(`form[action$="/remove"] button`) })
	v.Says("Removed")
	v.Go("/account")
	v.Follow(func() { v.Click(`form[action="/sign-out"] button`) })
	v.Follow(func() { v.Press("Sign in with a passkey") })
	v.Says("was not accepted")
}

// A copy of a passkey betrays itself by its counter.
func TestCopiedPasskey(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{Named: true})
	v.authenticator()
	v.passkey("My laptop")
	v.WantOutcome("codes-made")
	fixture.Exec(t, v.Owner, `update passkeys set credential = jsonb_set(credential, '{authenticator,signCount}', '1000000')`)
	v.Go("/account")
	v.Follow(func() { v.Click(`form[action="/sign-out"] button`) })
	v.Follow(func() { v.Press("Sign in with a passkey") })
	v.Says("was not accepted")
}
