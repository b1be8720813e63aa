package accounts

import (
	"fmt"
	"time"
)

// Invalid says which value was not accepted and what is allowed.
type Invalid struct {
	Field   string // as the API and the commands spell it: "email", "max_holds", ...
	Message string
}

func (e *Invalid) Error() string { return e.Field + ": " + e.Message }

// NotFound says that there is no such thing, or none that the asker may know of.
type NotFound struct {
	What string // "organisation", "user", "token"
	ID   string // what was asked for
}

func (e *NotFound) Error() string { return "no " + e.What + " " + e.ID }

// Unauthenticated says that nobody stands behind a request: a wrong email or password, a disabled
// person, an unknown or revoked token. It never says which.
type Unauthenticated struct {
	Message string
}

func (e *Unauthenticated) Error() string { return e.Message }

func signInRefused() error {
	return &Unauthenticated{Message: "email or password is wrong, or the account is disabled"}
}

func tokenRefused() error {
	return &Unauthenticated{Message: "the token is unknown or revoked"}
}

// TooManyTries says that an address had too many wrong passwords; it says so whether or not
// somebody has that address.
type TooManyTries struct {
	Until time.Time     // by the database's clock
	Wait  time.Duration // from now until then
}

func (e *TooManyTries) Error() string {
	return fmt.Sprintf("too many wrong passwords; wait %s", e.Wait.Round(time.Second))
}

// PasswordRefused says which of the two passwords of a change was not accepted; both may be.
type PasswordRefused struct {
	Old bool  // it is not the present one
	New error // an *Invalid or a *WeakPassword
}

func (e *PasswordRefused) Error() string {
	switch {
	case e.Old && e.New != nil:
		return "the present password is wrong, and " + e.New.Error()
	case e.New != nil:
		return e.New.Error()
	}
	return "the present password is wrong"
}

// MemberRefused says why a member was not changed.
type MemberRefused struct{ Why MemberReason }

// MemberReason is one of the reasons of MemberRefused.
type MemberReason string

// The reasons.
const (
	LastAdmin  MemberReason = "last_admin"  // the organisation would have no administrator
	Yourself   MemberReason = "yourself"    // nobody takes their own rights away
	IsDisabled MemberReason = "is_disabled" // a link would be of no use
	IsMember   MemberReason = "is_member"   // is in the organisation already
	HasAccount MemberReason = "has_account" // there or elsewhere; told to staff alone
	TooMany    MemberReason = "too_many"    // open invitations or tokens
	LastOne    MemberReason = "last_one"    // no operator would be left who can sign in
)

func (e *MemberRefused) Error() string { return "refused: " + string(e.Why) }

// LinkEnded says why a one-use link cannot be used any more.
type LinkEnded struct{ Why LinkEnd }

// LinkEnd is one of the ends of a one-use link.
type LinkEnd string

// The ends.
const (
	LinkUnknown LinkEnd = "unknown" // never made, or not copied whole
	LinkUsed    LinkEnd = "used"
	LinkExpired LinkEnd = "expired"
	LinkRevoked LinkEnd = "revoked" // also by a newer one
)

func (e *LinkEnded) Error() string { return "the link is " + string(e.Why) }
