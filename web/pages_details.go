package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// detailsInput is all that the form of name and address can set.
type detailsInput struct{ name, email, password string }

func readDetails(f url.Values) detailsInput {
	return detailsInput{name: f.Get("name"), email: strings.ToLower(strings.TrimSpace(f.Get("email"))), password: f.Get("old_password")}
}

func (s *server) detailsForm(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	return s.render(w, r, http.StatusOK, views.Details(views.DetailsPage{Name: actor.Name, Email: actor.Email}))
}

// saveDetails changes the person's name, and with their password begins the change of the address they
// sign in with: it counts once the link in the mail to it is opened.
func (s *server) saveDetails(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in, actor, ctx := readDetails(f), request.Actor(r.Context()), i18n.With(r.Context(), s.locale(r))
	refuse := func(status int, faults ...views.Fault) error {
		return s.renderAt(w, r, status, "/account/details", views.Details(views.DetailsPage{Name: in.name, Email: in.email, Faults: faults}))
	}
	notice := "account.saved"
	if in.email != actor.Email {
		err := s.Accounts.AskEmail(ctx, request.By(ctx), actor.ID, in.password, in.name, in.email)
		if invalid, ok := errors.AsType[*accounts.Invalid](err); ok {
			return refuse(http.StatusUnprocessableEntity, detailsFault(ctx, invalid))
		}
		if err != nil {
			faults, p, err := s.passwordFaults(ctx, err, "old_password")
			if err != nil {
				return err
			}
			return refuse(p.Status, faults...)
		}
		notice = "email.asked"
	}
	if in.email == actor.Email && in.name != actor.Name {
		err := s.Accounts.SetOwnName(ctx, request.By(ctx), actor.ID, in.name)
		if invalid, ok := errors.AsType[*accounts.Invalid](err); ok {
			return refuse(http.StatusUnprocessableEntity, detailsFault(ctx, invalid))
		}
		if err != nil {
			return err
		}
	}
	s.notify(ctx, notice)
	return seeOther(w, r, "/account")
}

func detailsFault(ctx context.Context, invalid *accounts.Invalid) views.Fault {
	key := "details.fault." + invalid.Field
	if invalid.Field == "name" {
		key = "join.fault.name"
	}
	return views.Fault{Field: invalid.Field, Message: i18n.T(ctx, key)}
}
