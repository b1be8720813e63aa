package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/static"
)

// How long a session lives: in all, and without a request. The time of the last request is kept
// to the minute, so that not every request writes.
const (
	sessionLife  = 7 * 24 * time.Hour
	idleStaff    = 30 * time.Minute
	idleCustomer = 12 * time.Hour
	seenEvery    = time.Minute

	seenKey   = "seen"
	noticeKey = "notice"
)

// newSessions makes the manager: the browser keeps a random token, the database its hash.
func (s *server) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = accounts.NewSessionStore(s.DB)
	m.HashTokenInStore = true
	m.Lifetime = sessionLife
	m.Cookie.Name = s.cookieName("session")
	m.Cookie.Path = "/"
	m.Cookie.HttpOnly = true
	m.Cookie.SameSite = http.SameSiteLaxMode
	m.Cookie.Secure = s.Secure
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) { s.fail(w, r, false, err) }
	return m
}

// cookieName carries the prefix that binds a cookie to this host, where https is in front.
func (s *server) cookieName(name string) string {
	if s.Secure {
		return "__Host-" + name
	}
	return name
}

type sessionReady struct{}

// hasSession reports whether the request went through withSession.
func hasSession(ctx context.Context) bool { return ctx.Value(sessionReady{}) != nil }

// withSession loads the session of a page's request and saves it with the answer. Assets need
// none, so they are served without the database.
func (s *server) withSession(next http.Handler) http.Handler {
	marked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionReady{}, true)))
	})
	loaded := s.pages.sessions.LoadAndSave(marked)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, static.Prefix) || hasSession(r.Context()) {
			next.ServeHTTP(w, r)
			return
		}
		loaded.ServeHTTP(w, r)
	})
}

// sessionActor is who is signed in; false when nobody is. The person is read anew each time, so
// that a change of role or a disabled account counts at once.
func (s *server) sessionActor(r *http.Request) (accounts.Actor, bool, error) {
	ctx := r.Context()
	if !hasSession(ctx) {
		return accounts.Actor{}, false, nil
	}
	m := s.pages.sessions
	id, err := uuid.Parse(m.GetString(ctx, accounts.SessionUserKey))
	if err != nil {
		return accounts.Actor{}, false, nil //nolint:nilerr // nobody is signed in
	}
	actor, err := s.Accounts.ActorOfUser(ctx, id)
	if _, gone := errors.AsType[*accounts.Unauthenticated](err); gone {
		return accounts.Actor{}, false, m.Destroy(ctx)
	}
	if err != nil {
		return accounts.Actor{}, false, err
	}
	idle := idleCustomer
	if actor.Role.Staff() {
		idle = idleStaff
	}
	now := time.Now() //nolint:forbidigo // comfort of one process; the session's end is the database's
	seen := time.Unix(m.GetInt64(ctx, seenKey), 0)
	if now.Sub(seen) > idle {
		return accounts.Actor{}, false, m.Destroy(ctx)
	}
	if now.Sub(seen) > seenEvery {
		m.Put(ctx, seenKey, now.Unix())
	}
	return actor, true, nil
}

// beginSession signs the person in under a new token.
func (s *server) beginSession(r *http.Request, id uuid.UUID) error {
	ctx, m := r.Context(), s.pages.sessions
	if err := m.RenewToken(ctx); err != nil {
		return err
	}
	agent := r.UserAgent()
	m.Put(ctx, accounts.SessionUserKey, id.String())
	m.Put(ctx, accounts.SessionAgentKey, strings.ToValidUTF8(agent[:min(len(agent), 300)], ""))
	m.Put(ctx, seenKey, time.Now().Unix()) //nolint:forbidigo // see sessionActor
	return nil
}

// notify keeps the key of a message for the next page.
func (s *server) notify(ctx context.Context, message string) {
	s.pages.sessions.Put(ctx, noticeKey, message)
}
