package redfish_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"ironhold/provision/driver"
	"ironhold/provision/redfish"
)

// Changes of a tree before the first request.

func (b *bmc) on(system string) *bmc { return b.with(system, map[string]any{"PowerState": "On"}) }

func (b *bmc) boot(system, enabled, target string) *bmc {
	boot := b.tree[system]["Boot"].(map[string]any)
	boot["BootSourceOverrideEnabled"], boot["BootSourceOverrideTarget"] = enabled, target
	return b
}

func (b *bmc) resets(system string, types ...string) *bmc {
	b.tree[system]["Actions"].(map[string]any)["#ComputerSystem.Reset"].(map[string]any)["ResetType@Redfish.AllowableValues"] = types
	return b
}

func (b *bmc) targets(system string, targets ...string) *bmc {
	b.tree[system]["Boot"].(map[string]any)["BootSourceOverrideTarget@Redfish.AllowableValues"] = targets
	return b
}

func (b *bmc) members(systems ...string) *bmc {
	var links []any
	for _, s := range systems {
		links = append(links, map[string]any{"@odata.id": s})
	}
	return b.with("/redfish/v1/Systems", map[string]any{"Members": links})
}

// Scripts.

// hang waits until the client gives up, which the server sees once it has read the body.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func redirects(w http.ResponseWriter, r *http.Request, _ int) bool {
	http.Redirect(w, r, "/redfish/v1/elsewhere", http.StatusTemporaryRedirect)
	return true
}

func endless(w http.ResponseWriter, r *http.Request, _ int) bool {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	return true
}

func noJSON(w http.ResponseWriter, _ *http.Request, _ int) bool {
	_, _ = io.WriteString(w, "<html>")
	return true
}

func noToken(w http.ResponseWriter, r *http.Request, _ int) bool {
	if r.Method != http.MethodPost {
		return false
	}
	w.WriteHeader(http.StatusCreated)
	return true
}

// forgets takes logins and knows none of them.
func forgets(b *bmc) func(http.ResponseWriter, *http.Request, int) bool {
	return func(_ http.ResponseWriter, _ *http.Request, _ int) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		clear(b.sessions)
		return false
	}
}

// A BMC's answers name addresses. None leads anywhere but to that BMC, and so the login's token goes
// nowhere else.
func TestAnswersLeadNowhereElse(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(other.Close)
	host := strings.TrimPrefix(other.URL, "https://")
	for _, link := range []string{"@" + host + hpe, other.URL + hpe, "//" + host + hpe} {
		b := newBMC(t, "hpe").members(link)
		_, err := newDriver(t, hasty).Begin(t.Context(), b.machine("CZ20410F7K"))
		if _, open := b.changed(); calls.Load() != 0 || open != 0 {
			t.Errorf("%s: %d calls elsewhere, %d sessions left (%v)", link, calls.Load(), open, err)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBMC(t, "hpe")
	for _, address := range []string{b.address(), "localhost:" + b.address()[strings.LastIndex(b.address(), ":")+1:]} {
		task := b.machine("CZ20410F7K")
		task.Machine.BMC.Address = address
		_, err := newDriver(t, func(c *redfish.Config) { c.Allow = nil }).Begin(t.Context(), task)
		if err == nil || driver.IsPermanent(err) || !strings.HasSuffix(err.Error(), ": address") || b.requests != 0 {
			t.Errorf("%s: %v, %d requests", address, err, b.requests)
		}
	}
}

func TestThePasswordIsNotShown(t *testing.T) {
	t.Parallel()
	b := newBMC(t, "hpe")
	wrong := "a wrong password"
	_, err := newDriver(t, func(c *redfish.Config) { c.Password = wrong }).Begin(t.Context(), b.machine("CZ20410F7K"))
	if err == nil || driver.IsPermanent(err) || strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), "Wrong credentials ironhold ***") {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []redfish.Config{{}, {User: user}, {Password: password}, {User: user, Password: password, Boot: "Hdd"}} {
		if _, err := redfish.New(c); err == nil {
			t.Errorf("%q was taken", c.Boot)
		}
	}
}

// provisioner is a driver that answers as told.
type provisioner struct {
	begin func() (driver.Progress, error)
	looks int
}

func (*provisioner) Name() string { return "test" }

func (p *provisioner) Begin(context.Context, driver.Task) (driver.Progress, error) { return p.begin() }

func (p *provisioner) Look(context.Context, driver.Task) (driver.Progress, error) {
	p.looks++
	return driver.Progress{State: driver.Done}, nil
}

// The provisioner knows what to serve before the machine asks for it, and says when it is done.
func TestProvisioner(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for name, c := range map[string]struct {
		says  driver.Progress
		fails error
		want  string
	}{
		"taken":        {driver.Progress{State: driver.Running}, nil, switchOn},
		"already done": {driver.Progress{State: driver.Done}, nil, ""},
		"impossible":   {driver.Progress{State: driver.Failed}, nil, ""},
		"away":         {driver.Progress{}, away, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBMC(t, "hpe")
			p := &provisioner{begin: func() (driver.Progress, error) {
				if what, _ := b.changed(); what != "" || b.requests < 3 {
					t.Errorf("told after %d requests that changed %q", b.requests, what)
				}
				return c.says, c.fails
			}}
			d := newDriver(t, func(cfg *redfish.Config) { cfg.Provisioner = p })
			got, err := d.Begin(t.Context(), b.machine("CZ20410F7K"))
			if !errors.Is(err, c.fails) || err == nil && got.State != c.says.State {
				t.Errorf("%+v, %v", got, err)
			}
			if what, open := b.changed(); what != c.want || open != 0 {
				t.Errorf("changed %q, %d sessions left", what, open)
			}
			before := b.requests
			if got, err := d.Look(t.Context(), b.machine("CZ20410F7K")); err != nil || got.State != driver.Done || p.looks != 1 || b.requests != before {
				t.Errorf("look: %+v, %v", got, err)
			}
		})
	}
}

// Without a provisioner a look tells what the BMC sees, and that is never the end.
func TestLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(b *bmc)
		want string
	}{
		"off":     {func(*bmc) {}, redfish.StepPoweredOff},
		"waiting": {func(b *bmc) { b.on(dell).boot(dell, "Once", "Pxe") }, redfish.StepBooting},
		"started": {func(b *bmc) {
			b.on(dell).with(dell, map[string]any{"BootProgress": map[string]any{"LastState": "OSRunning"}})
		}, redfish.StepStarted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBMC(t, "dell")
			c.set(b)
			p, err := newDriver(t).Look(t.Context(), b.machine("7XK2M04"))
			if err != nil || p.State != driver.Running || p.Step != c.want || p.Percent != -1 || !strings.Contains(p.Detail, "power ") {
				t.Errorf("%+v, %v", p, err)
			}
			if what, open := b.changed(); what != "" || open != 0 {
				t.Errorf("changed %q, %d sessions left", what, open)
			}
		})
	}
	b := newBMC(t, "dell")
	if _, err := newDriver(t).Look(t.Context(), b.machine("other")); !driver.IsPermanent(err) {
		t.Errorf("another machine: %v", err)
	}
	b.Close()
	if _, err := newDriver(t).Look(t.Context(), b.machine("7XK2M04")); err == nil || driver.IsPermanent(err) || !strings.Contains(err.Error(), "find Redfish: connection") {
		t.Errorf("nobody there: %v", err)
	}
}
