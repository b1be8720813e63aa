package webhook_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	independent "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ironhold/notify/outbound"
	"ironhold/notify/sign"
	"ironhold/provision/driver"
	"ironhold/provision/webhook"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// message is what a provisioner got.
type message struct {
	ID, Body    string
	ContentType string
	Event       struct {
		SpecVersion, ID, Source, Type, Subject string
		Data                                   struct {
			Service, Kind, OS string
			Attempt           int
			Keys              []string `json:"ssh_keys"`
			Machine           struct {
				AssetTag string `json:"asset_tag"`
				Site     string
				Serial   string
				Rack     string
				BMC      *struct{ Address, Fingerprint string }
			}
		}
	}
}

// provisioner is one as an operator would write it: it checks the signature with a public library, and
// does the work of one message id once.
type provisioner struct {
	*httptest.Server
	secret sign.Secret
	answer func(w http.ResponseWriter, r *http.Request, m message) // nil: running

	mu    sync.Mutex
	got   []message
	begun map[string]int // messages that began work, by id: how often they came
}

func newProvisioner(t *testing.T, answer func(http.ResponseWriter, *http.Request, message)) *provisioner {
	t.Helper()
	p := &provisioner{secret: sign.NewSecret(), answer: answer, begun: map[string]int{}}
	p.Server = httptest.NewTLSServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provisioner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	check, err := independent.NewWebhook(p.secret.Text())
	if err == nil {
		err = check.Verify(body, r.Header)
	}
	m := message{ID: r.Header.Get(sign.HeaderID), Body: string(body), ContentType: r.Header.Get("Content-Type")}
	if err != nil || json.Unmarshal(body, &m.Event) != nil || m.Event.ID != m.ID {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	p.got = append(p.got, m)
	if m.Event.Type != "ironhold.provision.status" {
		p.begun[m.ID]++
	}
	p.mu.Unlock()
	if p.answer != nil {
		p.answer(w, r, m)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"state":"running","step":"disk_layout","percent":12.5,"detail":"two drives"}`)
}

func (p *provisioner) messages() []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]message(nil), p.got...)
}

// driver asks p; change alters its configuration.
func (p *provisioner) driver(t *testing.T, change ...func(*webhook.Config)) *webhook.Driver {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate())
	c := webhook.Config{
		URL: p.URL + "/work", Secrets: []sign.Secret{p.secret}, Source: "https://portal.example",
		Options: outbound.Options{Allow: loopback, RootCAs: pool, Timeout: 30 * time.Second},
	}
	for _, f := range change {
		f(&c)
	}
	d, err := webhook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func task(attempt int) driver.Task {
	return driver.Task{
		Service: "0196f3c1-aaaa-7cc1-9d0a-1f2e3d4c5b6a", Attempt: attempt, Kind: driver.Install, OS: "debian-13",
		Keys: []string{"ssh-ed25519 AAAAC3Nz one@example"},
		Machine: driver.Machine{
			Tag: "GOT-1001", Site: "GOT1", Serial: "S-1", Rack: "R7", BMC: driver.BMC{Address: "10.9.0.7", Fingerprint: "ab"},
		},
	}
}

// begin is Begin with the test's context.
func begin(t *testing.T, d driver.Driver, task driver.Task) (driver.Progress, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return d.Begin(ctx, task)
}
