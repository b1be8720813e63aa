package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/url"

	"github.com/pquerna/otp"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// factors is the page about what the person signs in with.
func (s *server) factors(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	m, err := s.factorsModel(r)
	if err != nil {
		return err
	}
	if s.factorMissing(ctx, request.Actor(ctx)) && m.Second {
		return s.signOut(w, r) // begun before there was one: by the whole way in, please
	}
	return s.render(w, r, http.StatusOK, views.Factors(m))
}

func (s *server) factorsModel(r *http.Request) (m views.FactorsPage, err error) {
	ctx := r.Context()
	actor := request.Actor(ctx)
	have, err := s.Accounts.Factors(ctx, actor.ID)
	if err != nil {
		return m, err
	}
	m = views.FactorsPage{
		TOTP: have.TOTP, Codes: have.Codes, Second: have.Second(), Must: s.factorMissing(ctx, actor), Named: s.passkeySite(r) != nil,
		Company: s.Company != nil && actor.Role.Staff(), Linked: have.Identity, Fresh: s.fresh(ctx),
	}
	if s.Company != nil {
		m.CompanyName = s.Company.Name
	}
	for _, k := range have.Passkeys {
		m.Passkeys = append(m.Passkeys, views.PasskeyRow{ID: k.ID.String(), Name: k.Name, Since: k.CreatedAt, Used: k.LastUsedAt})
	}
	return m, nil
}

// factorsAgain shows the page with what was refused.
func (s *server) factorsAgain(w http.ResponseWriter, r *http.Request, status int, fault views.Fault) error {
	m, err := s.factorsModel(r)
	if err != nil {
		return err
	}
	m.Faults = []views.Fault{fault}
	return s.renderAt(w, r, status, "/account/factors", views.Factors(m))
}

// askPerson asks once more who it is.
func (s *server) askPerson(w http.ResponseWriter, r *http.Request) error {
	if s.fresh(r.Context()) {
		return seeOther(w, r, "/account/factors")
	}
	return s.render(w, r, http.StatusOK, views.ConfirmPerson(views.ConfirmPersonPage{
		Email: request.Actor(r.Context()).Email, Named: s.passkeySite(r) != nil, Company: s.companyName(),
	}))
}

func (s *server) confirmPerson(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	if err := s.Accounts.ConfirmPassword(ctx, actor.ID, f.Get("own_password")); err != nil {
		faults, p, err := s.passwordFaults(ctx, err, "own_password")
		if err != nil {
			return err
		}
		problem.Headers(w, p)
		return s.renderAt(w, r, p.Status, "/account/confirm", views.ConfirmPerson(views.ConfirmPersonPage{
			Email: actor.Email, Faults: faults, Named: s.passkeySite(r) != nil, Company: s.companyName(),
		}))
	}
	s.proved(ctx)
	return seeOther(w, r, "/account/factors")
}

// totpForm shows the secret for an app, as a picture and as text.
func (s *server) totpForm(w http.ResponseWriter, r *http.Request) error {
	return s.showTOTP(w, r, http.StatusOK)
}

func (s *server) showTOTP(w http.ResponseWriter, r *http.Request, status int, faults ...views.Fault) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	secret, err := s.Accounts.BeginTOTP(ctx, request.By(ctx), actor.ID)
	if _, ok := errors.AsType[*accounts.Invalid](err); ok {
		return seeOther(w, r, "/account/factors")
	}
	if err != nil {
		return err
	}
	picture, err := totpPicture(secret, actor.Email)
	if err != nil {
		return err
	}
	return s.renderAt(w, r, status, "/account/factors/totp", views.TOTP(views.TOTPPage{
		Secret: accounts.TOTPText(secret), Picture: picture, Faults: faults,
	}))
}

// totpPicture is what an app scans: a data: address of an image.
func totpPicture(secret []byte, email string) (string, error) {
	at := "otpauth://totp/" + url.PathEscape("Ironhold:"+email) + "?" + url.Values{"secret": {accounts.TOTPText(secret)}, "issuer": {"Ironhold"}}.Encode()
	key, err := otp.NewKeyFromURL(at)
	if err != nil {
		return "", fmt.Errorf("picture of a secret: %w", err)
	}
	img, err := key.Image(240, 240)
	if err != nil {
		return "", fmt.Errorf("picture of a secret: %w", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return "", fmt.Errorf("picture of a secret: %w", err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

func (s *server) confirmTOTP(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	codes, err := s.Accounts.ConfirmTOTP(ctx, request.By(ctx), request.Actor(ctx).ID, s.sessionID(ctx), codeText(f.Get("code")))
	if fault, p, ok := s.codeFault(ctx, err); ok {
		problem.Headers(w, p)
		return s.showTOTP(w, r, p.Status, fault)
	}
	if err != nil {
		return err
	}
	if err := s.enrolled(ctx, byCode); err != nil {
		return err
	}
	return s.showCodes(w, r, codes)
}

// codeFault is what is wrong with a code, if that is what err says.
func (s *server) codeFault(ctx context.Context, err error) (views.Fault, *problem.Problem, bool) {
	if tries, ok := errors.AsType[*accounts.TooManyTries](err); ok {
		p := problem.New(problem.TooManyRequests, "")
		p.RetryAfter = tries.Wait
		text := i18n.T(ctx, "factor.too_many", "time", i18n.Clock(ctx, tries.Until, tries.Until.Add(-tries.Wait), false))
		return views.Fault{Field: "code", Message: text}, p, true
	}
	if _, ok := errors.AsType[*accounts.CodeWrong](err); ok {
		return views.Fault{Field: "code", Message: i18n.T(ctx, "factor.code_wrong")}, problem.New(problem.Invalid, ""), true
	}
	return views.Fault{}, nil, false
}

// showCodes shows recovery codes, which is done once; with none new it goes back.
func (s *server) showCodes(w http.ResponseWriter, r *http.Request, codes []string) error {
	if len(codes) == 0 {
		s.notify(r.Context(), "factor.saved")
		return seeOther(w, r, "/account/factors")
	}
	return s.renderAt(w, r, http.StatusCreated, "/account/factors", views.RecoveryCodes(views.RecoveryCodesPage{Codes: codes}))
}

func (s *server) newCodes(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	have, err := s.Accounts.Factors(ctx, actor.ID)
	if err != nil {
		return err
	}
	if !have.Second() {
		return s.factorsAgain(w, r, http.StatusConflict, views.Fault{Message: i18n.T(ctx, "factor.codes_alone")})
	}
	codes, err := s.Accounts.NewRecoveryCodes(ctx, request.By(ctx), actor.ID)
	if err != nil {
		return err
	}
	return s.showCodes(w, r, codes)
}

func (s *server) removeTOTP(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	err := s.Accounts.RemoveTOTP(ctx, request.By(ctx), request.Actor(ctx).ID, s.mustKeepFactor(r))
	return s.afterRemoval(w, r, err)
}

func (s *server) afterRemoval(w http.ResponseWriter, r *http.Request, err error) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	if _, last := errors.AsType[*accounts.LastFactor](err); last {
		return s.factorsAgain(w, r, http.StatusConflict, views.Fault{Message: i18n.T(ctx, "factor.last")})
	}
	if err != nil {
		return err
	}
	s.notify(ctx, "factor.removed")
	return seeOther(w, r, "/account/factors")
}
