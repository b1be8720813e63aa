package web

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"ironhold/accounts"
	"ironhold/migrations/pg"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// Company is the hosting company's own sign-in, for its staff: OpenID Connect, code flow with PKCE.
// Who somebody is there is the issuer and its subject, never an address; whether the sign-in there
// asks for a second factor is the company's own affair.
type Company struct {
	Name   string // as the button shows it
	Issuer string // https://..., as the provider spells it
	ID     string // this site's, there
	Secret string
	Client *http.Client // nil: one with a time limit

	mu       sync.Mutex
	provider *oidc.Provider
}

// companyWait bounds what a person waits for the provider.
const companyWait = 10 * time.Second

// CheckIssuer takes https, and http on this machine.
func CheckIssuer(text string) error {
	u, err := url.Parse(text)
	local := err == nil && u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !local {
		return fmt.Errorf("%q is not an issuer such as https://login.example", text)
	}
	return nil
}

// discover asks the provider how it is spoken to, once it has answered no more.
func (c *Company) discover(ctx context.Context) (*oidc.Provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.provider != nil {
		return c.provider, nil
	}
	// The provider's keys are fetched later with this context's client, hence not the request's own.
	p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), c.client()), c.Issuer)
	if err != nil {
		return nil, fmt.Errorf("sign-in of the company: %w", err)
	}
	c.provider = p
	return p, nil
}

func (c *Company) client() *http.Client {
	if c.Client != nil {
		return c.Client
	}
	return &http.Client{Timeout: companyWait}
}

func (c *Company) config(p *oidc.Provider, base string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, Endpoint: p.Endpoint(), RedirectURL: base + "/sign-in/company/back", Scopes: []string{oidc.ScopeOpenID},
	}
}

// companyKey holds what a way to the provider began with, until it leads back: once.
const companyKey = "company"

// companyTrip is one way to the provider and back.
type companyTrip struct {
	State, Nonce, Verifier, Next string
	Link                         string // of whom the account shall be; "" to sign in
}

func (s *server) companyName() string {
	if s.Company == nil {
		return ""
	}
	return s.Company.Name
}

// toCompany leads to the provider. It is a GET since our policy lets no form lead to another site; it
// changes nothing but this browser's own session.
func (s *server) toCompany(w http.ResponseWriter, r *http.Request) error {
	return s.travel(w, r, companyTrip{Next: ownPath(r.URL.Query().Get("next"))})
}

// linkCompany leads to the provider to connect the account there with the person.
func (s *server) linkCompany(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	if !actor.Role.Staff() {
		return forbidden()
	}
	return s.travel(w, r, companyTrip{Next: "/account/factors", Link: actor.ID.String()})
}

