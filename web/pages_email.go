package web

import (
	"errors"
	"net/http"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/web/request"
)

// emailForm asks whether the address that the link was sent to is to count. Programs that look at mails
// open links: so opening changes nothing yet.
func (s *server) emailForm(w http.ResponseWriter, r *http.Request) error {
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	secret := r.URL.Query().Get("token")
	wish, present, err := s.Accounts.EmailBy(r.Context(), secret)
	if err != nil {
		return s.linkEnded(w, r, "email", err)
	}
	return s.render(w, r, http.StatusOK, views.NewEmail(views.NewEmailPage{Token: secret, Email: wish.Email, Present: present}))
}

// useEmail lets the new address count. It signs nobody in.
func (s *server) useEmail(w http.ResponseWriter, r *http.Request) error {
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	err = s.Accounts.UseEmail(ctx, request.ID(ctx), f.Get("token"))
	if _, ok := errors.AsType[*accounts.Invalid](err); ok {
		return s.renderAt(w, r, http.StatusConflict, "/", views.LinkEnded(views.LinkEndedPage{Kind: "email", Why: "taken"}))
	}
	if err != nil {
		return s.linkEnded(w, r, "email", err)
	}
	return s.renderAt(w, r, http.StatusOK, "/", views.NewEmailDone())
}

// dropEmail ends the person's wish for another address.
func (s *server) dropEmail(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := s.Accounts.DropEmail(ctx, request.By(ctx), request.Actor(ctx).ID); err != nil {
		return err
	}
	s.notify(ctx, "email.dropped")
	return seeOther(w, r, "/account")
}
