package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ironhold/notify/outbound"
	"ironhold/notify/sign"
	"ironhold/provision/driver"
	"ironhold/provision/webhook"
)

var _ driver.Driver = (*webhook.Driver)(nil)

func TestBeginAndLook(t *testing.T) {
	t.Parallel()
	p := newProvisioner(t, nil)
	d := p.driver(t)
	want := driver.Progress{State: driver.Running, Step: "disk_layout", Percent: 12, Detail: "two drives"}
	if got, err := begin(t, d, task(3)); err != nil || got != want {
		t.Fatalf("begin: %+v, %v", got, err)
	}
	for range 2 {
		if got, err := d.Look(t.Context(), task(3)); err != nil || got != want {
			t.Fatalf("look: %+v, %v", got, err)
		}
	}
	wipe := task(1)
	wipe.Kind, wipe.OS, wipe.Keys = driver.Wipe, "", nil
	if _, err := begin(t, d, wipe); err != nil {
		t.Fatal(err)
	}
	m := p.messages()
	if len(m) != 4 {
		t.Fatalf("%d messages", len(m))
	}
	first := m[0].Event
	if first.Type != "ironhold.provision.install" || first.SpecVersion != "1.0" || first.Source != "https://portal.example" ||
		first.Subject != "services/"+task(3).Service || m[0].ContentType != sign.ContentType {
		t.Errorf("envelope: %+v", m[0])
	}
	if v := first.Data; v.Service != task(3).Service || v.Kind != "install" || v.Attempt != 3 || v.OS != "debian-13" || len(v.Keys) != 1 ||
		v.Machine.AssetTag != "GOT-1001" || v.Machine.Site != "GOT1" || v.Machine.Serial != "S-1" || v.Machine.Rack != "R7" ||
		v.Machine.BMC == nil || v.Machine.BMC.Address != "10.9.0.7" {
		t.Errorf("data: %+v", v)
	}
	// A provisioner that lost its memory can begin from a status question; and none repeats another.
	if m[1].Event.Type != "ironhold.provision.status" || fmt.Sprint(m[1].Event.Data.Keys) != fmt.Sprint(first.Data.Keys) || m[1].ID == m[2].ID {
		t.Errorf("status: %+v", m[1])
	}
	if m[3].Event.Type != "ironhold.provision.wipe" || m[3].Event.Data.OS != "" || m[3].Event.Data.Keys != nil {
		t.Errorf("wipe: %+v", m[3])
	}
}