func (s *server) travel(w http.ResponseWriter, r *http.Request, trip companyTrip) error {
	if s.Company == nil {
		return problem.NoSuch()
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return problem.New(problem.CrossOrigin, "The way to the company's sign-in begins on this site.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), companyWait)
	defer cancel()
	p, err := s.Company.discover(ctx)
	if err != nil {
		return s.companyFailed(w, r, trip, "signin.company_failed", err)
	}
	trip.State, trip.Nonce, trip.Verifier = newNonce(), newNonce(), oauth2.GenerateVerifier()
	kept, err := json.Marshal(trip)
	if err != nil {
		return err
	}
	m := s.pages.sessions
	if !m.Exists(r.Context(), accounts.SessionUserKey) {
		m.SetDeadline(r.Context(), time.Now().Add(pendingFor)) //nolint:forbidigo // the session's end is the database's
	}
	m.Put(r.Context(), companyKey, string(kept))
	to := s.Company.config(p, s.base(r)).AuthCodeURL(trip.State, oidc.Nonce(trip.Nonce), oauth2.S256ChallengeOption(trip.Verifier))
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// base is this site's address.
func (s *server) base(r *http.Request) string {
	switch {
	case s.BaseURL != "":
		return s.BaseURL
	case s.Secure:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// fromCompany takes what the provider says and signs its person in, or connects the account.
func (s *server) fromCompany(w http.ResponseWriter, r *http.Request) error {
	if s.Company == nil {
		return problem.NoSuch()
	}
	ctx := r.Context()
	var trip companyTrip
	if text := s.pages.sessions.PopString(ctx, companyKey); text == "" || json.Unmarshal([]byte(text), &trip) != nil {
		return s.companyFailed(w, r, trip, "signin.company_failed", errors.New("nobody was sent there"))
	}
	subject, err := s.companySubject(ctx, r, trip)
	if err != nil {
		return s.companyFailed(w, r, trip, "signin.company_failed", err)
	}
	if trip.Link != "" {
		return s.connect(w, r, trip, subject)
	}
	actor, err := s.Accounts.Identify(ctx, s.Company.Issuer, subject)
	if _, unknown := errors.AsType[*accounts.Unauthenticated](err); unknown || err == nil && !actor.Role.Staff() {
		return s.companyFailed(w, r, trip, "signin.company_unknown", errors.New("nobody here has the account"))
	}
	if err != nil {
		return err
	}
	if err := s.enter(r, actor.ID, byCompany); err != nil {
		return err
	}
	return seeOther(w, r, trip.Next)
}

// companySubject checks the provider's answer from end to end: our state, its code with our verifier,
// the token's signature, issuer, audience and time, and our nonce in it.
func (s *server) companySubject(ctx context.Context, r *http.Request, trip companyTrip) (string, error) {
	q := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(trip.State)) != 1 {
		return "", errors.New("the state is another")
	}
	if q.Has("iss") && q.Get("iss") != s.Company.Issuer {
		return "", errors.New("the answer is another issuer's")
	}
	if q.Get("error") != "" || q.Get("code") == "" {
		return "", errors.New("the provider refused")
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, s.Company.client()), companyWait)
	defer cancel()
	p, err := s.Company.discover(ctx)
	if err != nil {
		return "", err
	}
	tokens, err := s.Company.config(p, s.base(r)).Exchange(ctx, q.Get("code"), oauth2.VerifierOption(trip.Verifier))
	if err != nil {
		return "", errors.New("the code was not taken") // the error's text may hold what the provider said
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return "", errors.New("no token of the person")
	}
	token, err := p.VerifierContext(ctx, &oidc.Config{ClientID: s.Company.ID}).Verify(ctx, raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("the token of the person: %w", err)
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(trip.Nonce)) != 1:
		return "", errors.New("the token is of another sign-in")
	case token.Subject == "" || len(token.Subject) > 255:
		return "", errors.New("the token is of nobody")
	case len(token.Audience) > 1 && !ours(token, s.Company.ID):
		return "", errors.New("the token was made for another")
	}
	return token.Subject, nil
}

// ours reports whether a token for several was made for us.
func ours(token *oidc.IDToken, id string) bool {
	var claims struct {
		Party string `json:"azp"`
	}
	return token.Claims(&claims) == nil && claims.Party == id
}

// connect gives the account to the person who went to the provider: nobody else who signed in here
// meanwhile.
func (s *server) connect(w http.ResponseWriter, r *http.Request, trip companyTrip, subject string) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	info := request.From(ctx)
	if !info.Known || info.Actor.ID.String() != trip.Link || !s.fresh(ctx) {
		return seeOther(w, r, "/account/confirm")
	}
	err := s.Accounts.AddIdentity(ctx, request.By(ctx), info.Actor.ID, s.Company.Issuer, subject)
	if _, taken := errors.AsType[*accounts.Invalid](err); taken {
		return s.factorsAgain(w, r, http.StatusConflict, views.Fault{Message: i18n.T(ctx, "factor.company_failed")})
	}
	if err != nil {
		return err
	}
	s.notify(ctx, "factor.saved")
	return seeOther(w, r, "/account/factors")
}

func (s *server) unlinkCompany(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	return s.afterRemoval(w, r, s.Accounts.RemoveIdentity(ctx, request.By(ctx), request.Actor(ctx).ID))
}

// companyFailed says on the page where the way began that nothing came of it; why is in the log.
func (s *server) companyFailed(w http.ResponseWriter, r *http.Request, trip companyTrip, message string, why error) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	if pgAway(why) {
		return why
	}
	s.Logger.WarnContext(ctx, "a sign-in at the company's provider was refused", "request_id", request.ID(ctx), "network", s.network(r), "why", why.Error())
	if request.From(ctx).Known {
		return s.factorsAgain(w, r, http.StatusUnauthorized, views.Fault{Message: i18n.T(ctx, message)})
	}
	request.From(ctx).Problem = string(problem.Unauthenticated)
	m := s.signInForm(r, trip.Next)
	m.Faults = []views.Fault{{Message: i18n.T(ctx, message)}}
	return s.renderAt(w, r, http.StatusUnauthorized, "/", views.SignIn(m))
}

// pgAway reports that the database could not be asked, which says nothing about the person.
func pgAway(err error) bool { return pg.Code(err) != "" || errors.As(err, new(*pg.CommitUnknown)) }

// signInForm is the sign-in with the ways that there are.
func (s *server) signInForm(r *http.Request, next string) views.SignInForm {
	return views.SignInForm{Next: next, Named: s.passkeySite(r) != nil, Company: s.companyName()}
}
