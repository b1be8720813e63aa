package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// home is the sign-in, or where a role begins its day.
func (s *server) home(w http.ResponseWriter, r *http.Request) error {
	info := request.From(r.Context())
	switch {
	case !info.Known:
		return s.render(w, r, http.StatusOK, views.SignIn(s.signInForm(r, "")))
	case info.Actor.Role == accounts.Sales:
		return seeOther(w, r, "/desk")
	case info.Actor.Role == accounts.Operator:
		return seeOther(w, r, "/fleet")
	}
	m, err := s.homeModel(r.Context(), info.Actor)
	if err != nil {
		return err
	}
	return s.renderLive(w, r, "page", m, views.Home(m))
}

// homeRows bounds what the start page counts and shows.
const homeRows = 100

func (s *server) homeModel(ctx context.Context, actor accounts.Actor) (views.HomePage, error) {
	scope := holds.Scope{OrgID: actor.OrgID}
	var m views.HomePage
	live, err := s.Holds.List(ctx, holds.Filter{Scope: scope, State: holds.Held, Limit: homeRows})
	if err != nil {
		return m, err
	}
	for _, h := range live {
		m.Live = append(m.Live, holdRow(h))
	}
	services, err := s.Holds.ListServices(ctx, holds.Filter{Scope: scope, Limit: homeRows})
	if err != nil {
		return m, err
	}
	for _, v := range services {
		if v.EndedAt == nil {
			m.Services++
		}
	}
	m.Off, err = s.offFor(ctx, actor.OrgID)
	return m, err
}

// signIn answers the form of the sign-in page. Mistakes are told on the page; the words for a wrong
// address and a wrong password are the same.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	m := s.signInForm(r, ownPath(f.Get("next")))
	m.Email = strings.TrimSpace(f.Get("email"))
	if m.Email == "" {
		m.Faults = append(m.Faults, views.Fault{Field: "email", Message: i18n.T(ctx, "signin.fill_email")})
	}
	if f.Get("password") == "" {
		m.Faults = append(m.Faults, views.Fault{Field: "password", Message: i18n.T(ctx, "signin.fill_password")})
	}
	if len(m.Faults) > 0 {
		return s.renderAt(w, r, http.StatusUnprocessableEntity, m.Next, views.SignIn(m))
	}
	if s.tooManyGuesses(r) {
		p := problem.New(problem.TooManyRequests, "")
		p.RetryAfter = guessWindow
		return s.signInAgain(w, r, m, p, i18n.T(ctx, "signin.too_many_network"))
	}
	_, id, err := s.Accounts.SignIn(r.Context(), m.Email, f.Get("password"))
	if tries, many := errors.AsType[*accounts.TooManyTries](err); many {
		p := problem.New(problem.TooManyRequests, "")
		p.RetryAfter = tries.Wait
		return s.signInAgain(w, r, m, p, s.tooManyText(ctx, tries))
	}
	if _, wrong := errors.AsType[*accounts.Unauthenticated](err); wrong {
		s.countGuess(r)
		request.From(r.Context()).Problem = string(problem.Unauthenticated)
		m.Faults = []views.Fault{{Field: "email", Message: i18n.T(ctx, "signin.wrong")}}
		return s.renderAt(w, r, http.StatusUnauthorized, m.Next, views.SignIn(m))
	}
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
		return s.signInAgain(w, r, m, problem.From(err), i18n.T(ctx, "signin.busy"))
	}
	if err != nil {
		return err
	}
	return s.afterPassword(w, r, id, m.Next)
}

// signInAgain shows the form once more, with what is wrong besides its fields.
func (s *server) signInAgain(w http.ResponseWriter, r *http.Request, m views.SignInForm, p *problem.Problem, message string) error {
	request.From(r.Context()).Problem = string(p.Name)
	problem.Headers(w, p)
	m.Faults = []views.Fault{{Message: message}}
	return s.renderAt(w, r, p.Status, m.Next, views.SignIn(m))
}

// tooManyText says until when an account takes no password. The words are the same whether or not
// there is such an account.
func (s *server) tooManyText(ctx context.Context, e *accounts.TooManyTries) string {
	return i18n.T(ctx, "signin.too_many", "time", i18n.Clock(ctx, e.Until, e.Until.Add(-e.Wait), false))
}

// signOut ends the session, on the server too.
func (s *server) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.pages.sessions.Destroy(r.Context()); err != nil {
		return err
	}
	s.pages.known.forget(s.cookie(r, "session"))
	return seeOther(w, r, "/")
}

// setPreferences keeps language and colours in cookies, the language of a signed-in person also
// with the person, and goes back to the page it came from.
func (s *server) setPreferences(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	if lang := f.Get("language"); i18n.Known(lang) {
		s.setCookie(w, "language", lang)
		if info := request.From(r.Context()); info.Known && info.Actor.Kind == "user" && info.Actor.Language != lang {
			if err := s.Accounts.SetPreferences(r.Context(), request.By(r.Context()), info.Actor.ID, info.Actor.TimeZone, lang); err != nil {
				return err
			}
		}
	}
	s.keepTheme(w, f.Get("theme"))
	return seeOther(w, r, ownPath(f.Get("next")))
}

func (s *server) setCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(name), Value: value, Path: "/", MaxAge: 365 * 24 * 60 * 60,
		Secure: s.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (s *server) dropCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(name), Path: "/", MaxAge: -1, Secure: s.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (s *server) help(w http.ResponseWriter, r *http.Request) error {
	var names []string
	for _, k := range problem.All() {
		names = append(names, string(k.Name))
	}
	return s.render(w, r, http.StatusOK, views.Help(names))
}

// explain is the page that a problem's type leads to.
func (s *server) explain(w http.ResponseWriter, r *http.Request) error {
	k, ok := problem.Lookup(request.PathValue(r, "name"))
	if !ok {
		return problem.NoSuch()
	}
	return s.render(w, r, http.StatusOK, views.Explain(views.ExplainPage{Name: string(k.Name), Status: k.Status}))
}
