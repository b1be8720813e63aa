// Package accounts knows who may do what: organisations with their caps, people, sessions, tokens,
// and the table of functions that each role has. It owns the tables organisations, org_limits,
// users, sessions, sign_in_failures, api_tokens, invitations, password_resets, email_changes, passkeys, totp_secrets,
// recovery_codes and identities; triggers write the
// history of them into account_events.
//
//	email + password -> SignIn -> session (row in sessions) -> ActorOfUser -\
//	                                                                         Actor -> Can(role, function)
//	Authorization: Bearer ih_... ---------------------------> ActorOfToken -/
//
// What a person has besides a password (Factors): passkeys, an app for codes, recovery codes for when
// those are lost, an account at the company's own sign-in. Package web asks for them; here they are
// kept and counted, each code once, ten wrong ones in fifteen minutes.
//
// An address takes ten wrong passwords in fifteen minutes, whether or not somebody has it.
//
// One-use links, of which only a hash is kept:
//
//	Invite   -> open -> accepted (a person is made) | revoked (also by a newer one) | expired after 7 days
//	AddReset -> open -> used (a password is set)    | revoked (also by a new password) | expired after 1 hour
//	AskEmail -> open -> used (the address counts)   | revoked (also by a new wish or password) | expired after 1 day
//
// The roles:
//
//	            whose       orders and confirms      sees                        changes besides
//	customer    one org's   for its organisation     its own holds and services  -
//	org-admin   one org's   for its organisation     and members, tokens, caps   rollout, members, tokens
//	sales       staff       on behalf of any         every hold, attempts        gives back any hold
//	operator    staff       no                       every hold, attempts, jobs  fleet, prices, launch, caps, people
//
// Customers and org admins belong to exactly one organisation, staff to none; the database holds
// that too. A missing function answers forbidden; another organisation's object answers like one
// that does not exist.
//
// A session ends at once when the person signs out, signs out everywhere, changes the password (but
// where they do it), gets another role or is disabled; a token when it is revoked. Nothing is cached
// between requests. Changes of members run under the organisation's lock, so that one administrator
// always stays; an operator may take even that one. A trigger keeps one operator who can sign in, and
// another keeps in organisation_events, for staff alone, why an organisation was suspended or resumed.
package accounts
