package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// ceremonyKey holds what the server asked a passkey to sign, until the answer comes: once.
const ceremonyKey = "ceremony"

// passkeySite is this site as passkeys know it: bound to the name in its address, for good. Without
// a name (an address of numbers), or when nobody said under which name the site is known, there are
// none but on the own machine.
func (s *server) passkeySite(r *http.Request) *webauthn.WebAuthn {
	origin, err := url.Parse(s.BaseURL)
	if s.BaseURL == "" || err != nil || origin.Hostname() == "" || strings.HasPrefix(r.Host, "localhost:") && !s.Secure {
		origin = &url.URL{Scheme: "http", Host: r.Host}
		if origin.Hostname() != "localhost" {
			return nil
		}
	}
	if _, err := uuid.Parse(origin.Hostname()); err == nil || strings.Trim(origin.Hostname(), "0123456789.:") == "" {
		return nil
	}
	site, err := webauthn.New(&webauthn.Config{
		RPID: origin.Hostname(), RPDisplayName: "Ironhold", RPOrigins: []string{origin.Scheme + "://" + origin.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		// The key is found without a name being typed, and the device asks its owner: so it proves
		// both what somebody has and who they are, and stands for a password and a code together.
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Enforce: true, Timeout: 5 * time.Minute, TimeoutUVD: 5 * time.Minute},
			Registration: webauthn.TimeoutConfig{Enforce: true, Timeout: 5 * time.Minute, TimeoutUVD: 5 * time.Minute},
		},
	})
	if err != nil {
		return nil
	}
	return site
}

// keyOwner is a person as the library sees them.
type keyOwner struct {
	actor accounts.Actor
	keys  []webauthn.Credential
}

func (o keyOwner) WebAuthnID() []byte                         { return o.actor.ID[:] }
func (o keyOwner) WebAuthnName() string                       { return o.actor.Email }
func (o keyOwner) WebAuthnDisplayName() string                { return o.actor.Name }
func (o keyOwner) WebAuthnCredentials() []webauthn.Credential { return o.keys }

func (s *server) keyOwner(ctx context.Context, id uuid.UUID) (o keyOwner, err error) {
	actor, keys, err := s.Accounts.UserForFactors(ctx, id)
	if err != nil {
		return o, err
	}
	o.actor = actor
	for _, k := range keys {
		var c webauthn.Credential
		if err := json.Unmarshal(k.Credential, &c); err != nil {
			return o, err
		}
		o.keys = append(o.keys, c)
	}
	return o, nil
}

// beginCeremony keeps what was asked for and answers with what the browser's interface takes.
func (s *server) beginCeremony(w http.ResponseWriter, r *http.Request, asked *webauthn.SessionData, options any) error {
	kept, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return err
	}
	s.pages.sessions.Put(r.Context(), ceremonyKey, string(kept))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
	return nil
}

// takeCeremony gives what was asked for, which counts once.
func (s *server) takeCeremony(ctx context.Context) (asked webauthn.SessionData, ok bool) {
	text := s.pages.sessions.PopString(ctx, ceremonyKey)
	return asked, text != "" && json.Unmarshal([]byte(text), &asked) == nil
}

// passkeyOptions begins the registration of a passkey.
func (s *server) passkeyOptions(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if !s.fresh(ctx) {
		return problem.New(problem.Forbidden, "Confirm first who you are.")
	}
	site := s.passkeySite(r)
	if site == nil {
		return problem.NoSuch()
	}
	owner, err := s.keyOwner(ctx, request.Actor(ctx).ID)
	if err != nil {
		return err
	}
	options, asked, err := site.BeginRegistration(owner, webauthn.WithExclusions(webauthn.Credentials(owner.keys).CredentialDescriptors()))
	if err != nil {
		return err
	}
	return s.beginCeremony(w, r, asked, options.Response)
}

