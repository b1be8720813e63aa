package web

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// provider is an OpenID Connect provider whose tokens a test can spoil.
type provider struct {
	t    *testing.T
	http *httptest.Server
	key  *rsa.PrivateKey

	mu        sync.Mutex
	code      string
	challenge string
	claims    map[string]any
	spoil     func(claims map[string]any)
	signer    func(raw string) string // nil: as it is
}

const (
	clientID     = "ironhold"
	clientSecret = "a secret between the two"
)

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, map[string]any{
			"issuer": p.http.URL, "authorization_endpoint": p.http.URL + "/auth", "token_endpoint": p.http.URL + "/token", "jwks_uri": p.http.URL + "/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.http = httptest.NewServer(mux)
	t.Cleanup(p.http.Close)
	return p
}

func (p *provider) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// token gives a code's token once, to who knows the verifier and the secret.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, ok := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if !ok || id != clientID || secret != clientSecret || p.code == "" || r.PostFormValue("code") != p.code ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
		w.WriteHeader(http.StatusBadRequest)
		p.write(w, map[string]string{"error": "invalid_grant"})
		return
	}
	p.code = ""
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		p.t.Error(err)
	}
	raw, err := jwt.Signed(signer).Claims(p.claims).Serialize()
	if err != nil {
		p.t.Error(err)
	}
	if p.signer != nil {
		raw = p.signer(raw)
	}
	p.write(w, map[string]any{"access_token": "x", "token_type": "Bearer", "expires_in": 60, "id_token": raw})
}

