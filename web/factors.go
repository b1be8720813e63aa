package web

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/web/request"
)

// A session in the middle of a sign-in knows whose password was right, and is nobody's yet. A
// session of somebody knows by what it was proved, and when last.
//
//	password right --> pending --(code | passkey)--> signed in, proved by ...
//	               '-> signed in, when the person has no second factor; staff who must have one
//	                   then see nothing but the page where they set one up
const (
	pendingKey     = "pending_user"
	pendingNextKey = "pending_next"
	factorKey      = "factor" // by what beyond the password; "" for nothing
	freshKey       = "fresh"  // when the person proved who they are, unix seconds

	byPasskey  = "passkey"
	byCode     = "code"
	byCompany  = "company"
	pendingFor = 10 * time.Minute

	// provedFor is how long after a proof what a person signs in with can be changed.
	provedFor = 10 * time.Minute
)

// mustEnrol sends staff who have no second factor to where they set one up.
type mustEnrol struct{}

func (mustEnrol) Error() string { return "a second factor must be set up first" }

// factorMissing reports whether a session may not be used before a second factor is set up.
func (s *server) factorMissing(ctx context.Context, actor accounts.Actor) bool {
	return s.StaffFactor && actor.Role.Staff() && actor.Kind == "user" && s.pages.sessions.GetString(ctx, factorKey) == ""
}

// afterPassword goes on with a sign-in whose password was right: to the second factor when there is
// one, otherwise in.
func (s *server) afterPassword(w http.ResponseWriter, r *http.Request, id uuid.UUID, next string) error {
	ctx, m := r.Context(), s.pages.sessions
	have, err := s.Accounts.Factors(ctx, id)
	if err != nil {
		return err
	}
	if !have.Second() {
		if err := s.beginSession(r, id); err != nil {
			return err
		}
		return seeOther(w, r, next)
	}
	if err := s.forgetPerson(ctx); err != nil {
		return err
	}
	m.Put(ctx, pendingKey, id.String())
	m.Put(ctx, pendingNextKey, next)
	return seeOther(w, r, "/sign-in/second")
}

// forgetPerson makes the session nobody's, under a new token and for a short while.
func (s *server) forgetPerson(ctx context.Context) error {
	m := s.pages.sessions
	if err := m.Clear(ctx); err != nil {
		return err
	}
	if err := m.RenewToken(ctx); err != nil {
		return err
	}
	m.SetDeadline(ctx, time.Now().Add(pendingFor)) //nolint:forbidigo // the session's end is the database's
	return nil
}

// pending is who has given the right password and not yet more; false for nobody.
func (s *server) pending(ctx context.Context) (uuid.UUID, bool) {
	id, err := uuid.Parse(s.pages.sessions.GetString(ctx, pendingKey))
	return id, err == nil
}

// enter signs the person in who proved more than a password.
func (s *server) enter(r *http.Request, id uuid.UUID, by string) error {
	ctx, m := r.Context(), s.pages.sessions
	m.Remove(ctx, pendingKey)
	m.Remove(ctx, pendingNextKey)
	if err := s.beginSession(r, id); err != nil {
		return err
	}
	m.Put(ctx, factorKey, by)
	return nil
}

// proved marks the session: the person has just shown who they are.
func (s *server) proved(ctx context.Context) {
	s.pages.sessions.Put(ctx, freshKey, time.Now().Unix()) //nolint:forbidigo // comfort of one process, as the idle time
}

// fresh reports whether that was a short while ago.
func (s *server) fresh(ctx context.Context) bool {
	at := time.Unix(s.pages.sessions.GetInt64(ctx, freshKey), 0)
	return time.Since(at) < provedFor //nolint:forbidigo // see proved
}

// askFirst wraps what changes by what a person signs in: whoever has not shown for a while who they
// are is asked first, so that a session that was left open is not enough.
func (s *server) askFirst(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.fresh(r.Context()) {
			return h(w, r)
		}
		return seeOther(w, r, "/account/confirm")
	}
}

// enrolled marks the session after the person has set up a second factor in it.
func (s *server) enrolled(ctx context.Context, by string) error {
	if err := s.renewSession(ctx); err != nil {
		return err
	}
	s.pages.sessions.Put(ctx, factorKey, by)
	return nil
}

// factorRoutes are the pages about what a person signs in with, and of the second half of a sign-in.
func (s *server) factorRoutes(get, post router) []route {
	public := func(rt route) route { rt.public = true; return rt }
	list := []route{
		get("/account/confirm", signedIn, s.askPerson),
		post("/account/confirm", signedIn, s.confirmPerson),
		get("/account/factors", signedIn, s.factors),
		get("/account/factors/totp", signedIn, s.askFirst(s.totpForm)),
		post("/account/factors/totp", signedIn, s.askFirst(s.confirmTOTP)),
		post("/account/factors/totp/remove", signedIn, s.askFirst(s.removeTOTP)),
		post("/account/factors/codes", signedIn, s.askFirst(s.newCodes)),
		post("/account/factors/passkeys/options", signedIn, s.passkeyOptions),
		post("/account/factors/passkeys", signedIn, s.askFirst(s.addPasskey)),
		post("/account/factors/passkeys/{id}/rename", signedIn, s.renamePasskey),
		post("/account/factors/passkeys/{id}/remove", signedIn, s.askFirst(s.removePasskey)),
		get("/account/factors/company", signedIn, s.askFirst(s.linkCompany)),
		post("/account/factors/company/remove", signedIn, s.askFirst(s.unlinkCompany)),
	}
	for i := range list {
		list[i].enrol = true
	}
	return append(list,
		public(get("/sign-in/second", "", s.secondForm)),
		public(post("/sign-in/second", "", s.second)),
		public(post("/sign-in/passkey/options", "", s.signInOptions)),
		public(post("/sign-in/passkey", "", s.signInByPasskey)),
		public(get("/sign-in/company", "", s.toCompany)),
		public(get("/sign-in/company/back", "", s.fromCompany)),
	)
}

// mustKeepFactor reports whether the person may not be without one.
func (s *server) mustKeepFactor(r *http.Request) bool {
	return s.StaffFactor && request.Actor(r.Context()).Role.Staff()
}
