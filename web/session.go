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
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		if !s.offersFromMemory(w, r, err) {
			s.fail(w, r, false, err)
		}
	}
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

// sessionActor is who is signed in; false when nobody is. What a script asks by itself (passive)
// does not keep a session awake.
func (s *server) sessionActor(r *http.Request, passive bool) (accounts.Actor, bool, error) {
	ctx := r.Context()
	if !hasSession(ctx) {
		return accounts.Actor{}, false, nil
	}
	m := s.pages.sessions
	actor, ok, err := s.currentActor(ctx)
	switch {
	case err != nil:
		return accounts.Actor{}, false, err
	case !ok && m.Exists(ctx, accounts.SessionUserKey):
		return accounts.Actor{}, false, m.Destroy(ctx)
	case ok:
		s.pages.known.remember(s.cookie(r, "session"), actor)
	}
	if !ok || passive {
		return actor, ok, nil
	}
	if now := time.Now(); now.Sub(s.lastSeen(ctx)) > seenEvery { //nolint:forbidigo // see currentActor
		m.Put(ctx, seenKey, now.Unix())
	}
	return actor, true, nil
}

// currentActor is who is signed in by the session in the context, if it is not idle for too long.
// The person is read anew each time, so that a change of role or a disabled account counts at once.
// Nothing is changed.
func (s *server) currentActor(ctx context.Context) (accounts.Actor, bool, error) {
	id, err := uuid.Parse(s.pages.sessions.GetString(ctx, accounts.SessionUserKey))
	if err != nil {
		return accounts.Actor{}, false, nil //nolint:nilerr // nobody is signed in
	}
	actor, err := s.Accounts.ActorOfUser(ctx, id)
	if _, gone := errors.AsType[*accounts.Unauthenticated](err); gone {
		return accounts.Actor{}, false, nil
	}
	if err != nil {
		return accounts.Actor{}, false, err
	}
	idle := idleCustomer
	if actor.Role.Staff() {
		idle = idleStaff
	}
	now := time.Now() //nolint:forbidigo // comfort of one process; the session's end is the database's
	if now.Sub(s.lastSeen(ctx)) > idle {
		return accounts.Actor{}, false, nil
	}
	return actor, true, nil
}

func (s *server) lastSeen(ctx context.Context) time.Time {
	return time.Unix(s.pages.sessions.GetInt64(ctx, seenKey), 0)
}

// withoutSession is a context that ends with ctx and carries no session, so that one can be loaded.
func withoutSession(ctx context.Context) context.Context { return bare{ctx} }

type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// beginSession signs the person in under a new token.
func (s *server) beginSession(r *http.Request, id uuid.UUID) error {
	ctx, m := r.Context(), s.pages.sessions
	if err := m.RenewToken(ctx); err != nil {
		return err
	}
	agent := r.UserAgent()
	m.Put(ctx, accounts.SessionUserKey, id.String())
	m.Put(ctx, accounts.SessionIDKey, uuid.NewString())
	m.Put(ctx, accounts.SessionNetworkKey, s.clientAddr(r).String())
	m.Put(ctx, accounts.SessionAgentKey, strings.ToValidUTF8(agent[:min(len(agent), 300)], ""))
	m.Put(ctx, seenKey, time.Now().Unix()) //nolint:forbidigo // see sessionActor
	m.Remove(ctx, factorKey)
	s.proved(ctx)
	return nil
}

// sessionID is how the session in the context is called where it is shown; zero for none.
func (s *server) sessionID(ctx context.Context) uuid.UUID {
	id, err := uuid.Parse(s.pages.sessions.GetString(ctx, accounts.SessionIDKey))
	if err != nil {
		return uuid.Nil
	}
	return id
}

// renewSession gives the session a new token, and a new name with it.
func (s *server) renewSession(ctx context.Context) error {
	if err := s.pages.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.pages.sessions.Put(ctx, accounts.SessionIDKey, uuid.NewString())
	return nil
}

// notify keeps the key of a message for the next page.
func (s *server) notify(ctx context.Context, message string) {
	s.pages.sessions.Put(ctx, noticeKey, message)
}
