package web

import (
	"errors"
	"net/http"
	"strings"
	"unicode"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// secondForm asks for the second factor of whoever has given the right password.
func (s *server) secondForm(w http.ResponseWriter, r *http.Request) error {
	return s.askSecond(w, r, http.StatusOK)
}

func (s *server) askSecond(w http.ResponseWriter, r *http.Request, status int, faults ...views.Fault) error {
	ctx := r.Context()
	id, ok := s.pending(ctx)
	if !ok {
		return seeOther(w, r, "/")
	}
	have, err := s.Accounts.Factors(ctx, id)
	if err != nil {
		return err
	}
	return s.renderAt(w, r, status, "/sign-in/second", views.Second(views.SecondPage{
		TOTP: have.TOTP, Passkeys: len(have.Passkeys) > 0, Named: s.passkeySite(r) != nil, Faults: faults,
	}))
}

// second takes a code of an app or a recovery code.
func (s *server) second(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	id, ok := s.pending(ctx)
	if !ok {
		return seeOther(w, r, "/")
	}
	if s.tooManyGuesses(r) {
		p := problem.New(problem.TooManyRequests, "")
		p.RetryAfter = guessWindow
		problem.Headers(w, p)
		return s.askSecond(w, r, p.Status, views.Fault{Field: "code", Message: i18n.T(ctx, "signin.too_many_network")})
	}
	actor, err := s.Accounts.ActorOfUser(ctx, id)
	if _, gone := errors.AsType[*accounts.Unauthenticated](err); gone {
		return s.signOut(w, r)
	}
	if err != nil {
		return err
	}
	err = s.Accounts.CheckCode(ctx, actor.By(request.ID(ctx)), id, codeText(f.Get("code")))
	if fault, p, wrong := s.codeFault(ctx, err); wrong {
		s.countGuess(r)
		problem.Headers(w, p)
		return s.askSecond(w, r, p.Status, fault)
	}
	if err != nil {
		return err
	}
	next := ownPath(s.pages.sessions.GetString(ctx, pendingNextKey))
	if err := s.enter(r, id, byCode); err != nil {
		return err
	}
	return seeOther(w, r, next)
}

// codeText is a code without the spaces with which apps show it.
func codeText(code string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, code)
}
