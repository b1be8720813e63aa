package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

func (s *server) backToAccount(w http.ResponseWriter, r *http.Request) error {
	return seeOther(w, r, "/account")
}

func (s *server) account(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	m, err := s.accountModel(r, actor.Language, actor.TimeZone)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Account(m))
}

func (s *server) accountModel(r *http.Request, language, zone string) (m views.AccountPage, err error) {
	ctx := r.Context()
	list, err := s.Accounts.Sessions(ctx, request.Actor(ctx).ID)
	if err != nil {
		return m, err
	}
	m = views.AccountPage{Language: language, Zone: zone, Zones: accounts.TimeZones()}
	wish, err := s.Accounts.WishedEmail(ctx, request.Actor(ctx).ID)
	if err != nil {
		return m, err
	}
	if wish != nil {
		m.NewEmail, m.NewEmailUntil = wish.Email, wish.Until
	}
	this := s.sessionID(ctx)
	for _, e := range list {
		m.Sessions = append(m.Sessions, views.SessionRow{
			ID: e.ID.String(), Agent: e.UserAgent, Network: e.Network, Since: e.CreatedAt, Seen: e.LastSeenAt, This: e.ID == this,
		})
	}
	return m, nil
}

// preferencesInput is all that the form of preferences can set.
type preferencesInput struct{ language, zone, theme string }

func readPreferences(f url.Values) preferencesInput {
	return preferencesInput{language: f.Get("language"), zone: strings.TrimSpace(f.Get("time_zone")), theme: f.Get("theme")}
}

// saveAccount keeps language and time zone with the person, the colours with the browser.
func (s *server) saveAccount(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in, ctx := readPreferences(f), i18n.With(r.Context(), s.locale(r))
	var faults []views.Fault
	if in.language != "" && !i18n.Known(in.language) {
		faults = append(faults, views.Fault{Field: "language", Label: i18n.T(ctx, "layout.language"), Message: i18n.T(ctx, "form.fault.pick")})
	}
	if !accounts.KnownTimeZone(in.zone) {
		faults = append(faults, views.Fault{Field: "time_zone", Label: i18n.T(ctx, "account.zone"), Message: i18n.T(ctx, "account.zone_wrong")})
	}
	if len(faults) > 0 {
		m, err := s.accountModel(r, in.language, in.zone)
		if err != nil {
			return err
		}
		m.Faults = faults
		return s.renderAt(w, r, http.StatusUnprocessableEntity, "/account", views.Account(m))
	}
	if err := s.Accounts.SetPreferences(ctx, request.By(ctx), request.Actor(ctx).ID, in.zone, in.language); err != nil {
		return err
	}
	s.keepLanguage(w, in.language)
	s.keepTheme(w, in.theme)
	s.notify(ctx, "account.saved")
	return seeOther(w, r, "/account")
}

// keepLanguage remembers the language in the browser, for when nobody is signed in; "" forgets it.
func (s *server) keepLanguage(w http.ResponseWriter, language string) {
	if language == "" {
		s.dropCookie(w, "language")
		return
	}
	s.setCookie(w, "language", language)
}

func (s *server) keepTheme(w http.ResponseWriter, theme string) {
	switch theme {
	case "light", "dark", "system":
		s.setCookie(w, "theme", theme)
	}
}

func (s *server) passwordForm(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, views.Password(views.PasswordPage{Email: request.Actor(r.Context()).Email}))
}

// passwordInput is all that the form of the password can set.
type passwordInput struct{ old, chosen string }

func (s *server) changePassword(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in := passwordInput{old: f.Get("old_password"), chosen: f.Get("password")}
	actor, ctx := request.Actor(r.Context()), i18n.With(r.Context(), s.locale(r))
	err = s.Accounts.ChangePassword(ctx, request.By(ctx), actor.ID, in.old, in.chosen, s.sessionID(ctx))
	if err != nil {
		faults, p, err := s.passwordFaults(ctx, err, "old_password")
		if err != nil {
			return err
		}
		problem.Headers(w, p)
		return s.renderAt(w, r, p.Status, "/account/password", views.Password(views.PasswordPage{Email: actor.Email, Faults: faults}))
	}
	if err := s.renewSession(ctx); err != nil {
		return err
	}
	s.notify(ctx, "password.changed")
	return seeOther(w, r, "/account")
}

// passwordFaults turns what the accounts say about passwords into faults of a form; old is the field
// of the present one. An error of another kind comes back as it is.
func (s *server) passwordFaults(ctx context.Context, err error, old string) ([]views.Fault, *problem.Problem, error) {
	if tries, ok := errors.AsType[*accounts.TooManyTries](err); ok {
		p := problem.New(problem.TooManyRequests, "")
		p.RetryAfter = tries.Wait
		return []views.Fault{{Field: old, Message: s.tooManyText(ctx, tries)}}, p, nil
	}
	p := problem.New(problem.Invalid, "")
	if refused, ok := errors.AsType[*accounts.PasswordRefused](err); ok {
		var faults []views.Fault
		if refused.Old {
			key := "password.fault.own"
			if old == "old_password" {
				key = "password.fault.old"
			}
			faults = append(faults, views.Fault{Field: old, Message: i18n.T(ctx, key)})
		}
		if fault, bad := chosenFault(ctx, refused.New); bad {
			faults = append(faults, fault)
		}
		return faults, p, nil
	}
	if fault, ok := chosenFault(ctx, err); ok {
		return []views.Fault{fault}, p, nil
	}
	return nil, nil, err
}

// chosenFault is what is wrong with a password that somebody chose, if that is what err says.
func chosenFault(ctx context.Context, err error) (views.Fault, bool) {
	key := ""
	if invalid, ok := errors.AsType[*accounts.Invalid](err); ok && invalid.Field == "password" {
		key = "length"
	}
	if weak, ok := errors.AsType[*accounts.WeakPassword](err); ok {
		key = string(weak.Weakness)
	}
	if key == "" {
		return views.Fault{}, false
	}
	return views.Fault{Field: "password", Message: i18n.T(ctx, "password.fault."+key)}, true
}

// endSession ends one of the person's own sessions.
func (s *server) endSession(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.Accounts.EndSession(ctx, request.By(ctx), request.Actor(ctx).ID, id); err != nil {
		return err
	}
	if id == s.sessionID(ctx) {
		return s.signOut(w, r)
	}
	s.notify(ctx, "account.ended")
	return seeOther(w, r, "/account")
}

func (s *server) endOtherSessions(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := s.Accounts.EndOtherSessions(ctx, request.By(ctx), request.Actor(ctx).ID, s.sessionID(ctx)); err != nil {
		return err
	}
	s.notify(ctx, "account.others_ended")
	return seeOther(w, r, "/account")
}

func (s *server) endAllSessions(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := s.Accounts.SignOutEverywhere(ctx, request.By(ctx), request.Actor(ctx).ID); err != nil {
		return err
	}
	return s.signOut(w, r)
}

// pathID is the identifier in the address.
func pathID(r *http.Request) (uuid.UUID, error) { return pathUUID(r, "id") }

// pathUUID is a named identifier in the address, as it is written; anything else is nothing that exists.
func pathUUID(r *http.Request, name string) (uuid.UUID, error) {
	text := request.PathValue(r, name)
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return uuid.Nil, problem.NoSuch()
	}
	return id, nil
}
