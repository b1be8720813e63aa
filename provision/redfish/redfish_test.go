package redfish_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ironhold/provision/driver"
	"ironhold/provision/redfish"
)

var _ driver.Driver = (*redfish.Driver)(nil)

const (
	dell     = "/redfish/v1/Systems/System.Embedded.1"
	hpe      = "/redfish/v1/Systems/1"
	bootPxe  = "boot Once Pxe"
	switchOn = bootPxe + "; reset On"
)

// service is that of every task here.
const service = "0196f3c1-aaaa-7cc1-9d0a-1f2e3d4c5b6a"

func newDriver(t *testing.T, change ...func(*redfish.Config)) *redfish.Driver {
	t.Helper()
	c := redfish.Config{
		User: user, Password: password, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Poll: time.Millisecond, Patience: 30 * time.Second,
	}
	for _, f := range change {
		f(&c)
	}
	d, err := redfish.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// hasty gives up what does not come at once.
func hasty(c *redfish.Config) { c.Patience = time.Millisecond }

func (b *bmc) machine(serial string) driver.Task {
	return driver.Task{Service: service, Attempt: 2, Kind: driver.Install, Machine: driver.Machine{
		Tag: "GOT-1001", Serial: serial, BMC: driver.BMC{Address: b.address(), Fingerprint: b.fingerprint()},
	}}
}

func TestMachinesOfEachKindAreStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, serial string
		set          func(b *bmc)
		driver       func(c *redfish.Config)
		want         string
	}{
		"dell, service tag":       {"dell", "7XK2M04", nil, nil, switchOn},
		"dell, board":             {"dell", " cnfcp0011a00qt ", nil, nil, switchOn},
		"hpe":                     {"hpe", "CZ20410F7K", nil, nil, switchOn},
		"one node of two":         {"twin", "TW-000881-B", func(b *bmc) { b.tags = "body" }, nil, switchOn},
		"by HTTP":                 {"hpe", "CZ20410F7K", nil, func(c *redfish.Config) { c.Boot = redfish.UefiHTTP }, "boot Once UefiHttp; reset On"},
		"already on":              {"hpe", "CZ20410F7K", func(b *bmc) { b.with(hpe, map[string]any{"PowerState": "On"}) }, nil, bootPxe + "; reset ForceRestart"},
		"boot is set":             {"hpe", "CZ20410F7K", func(b *bmc) { b.boot(hpe, "Once", "Pxe") }, nil, "reset On"},
		"boot is set for ever":    {"hpe", "CZ20410F7K", func(b *bmc) { b.boot(hpe, "Continuous", "Pxe") }, nil, switchOn},
		"no restart":              {"dell", "7XK2M04", func(b *bmc) { b.resets(dell, "On", "PowerCycle", "ForceOff").on(dell) }, nil, bootPxe + "; reset PowerCycle"},
		"off and on":              {"dell", "7XK2M04", func(b *bmc) { b.resets(dell, "ForceOn", "ForceOff").on(dell) }, nil, bootPxe + "; reset ForceOff; reset ForceOn"},
		"off and on, forgetful":   {"dell", "7XK2M04", func(b *bmc) { b.resets(dell, "On", "ForceOff").on(dell).forgetsBoot = true }, nil, bootPxe + "; reset ForceOff; " + switchOn},
		"slow power":              {"hpe", "CZ20410F7K", func(b *bmc) { b.powerLag = 5 }, nil, switchOn},
		"an ETag that is wanted":  {"hpe", "CZ20410F7K", func(b *bmc) { b.tags = "required" }, nil, switchOn},
		"an ETag that is unfit":   {"hpe", "CZ20410F7K", func(b *bmc) { b.tags = "broken" }, nil, switchOn},
		"tasks":                   {"hpe", "CZ20410F7K", func(b *bmc) { b.asTasks = "Completed" }, nil, switchOn},
		"a login that lasts once": {"hpe", "CZ20410F7K", func(b *bmc) { b.loginsLast = 1 }, nil, switchOn},
		"a login that is short":   {"dell", "7XK2M04", func(b *bmc) { b.loginsLast = 4 }, nil, switchOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBMC(t, c.kind)
			if c.set != nil {
				c.set(b)
			}
			var change []func(*redfish.Config)
			if c.driver != nil {
				change = append(change, c.driver)
			}
			p, err := newDriver(t, change...).Begin(t.Context(), b.machine(c.serial))
			if err != nil || p.State != driver.Running || p.Step != redfish.StepBooting || p.Percent != -1 || !strings.Contains(p.Detail, "power On") {
				t.Errorf("%+v, %v", p, err)
			}
			what, open := b.changed()
			if what != c.want {
				t.Errorf("changed: %s", what)
			}
			if open != 0 {
				t.Errorf("%d sessions are left", open)
			}
			if !b.callers[service+"/install/2"] || len(b.callers) != 1 {
				t.Errorf("called as %v", b.callers)
			}
		})
	}
}