// The provisioner worked and its answer was lost. The same attempt, sent again by another process, is
// the same message, so that nothing is done twice.
func TestSameAttemptIsTheSameMessage(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	p := newProvisioner(t, func(w http.ResponseWriter, r *http.Request, _ message) {
		if calls.Add(1) == 1 {
			<-r.Context().Done() // the work is begun; the answer never comes
			return
		}
		_, _ = io.WriteString(w, `{"state":"running"}`)
	})
	hasty := p.driver(t, func(c *webhook.Config) { c.Options.Timeout = 500 * time.Millisecond })
	if _, err := begin(t, hasty, task(1)); err == nil || driver.IsPermanent(err) {
		t.Fatalf("no answer: %v", err)
	}
	if got, err := begin(t, p.driver(t), task(1)); err != nil || got.State != driver.Running || got.Step != "running" || got.Percent != -1 {
		t.Fatalf("again: %+v, %v", got, err)
	}
	if _, err := begin(t, p.driver(t), task(2)); err != nil {
		t.Fatal(err)
	}
	m := p.messages()
	if m[0].ID != m[1].ID || m[0].Body != m[1].Body {
		t.Errorf("the repetition differs:\n%s\n%s", m[0].Body, m[1].Body)
	}
	if m[2].ID == m[0].ID {
		t.Error("the next attempt has the same id")
	}
	wipe := task(1)
	wipe.Kind = driver.Wipe
	if _, err := begin(t, p.driver(t), wipe); err != nil {
		t.Fatal(err)
	}
	if m = p.messages(); m[3].ID == m[0].ID {
		t.Error("the wipe has the id of the installation")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    int
		body      string
		retry     string
		want      driver.Progress
		permanent bool
		wait      time.Duration
		fails     string // part of the error
	}{
		"done":           {200, `{"state":"done"}`, "", driver.Progress{State: driver.Done, Step: "done", Percent: -1}, false, 0, ""},
		"failed":         {200, `{"state":"failed","step":"no_disk","detail":"no\n\tdisk\u0007"}`, "", driver.Progress{State: driver.Failed, Step: "no_disk", Percent: -1, Detail: "no disk"}, false, 0, ""},
		"taken":          {202, "", "", driver.Progress{State: driver.Running, Step: "accepted", Percent: -1}, false, 0, ""},
		"odd step":       {200, `{"state":"running","step":"<b>","percent":101}`, "", driver.Progress{State: driver.Running, Step: "running", Percent: -1}, false, 0, ""},
		"about us":       {200, `{"state":"running","service":"` + task(1).Service + `","attempt":1,"percent":100}`, "", driver.Progress{State: driver.Running, Step: "running", Percent: 100}, false, 0, ""},
		"another one":    {200, `{"state":"done","service":"x"}`, "", driver.Progress{}, false, 0, "about attempt"},
		"earlier one":    {200, `{"state":"done","attempt":7}`, "", driver.Progress{}, false, 0, "about attempt 7"},
		"no state":       {200, `{}`, "", driver.Progress{}, false, 0, "not running, done or failed"},
		"unknown state":  {200, `{"state":"Done"}`, "", driver.Progress{}, false, 0, "not running, done or failed"},
		"a page":         {200, `<html>`, "", driver.Progress{}, false, 0, "not the JSON"},
		"endless":        {200, `{"detail":"` + strings.Repeat("x", 70_000) + `"}`, "", driver.Progress{}, false, 0, "more than 65536 bytes"},
		"redirect":       {307, "", "", driver.Progress{}, false, 0, "answered 307"},
		"gone":           {410, "", "", driver.Progress{}, true, 0, "answered 410"},
		"unprocessable":  {422, `unknown os`, "", driver.Progress{}, true, 0, "answered 422: unknown os"},
		"bad":            {400, "", "", driver.Progress{}, true, 0, "answered 400"},
		"wrong secret":   {401, "", "", driver.Progress{}, false, 0, "answered 401"},
		"no such path":   {404, "", "", driver.Progress{}, false, 0, "answered 404"},
		"busy":           {429, "", "120", driver.Progress{}, false, 2 * time.Minute, "answered 429"},
		"down":           {503, "", "999999", driver.Progress{}, false, time.Hour, "answered 503"},
		"down, nonsense": {503, "", "-5", driver.Progress{}, false, 0, "answered 503"},
		"broken":         {500, strings.Repeat("y", 2000), "", driver.Progress{}, false, 0, "yyy…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvisioner(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
				if c.retry != "" {
					w.Header().Set("Retry-After", c.retry)
				}
				if c.status == 307 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			got, err := begin(t, p.driver(t), task(1))
			if got != c.want || (err == nil) != (c.fails == "") || driver.IsPermanent(err) != c.permanent || driver.Waits(err) != c.wait {
				t.Errorf("%+v, %v (permanent %v, wait %s)", got, err, driver.IsPermanent(err), driver.Waits(err))
			}
			if err != nil && (!strings.Contains(err.Error(), c.fails) || len(err.Error()) > 1200) {
				t.Errorf("said: %v", err)
			}
			if n := len(p.messages()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// While the secret is changed, a provisioner may have the new or the old one.
func TestTwoSecrets(t *testing.T) {
	t.Parallel()
	p := newProvisioner(t, nil)
	both := p.driver(t, func(c *webhook.Config) { c.Secrets = []sign.Secret{sign.NewSecret(), p.secret} })
	if _, err := begin(t, both, task(1)); err != nil {
		t.Errorf("with the old secret: %v", err)
	}
	neither := p.driver(t, func(c *webhook.Config) { c.Secrets = []sign.Secret{sign.NewSecret()} })
	if _, err := begin(t, neither, task(1)); err == nil || driver.IsPermanent(err) {
		t.Errorf("with another secret: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	secret := []sign.Secret{sign.NewSecret()}
	for _, c := range []webhook.Config{
		{URL: "https://provisioner.example/", Secrets: nil},
		{URL: "https://provisioner.example/", Secrets: []sign.Secret{secret[0], secret[0], secret[0]}},
		{URL: "http://provisioner.example/", Secrets: secret},
		{URL: "https://127.0.0.1/", Secrets: secret},
		{URL: "https://user:pw@provisioner.example/", Secrets: secret},
		{URL: "", Secrets: secret},
	} {
		if _, err := webhook.New(c); err == nil {
			t.Errorf("%q with %d secrets was taken", c.URL, len(c.Secrets))
		}
	}
	one, two := secret[0].Text(), sign.NewSecret().Text()
	for text, n := range map[string]int{one: 1, one + "," + two: 2, one + ", " + two: 2, one + " " + two: 2, "": 0, "secret": 0, one + ",": 1, one + "," + two + "," + one: 0} {
		if got, err := webhook.ParseSecrets(text); len(got) != n || (err == nil) != (n > 0) {
			t.Errorf("%q: %d secrets, %v", text, len(got), err)
		} else if err != nil && strings.Contains(err.Error(), strings.TrimPrefix(two, "whsec_")) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

// A name that leads inside is not asked, unless its network is allowed.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	d, err := webhook.New(webhook.Config{URL: "https://localhost:" + port + "/", Secrets: []sign.Secret{sign.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = begin(t, d, task(1))
	if u, ok := err.(*webhook.Unanswered); !ok || u.Why != outbound.BadAddress || driver.IsPermanent(err) || calls.Load() != 0 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
}
