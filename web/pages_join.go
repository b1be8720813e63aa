package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// oneUse is the address of a one-use link. The secret is in the query, which no log keeps.
func (s *server) oneUse(r *http.Request, path, secret string) string {
	base := s.BaseURL
	if base == "" {
		base = "http://" + r.Host
		if s.Secure {
			base = "https://" + r.Host
		}
	}
	return base + path + "?" + url.Values{"token": {secret}}.Encode()
}

// linkEnded answers a link that does not count any more; another error comes back as it is.
func (s *server) linkEnded(w http.ResponseWriter, r *http.Request, kind string, err error) error {
	ended, ok := errors.AsType[*accounts.LinkEnded](err)
	if !ok {
		return err
	}
	status := http.StatusGone
	if ended.Why == accounts.LinkUnknown {
		status = http.StatusNotFound
		s.countGuess(r)
	}
	return s.renderAt(w, r, status, "/", views.LinkEnded(views.LinkEndedPage{Kind: kind, Why: string(ended.Why)}))
}

func (s *server) joinForm(w http.ResponseWriter, r *http.Request) error {
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	secret := r.URL.Query().Get("token")
	inv, err := s.Accounts.InvitationBy(r.Context(), secret)
	if err != nil {
		return s.linkEnded(w, r, "invitation", err)
	}
	return s.render(w, r, http.StatusOK, views.Join(joinModel(r, secret, inv)))
}

func joinModel(r *http.Request, secret string, inv accounts.Invitation) views.JoinPage {
	org := inv.OrgName
	if inv.OrgID == nil {
		org = "Ironhold"
	}
	return views.JoinPage{Token: secret, Org: org, Email: inv.Email, Role: string(inv.Role), SignedIn: request.Actor(r.Context()).Name}
}

// joinInput is all that a newcomer can say; address, role and organisation are the invitation's.
type joinInput struct{ token, name, password, zone string }

// join makes the account and signs the newcomer in.
func (s *server) join(w http.ResponseWriter, r *http.Request) error {
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	in := joinInput{token: f.Get("token"), name: f.Get("name"), password: f.Get("password"), zone: f.Get("time_zone")}
	if !accounts.KnownTimeZone(in.zone) { // a script filled it in, or none did
		in.zone = ""
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	user, err := s.Accounts.Accept(ctx, request.ID(ctx), in.token, accounts.Newcomer{Name: in.name, Password: in.password, TimeZone: in.zone})
	if fault, ok := joinFault(ctx, err); ok {
		inv, err := s.Accounts.InvitationBy(ctx, in.token)
		if err != nil {
			return s.linkEnded(w, r, "invitation", err)
		}
		m := joinModel(r, in.token, inv)
		m.Name, m.Faults = in.name, []views.Fault{fault}
		return s.renderAt(w, r, http.StatusUnprocessableEntity, "", views.Join(m))
	}
	if err != nil {
		return s.linkEnded(w, r, "invitation", err)
	}
	if err := s.beginSession(r, user.ID); err != nil {
		return err
	}
	s.notify(ctx, "join.welcome")
	return seeOther(w, r, "/")
}

func joinFault(ctx context.Context, err error) (views.Fault, bool) {
	if fault, ok := chosenFault(ctx, err); ok {
		return fault, true
	}
	invalid, ok := errors.AsType[*accounts.Invalid](err)
	if !ok {
		return views.Fault{}, false
	}
	switch invalid.Field {
	case "name":
		return views.Fault{Field: "name", Message: i18n.T(ctx, "join.fault.name")}, true
	case "email":
		return views.Fault{Message: i18n.T(ctx, "join.fault.email")}, true
	}
	return views.Fault{}, false
}

func (s *server) resetForm(w http.ResponseWriter, r *http.Request) error {
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	secret := r.URL.Query().Get("token")
	user, err := s.Accounts.ResetBy(r.Context(), secret)
	if err != nil {
		return s.linkEnded(w, r, "reset", err)
	}
	return s.render(w, r, http.StatusOK, views.Reset(views.ResetPage{Token: secret, Email: user.Email}))
}

// resetInput is all that the form of a new password by link can set.
type resetInput struct{ token, password string }

// reset sets the password. It signs nobody in: whoever has the password can do that now.
func (s *server) reset(w http.ResponseWriter, r *http.Request) error {
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	in := resetInput{token: f.Get("token"), password: f.Get("password")}
	ctx := i18n.With(r.Context(), s.locale(r))
	err = s.Accounts.UseReset(ctx, request.ID(ctx), in.token, in.password)
	if fault, ok := chosenFault(ctx, err); ok {
		user, err := s.Accounts.ResetBy(ctx, in.token)
		if err != nil {
			return s.linkEnded(w, r, "reset", err)
		}
		m := views.ResetPage{Token: in.token, Email: user.Email, Faults: []views.Fault{fault}}
		return s.renderAt(w, r, http.StatusUnprocessableEntity, "", views.Reset(m))
	}
	if err != nil {
		return s.linkEnded(w, r, "reset", err)
	}
	return s.renderAt(w, r, http.StatusOK, "/", views.ResetDone())
}

func tooManyLinks() error {
	p := problem.New(problem.TooManyRequests, "Too many links that do not exist were tried from this network.")
	p.RetryAfter = guessWindow
	return p
}
