package browsertest

import (
	"time"

	"ironhold/migrations/pgtest/fixture"
)

// The pages of what people sign in with.
func init() {
	states = append(states, []state{
		{name: "factors", who: customer, title: "sign in", show: at("/account/factors")},
		{name: "factors-all", who: customer, options: Options{Named: true}, title: "sign in", show: func(v *visit) {
			v.app(customer)
			v.key(customer, "My phone")
			v.Go("/account/factors")
		}},
		{name: "factors-totp", who: customer, title: "app for codes", show: at("/account/factors/totp")},
		{name: "factors-totp-wrong", who: customer, title: "Error", show: func(v *visit) {
			v.Go("/account/factors/totp")
			v.Post("/account/factors/totp", "code", "000000")
		}},
		{name: "factors-codes", who: customer, outcome: "codes-made", show: func(v *visit) {
			v.app(customer)
			v.Post("/account/factors/codes")
		}},
		{name: "factors-confirm-wrong", who: customer, title: "Error", show: func(v *visit) {
			v.Post("/account/confirm", "own_password", "not it at all")
		}},
		{name: "sign-in-named", options: Options{Named: true}, title: "Sign in", show: at("/")},
		{name: "sign-in-second", options: Options{Named: true}, outcome: "second-factor", show: func(v *visit) {
			v.app(customer)
			v.key(customer, "My phone")
			v.signInWith(customer, password)
		}},
		{name: "sign-in-second-wrong", title: "Error", show: func(v *visit) {
			v.app(customer)
			v.signInWith(customer, password)
			v.Post("/sign-in/second", "code", "000000")
		}},
		{name: "german-factors", who: customer, show: func(v *visit) { v.german(); v.app(customer); v.Go("/account/factors") }},
		{name: "german-factors-totp", who: customer, show: func(v *visit) { v.german(); v.Go("/account/factors/totp") }},
	}...)
}

// app gives somebody an app for codes, as if they had set one up.
func (v *visit) app(who string) {
	v.t.Helper()
	fixture.Exec(v.t, v.Owner, "insert into totp_secrets (user_id, secret, confirmed_at) values ($1, decode(repeat('5a', 20), 'hex'), $2)", v.id(who), time.Now())
}

// key gives somebody a passkey that nobody has the secret half of.
func (v *visit) key(who, name string) {
	v.t.Helper()
	fixture.Exec(v.t, v.Owner, "insert into passkeys (user_id, credential_id, credential, name) values ($1, '\\x01', '{}', $2)", v.id(who), name)
}