// The order to start from the network may have been changed by somebody else since it was read.
func TestETagOfAnother(t *testing.T) {
	t.Parallel()
	b := newBMC(t, "hpe")
	b.tags = "required"
	once := true
	b.script = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodPatch && once {
			once = false
			b.mu.Lock()
			b.versions[hpe]++
			b.mu.Unlock()
		}
		return false
	}
	if _, err := newDriver(t).Begin(t.Context(), b.machine("CZ20410F7K")); err != nil {
		t.Error(err)
	}
	if what, _ := b.changed(); what != switchOn {
		t.Errorf("changed: %s", what)
	}
}

// What the inventory does not say, or what does not agree with it, stops everything before anything is
// changed; without the right certificate nothing is even sent.
func TestTheWrongMachineIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(b *bmc, t *driver.Task)
		says   string
		sent   bool
	}{
		"another serial":   {func(_ *bmc, t *driver.Task) { t.Machine.Serial = "CZ20410F7L" }, "GOT-1001 is a machine with the serial number CZ20410F7K, not CZ20410F7L", true},
		"the model's SKU":  {func(_ *bmc, t *driver.Task) { t.Machine.Serial = "867959-B21" }, "not 867959-B21", true},
		"no serial there":  {func(b *bmc, _ *driver.Task) { b.with(hpe, map[string]any{"SerialNumber": " "}) }, "no machine with a serial number", true},
		"no serial here":   {func(_ *bmc, t *driver.Task) { t.Machine.Serial = " " }, "no serial number of GOT-1001", true},
		"two of them":      {func(b *bmc, _ *driver.Task) { b.members(hpe, hpe) }, "two systems", true},
		"no address":       {func(_ *bmc, t *driver.Task) { t.Machine.BMC.Address = "" }, "no BMC address of GOT-1001", false},
		"odd address":      {func(_ *bmc, t *driver.Task) { t.Machine.BMC.Address = "bmc@evil" }, "must be the host name or IP address of a BMC", false},
		"no fingerprint":   {func(_ *bmc, t *driver.Task) { t.Machine.BMC.Fingerprint = "" }, "no certificate fingerprint", false},
		"odd fingerprint":  {func(_ *bmc, t *driver.Task) { t.Machine.BMC.Fingerprint = "abc" }, "64 hexadecimal digits", false},
		"a stranger's":     {func(_ *bmc, t *driver.Task) { t.Machine.BMC.Fingerprint = strings.Repeat("ab", 32) }, "not the one in the inventory; nothing was sent", false},
		"no network start": {func(b *bmc, _ *driver.Task) { b.targets(hpe, "None", "Hdd") }, "cannot start the machine from Pxe, only from [None Hdd]", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBMC(t, "hpe")
			task := b.machine("CZ20410F7K")
			c.change(b, &task)
			_, err := newDriver(t).Begin(t.Context(), task)
			if err == nil || !driver.IsPermanent(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (permanent %v)", err, driver.IsPermanent(err))
			}
			if what, open := b.changed(); what != "" || open != 0 || (b.requests > 0) != c.sent {
				t.Errorf("changed %q, %d sessions left, %d requests", what, open, b.requests)
			}
		})
	}
}