// addPasskey keeps the passkey that the browser has made.
func (s *server) addPasskey(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	refuse := func(key string) error {
		return s.factorsAgain(w, r, http.StatusUnprocessableEntity, views.Fault{Field: "key_name", Message: i18n.T(ctx, key)})
	}
	site := s.passkeySite(r)
	asked, ok := s.takeCeremony(ctx)
	if site == nil || !ok {
		return refuse("factor.key_failed")
	}
	answer, err := protocol.ParseCredentialCreationResponseBytes([]byte(f.Get("credential")))
	if err != nil {
		return refuse("factor.key_failed")
	}
	owner, err := s.keyOwner(ctx, request.Actor(ctx).ID)
	if err != nil {
		return err
	}
	made, err := site.CreateCredential(owner, asked, answer)
	if err != nil {
		return refuse("factor.key_failed")
	}
	record, err := json.Marshal(made)
	if err != nil {
		return err
	}
	codes, err := s.Accounts.AddPasskey(ctx, request.By(ctx), owner.actor.ID, s.sessionID(ctx), f.Get("key_name"), made.ID, record)
	if _, bad := errors.AsType[*accounts.Invalid](err); bad {
		return refuse("factor.key_name_wrong")
	}
	if err != nil {
		return err
	}
	if err := s.enrolled(ctx, byPasskey); err != nil {
		return err
	}
	return s.showCodes(w, r, codes)
}

func (s *server) renamePasskey(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	err = s.Accounts.RenamePasskey(ctx, request.By(ctx), request.Actor(ctx).ID, id, f.Get("name"))
	if _, bad := errors.AsType[*accounts.Invalid](err); bad {
		return s.factorsAgain(w, r, http.StatusUnprocessableEntity, views.Fault{Field: "name-" + id.String(), Message: i18n.T(ctx, "factor.key_name_wrong")})
	}
	if err != nil {
		return err
	}
	s.notify(ctx, "factor.saved")
	return seeOther(w, r, "/account/factors")
}

func (s *server) removePasskey(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	return s.afterRemoval(w, r, s.Accounts.RemovePasskey(ctx, request.By(ctx), request.Actor(ctx).ID, id, s.mustKeepFactor(r)))
}

// signInOptions begins a sign-in by passkey. Whose, the browser says with its answer.
func (s *server) signInOptions(w http.ResponseWriter, r *http.Request) error {
	site := s.passkeySite(r)
	if site == nil {
		return problem.NoSuch()
	}
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	options, asked, err := site.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return err
	}
	ctx, m := r.Context(), s.pages.sessions
	if !m.Exists(ctx, accounts.SessionUserKey) {
		m.SetDeadline(ctx, time.Now().Add(pendingFor)) //nolint:forbidigo // the session's end is the database's
	}
	return s.beginCeremony(w, r, asked, options.Response)
}

// errCloned says that a passkey's counter went back: somebody has a copy of it.
var errCloned = errors.New("the counter of the passkey went back")

// signInByPasskey signs in whose passkey answered.
func (s *server) signInByPasskey(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	next := ownPath(f.Get("next"))
	if s.pages.sessions.Exists(ctx, pendingKey) {
		next = ownPath(s.pages.sessions.GetString(ctx, pendingNextKey))
	}
	actor, err := s.passkeyAnswer(ctx, r, f.Get("credential"))
	if err != nil && pgAway(err) {
		return err
	}
	if err != nil {
		s.countGuess(r)
		s.Logger.WarnContext(ctx, "a passkey was refused", "request_id", request.ID(ctx), "network", s.network(r), "why", err.Error())
		request.From(ctx).Problem = string(problem.Unauthenticated)
		m := s.signInForm(r, next)
		m.Faults = []views.Fault{{Message: i18n.T(ctx, "signin.passkey_failed")}}
		return s.renderAt(w, r, http.StatusUnauthorized, next, views.SignIn(m))
	}
	if err := s.enter(r, actor.ID, byPasskey); err != nil {
		return err
	}
	return seeOther(w, r, next)
}

func (s *server) passkeyAnswer(ctx context.Context, r *http.Request, text string) (accounts.Actor, error) {
	site := s.passkeySite(r)
	asked, ok := s.takeCeremony(ctx)
	if site == nil || !ok {
		return accounts.Actor{}, errors.New("nothing was asked for")
	}
	answer, err := protocol.ParseCredentialRequestResponseBytes([]byte(text))
	if err != nil {
		return accounts.Actor{}, errors.New("the answer cannot be read")
	}
	var owner keyOwner
	_, used, err := site.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		id, err := uuid.FromBytes(handle)
		if err != nil {
			return nil, err
		}
		owner, err = s.keyOwner(ctx, id)
		return owner, err
	}, asked, answer)
	if err != nil {
		return accounts.Actor{}, err
	}
	if used.Authenticator.CloneWarning {
		return accounts.Actor{}, errCloned
	}
	record, err := json.Marshal(used)
	if err != nil {
		return accounts.Actor{}, err
	}
	return owner.actor, s.Accounts.PasskeyUsed(ctx, owner.actor.ID, used.ID, record)
}