// visit is what the person does at the provider: they sign in there, and come back with a code.
func (p *provider) visit(sent page, subject string) (back string) {
	p.t.Helper()
	u, err := url.Parse(sent.want(http.StatusSeeOther).header.Get("Location"))
	if err != nil || !strings.HasPrefix(u.String(), p.http.URL+"/auth?") {
		p.t.Fatalf("sent to %s", u)
	}
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 || q.Get("client_id") != clientID || q.Get("response_type") != "code" {
		p.t.Errorf("asked by %s", u)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code, p.challenge = rand.Text(), q.Get("code_challenge")
	p.claims = map[string]any{
		"iss": p.http.URL, "sub": subject, "aud": clientID, "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(), "nonce": q.Get("nonce"),
		"email": "operator-@example.com", "email_verified": true,
	}
	if p.spoil != nil {
		p.spoil(p.claims)
	}
	return "/sign-in/company/back?" + url.Values{"code": {p.code}, "state": {q.Get("state")}}.Encode()
}

func companySite(t *testing.T) (*site, *provider) {
	t.Helper()
	p := newProvider(t)
	return newSite(t, func(c *Config) {
		c.StaffFactor = true
		c.Company = &Company{Name: "Work account", Issuer: p.http.URL, ID: clientID, Secret: clientSecret}
	}), p
}

func TestSignInAtTheCompany(t *testing.T) {
	t.Parallel()
	s, p := companySite(t)
	olga := s.person("Olga", accounts.Operator, "")
	s.stranger().get("/").says("Sign in with Work account")

	// Nobody by address: the account must be connected by its owner first.
	stranger := s.stranger()
	stranger.get(p.visit(stranger.get("/sign-in/company"), "olga-1")).want(401).says("Nobody here has this account")
	olga.follow(olga.get(p.visit(olga.get("/account/factors/company"), "olga-1"))).want(200).says("You can sign in with your company")

	in := s.stranger()
	in.follow(in.get(p.visit(in.get("/sign-in/company?next=/admin/rollout"), "olga-1"))).want(200).says("Launch")
	old := sessionToken(s, in)
	// A second visit renews the token, and the first answer is worth nothing any more.
	back := p.visit(in.get("/sign-in/company"), "olga-1")
	in.get(back).want(303)
	if sessionToken(s, in) == old {
		t.Error("the token is not renewed")
	}
	s.stranger().get(back).want(401)
	in.get(back).want(401)

	// Another's account cannot be taken over, nor may customers come this way.
	sam := s.person("Sam", accounts.Sales, "")
	sam.get(p.visit(sam.get("/account/factors/company"), "olga-1")).want(409).says("not connected")
	ada := s.person("Ada", accounts.Customer, "acme")
	ada.get("/account/factors/company").outcome(403, "forbidden")
	fixture.Exec(t, s.owner, "insert into identities (issuer, subject, user_id) select $1, 'ada-1', id from users where role = 'customer'", p.http.URL)
	stranger.get(p.visit(stranger.get("/sign-in/company"), "ada-1")).want(401)
	// The same subject of another issuer is somebody else.
	fixture.Exec(t, s.owner, "update identities set issuer = 'https://other.example' where subject = 'olga-1'")
	stranger.get(p.visit(stranger.get("/sign-in/company"), "olga-1")).want(401)
	fixture.Exec(t, s.owner, "update identities set issuer = $1 where subject = 'olga-1'", p.http.URL)
	fixture.Exec(t, s.owner, "insert into users (email, name, role, password_hash) values ('another@example.com', 'Another', 'operator', 'x')")
	fixture.Exec(t, s.owner, "update users set disabled_at = now() where email like 'operator%'")
	stranger.get(p.visit(stranger.get("/sign-in/company"), "olga-1")).want(401)
	if strings.Contains(s.log.String(), clientSecret) {
		t.Error("the secret is in the log")
	}
}

// Each token that is not as it must be signs nobody in.
func TestSpoiledTokensOfTheCompany(t *testing.T) {
	t.Parallel()
	s, p := companySite(t)
	olga := s.person("Olga", accounts.Operator, "")
	olga.get(p.visit(olga.get("/account/factors/company"), "olga-1")).want(303)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, v any) func(map[string]any) { return func(c map[string]any) { c[name] = v } }
	for name, c := range map[string]struct {
		spoil  func(map[string]any)
		signer func(string) string
		back   func(string) string
	}{
		"another's nonce":    {spoil: set("nonce", "x")},
		"no nonce":           {spoil: func(c map[string]any) { delete(c, "nonce") }},
		"another's audience": {spoil: set("aud", "other")},
		"made for another":   {spoil: func(c map[string]any) { c["aud"], c["azp"] = []string{clientID, "other"}, "other" }},
		"another's issuer":   {spoil: set("iss", "https://other.example")},
		"expired":            {spoil: set("exp", time.Now().Add(-time.Hour).Unix())},
		"of nobody":          {spoil: set("sub", "")},
		"signed by another":  {signer: func(string) string { return resign(t, other, p.claims) }},
		"signed by nobody":   {signer: unsigned},
		"changed afterwards": {signer: func(raw string) string { return raw[:len(raw)-4] + "AAAA" }},
		"another's state":    {back: func(b string) string { return strings.Replace(b, "state=", "state=x", 1) }},
		"no state":           {back: func(b string) string { return b[:strings.Index(b, "&state=")] }},
		"another's code":     {back: func(b string) string { return strings.Replace(b, "code=", "code=x", 1) }},
		"refused there":      {back: func(b string) string { return b + "&error=access_denied" }},
		"another's answer":   {back: func(b string) string { return b + "&iss=https%3A%2F%2Fother.example" }},
	} {
		p.mu.Lock()
		p.spoil, p.signer = c.spoil, c.signer
		p.mu.Unlock()
		in := s.stranger()
		back := p.visit(in.get("/sign-in/company"), "olga-1")
		if c.back != nil {
			back = c.back(back)
		}
		if got := in.get(back); got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, got.status)
		}
		in.get("/fleet").outcome(401, "unauthenticated")
	}
	// Begun in one browser, it does not end in another; nor does another site begin it.
	p.mu.Lock()
	p.spoil, p.signer = nil, nil
	p.mu.Unlock()
	s.stranger().get(p.visit(s.stranger().get("/sign-in/company"), "olga-1")).want(401)
	foe := s.stranger()
	foe.header.Set("Sec-Fetch-Site", "cross-site")
	foe.get("/sign-in/company").outcome(403, "cross-origin")
}

func resign(t *testing.T, key *rsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		t.Error(err)
		return ""
	}
	raw, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Error(err)
	}
	return raw
}

func unsigned(raw string) string {
	parts := strings.Split(raw, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
}

// With the provider away the page says so, and passwords work on.
func TestCompanyAway(t *testing.T) {
	t.Parallel()
	s, p := companySite(t)
	p.http.Close()
	b := s.stranger()
	b.get("/sign-in/company").want(401).says("did not work")
	s.person("Ada", accounts.Customer, "acme").get("/holds").want(200)
}