// A BMC that does not do what it says does not get a machine restarted into what is on its drives.
func TestFaultsAreTriedAgain(t *testing.T) {
	t.Parallel()
	busy := func(method, part string) func(*bmc) {
		return func(b *bmc) {
			b.script = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.Method != method || !strings.Contains(r.URL.Path, part) {
					return false
				}
				b.no(w, http.StatusServiceUnavailable, "Base.1.8.ServiceTemporarilyUnavailable", "The service is temporarily unavailable.")
				return true
			}
		}
	}
	for name, c := range map[string]struct {
		set  func(b *bmc)
		says string
		want string
	}{
		"busy at all":        {busy(http.MethodGet, ""), "answered 503 to the attempt to find Redfish: Base.1.8.ServiceTemporarilyUnavailable The service", ""},
		"busy for logins":    {busy(http.MethodPost, "Sessions"), "answered 503 to the attempt to log in", ""},
		"busy for systems":   {busy(http.MethodGet, "Systems/1"), "answered 503 to the attempt to list its systems", ""},
		"busy for the boot":  {busy(http.MethodPatch, ""), "answered 503 to the attempt to start from the network once", ""},
		"busy for the power": {busy(http.MethodPost, "Reset"), "answered 503 to the attempt to set the power: On", bootPxe},
		"ignores the boot":   {func(b *bmc) { b.ignoresBoot = true }, "waited for the order to start from the network, but the BMC sees: power Off, next start Disabled None", bootPxe},
		"a task that fails":  {func(b *bmc) { b.asTasks = "Exception" }, "ended as Exception", bootPxe},
		"a task that lasts":  {func(b *bmc) { b.asTasks = "Running" }, "waited for the BMC's task", bootPxe},
		"stays off":          {func(b *bmc) { b.powerLag = 1 << 30 }, "waited for the machine to be on", switchOn},
		"between two states": {func(b *bmc) { b.with(hpe, map[string]any{"PowerState": "PoweringOff"}) }, "waited for the machine to be on or off", bootPxe},
		"redirects":          {func(b *bmc) { b.script = redirects }, "answered 307", ""},
		"an endless answer":  {func(b *bmc) { b.script = endless }, "gave no answer", ""},
		"an endless list": {func(b *bmc) {
			b.with("/redfish/v1/Systems", map[string]any{"Members@odata.nextLink": "/redfish/v1/Systems"})
		}, "gave no answer", ""},
		"no JSON":                {func(b *bmc) { b.script = noJSON }, "gave no answer", ""},
		"logins that never last": {func(b *bmc) { b.script = forgets(b) }, "answered 401", ""},
		"no token":               {func(b *bmc) { b.script = noToken }, "no token", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBMC(t, "hpe")
			c.set(b)
			d := newDriver(t, hasty)
			if b.asTasks == "Exception" {
				d = newDriver(t)
			}
			_, err := d.Begin(t.Context(), b.machine("CZ20410F7K"))
			if err == nil || driver.IsPermanent(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (permanent %v)", err, driver.IsPermanent(err))
			}
			if what, open := b.changed(); what != c.want || open != 0 {
				t.Errorf("changed %q, %d sessions left", what, open)
			}
		})
	}
}

// The boot was ordered and the BMC is busy while we look: that is its way of doing it.
func TestBusyWhileLookedAt(t *testing.T) {
	t.Parallel()
	b := newBMC(t, "hpe")
	refusals := 0
	b.script = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if what, _ := b.changed(); r.Method != http.MethodGet || what == "" || refusals >= 3 {
			return false
		}
		refusals++
		b.no(w, http.StatusServiceUnavailable, "Base.1.8.ServiceTemporarilyUnavailable", "")
		return true
	}
	if _, err := newDriver(t).Begin(t.Context(), b.machine("CZ20410F7K")); err != nil || refusals != 3 {
		t.Errorf("%v, %d refusals", err, refusals)
	}
}

// A BMC that hangs holds nobody longer than the limit, and is logged out of all the same.
func TestHangs(t *testing.T) {
	t.Parallel()
	b := newBMC(t, "hpe")
	b.script = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodPatch {
			hang(r)
			return true
		}
		return false
	}
	d := newDriver(t, func(c *redfish.Config) { c.Timeout = 500 * time.Millisecond })
	_, err := d.Begin(t.Context(), b.machine("CZ20410F7K"))
	if err == nil || driver.IsPermanent(err) || !strings.Contains(err.Error(), "start from the network once: timeout") {
		t.Error(err)
	}
	b.script = nil
	ctx, cancel := context.WithCancel(t.Context())
	b.script = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodPatch {
			cancel()
			hang(r)
			return true
		}
		return false
	}
	if _, err = d.Begin(ctx, b.machine("CZ20410F7K")); err == nil {
		t.Error("an ended context was no error")
	}
	if what, open := b.changed(); what != "" || open != 0 {
		t.Errorf("changed %q, %d sessions left", what, open)
	}
}

// The process was stopped, and meanwhile the machine was given to somebody else.
func TestStaleAttemptChangesNothingMore(t *testing.T) {
	t.Parallel()
	stale := errors.New("another attempt counts")
	for after, want := range []string{"", bootPxe, switchOn} {
		b := newBMC(t, "hpe")
		asked := 0
		ctx := driver.WithCheck(t.Context(), func(context.Context) error {
			if asked++; asked > after {
				return stale
			}
			return nil
		})
		_, err := newDriver(t).Begin(ctx, b.machine("CZ20410F7K"))
		if (after < 2) != errors.Is(err, stale) || driver.IsPermanent(err) {
			t.Errorf("stale after %d: %v", after, err)
		}
		if what, open := b.changed(); what != want || open != 0 {
			t.Errorf("stale after %d: changed %q, %d sessions left", after, what, open)
		}
	}
}
