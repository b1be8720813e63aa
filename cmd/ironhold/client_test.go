package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ironhold/client"
)

// shop is a server with sample data and a client of two organisations.
type shop struct {
	*running

	acme, rival *prog
}

func newShop(t *testing.T) *shop {
	t.Helper()
	p := newProg(t)
	p.ok("demo")
	s := &shop{}
	token := func(org string) string {
		return strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", org))
	}
	mine := token("meridian")
	p.ok("org", "add", "--slug", "rival", "--name", "Rival", "--max-holds", "2")
	theirs := token("rival")
	s.running = p.serve()
	s.ready()
	s.acme, s.rival = s.as(mine), s.as(theirs)
	return s
}

// as is the program with nothing but address and token: the client needs no database.
func (s *shop) as(token string) *prog {
	return &prog{t: s.t, dir: s.t.TempDir(), extra: []string{"IRONHOLD_URL=http://" + s.addr, "IRONHOLD_TOKEN=" + token}}
}

// prints runs a client's command that must succeed; a key on stderr is no fault.
func (p *prog) prints(args ...string) map[string]any {
	p.t.Helper()
	o := p.run(append(args, "--json")...)
	var v map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil || o.code != 0 {
		p.t.Fatalf("%v: exit %d: %s %s", args, o.code, o.stdout, o.stderr)
	}
	return v
}

// exits wants an outcome's exit code, its name on stderr, and with --json the problem on stdout.
func (p *prog) exits(name string, args ...string) {
	p.t.Helper()
	o := p.run(append(args, "--json")...)
	var v map[string]any
	if o.code != client.ExitCode(name) || !strings.Contains(o.stderr, name) || json.Unmarshal([]byte(o.stdout), &v) != nil || v["type"] != "/problems/"+name {
		p.t.Errorf("%v: exit %d, want %d for %s: %q %q", args, o.code, client.ExitCode(name), name, o.stdout, o.stderr)
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.acme.run("hold", "--min-cores", "1", "--max-price-month-minor", "99999999")
	if o.code != 0 || !regexp.MustCompile(`^key \S{20,}\n$`).MatchString(o.stderr) || !strings.Contains(o.stdout, "state    held") {
		t.Fatalf("exit %d: %s %s", o.code, o.stdout, o.stderr)
	}
	id := regexp.MustCompile(`hold +(\S+)`).FindStringSubmatch(o.stdout)[1]
	key := strings.Fields(o.stderr)[1]
	if again := s.acme.prints("hold", "--min-cores=1", "--max-price-month-minor", "99999999", "--key", key); again["id"] != id {
		t.Errorf("the same key gave %v instead of %s", again["id"], id)
	}
	machine := s.acme.prints("hold", "show", id)["machine"].(map[string]any)["asset_tag"].(string)

	s.acme.exits("key-reused", "hold", "--key", key)
	s.acme.exits("already-yours", "hold", "--machine", machine)
	s.rival.exits("all-held", "hold", "--machine", machine)
	s.rival.exits("none-left", "hold", "--min-cores", "1", "--max-price-month-minor", "0")
	s.rival.exits("invalid", "hold", "--min-cores=-1", "--site", "nowhere")
	s.rival.exits("not-found", "hold", "show", id)
	s.rival.exits("not-found", "hold", "confirm", id)
	s.rival.exits("not-found", "hold", "cancel", "../services")
	s.rival.prints("hold")
	s.rival.prints("hold")
	s.rival.exits("limit-reached", "hold")
	s.as("ih_nothing").exits("unauthenticated", "holds")
	s.acme.fails(2, []string{"hold", "show"}, "ID is missing")
	s.acme.fails(2, []string{"hold", "--min-cores", "many"}, "min-cores")
	s.acme.fails(2, []string{"holds", "--limit", "0"}, "--limit")
	s.as("").fails(2, []string{"holds"}, "IRONHOLD_TOKEN")
	if o := s.acme.run("hold", "--min-cores=-1", "--site", "nowhere"); o.code != client.ExitCode("invalid") || !strings.Contains(o.stderr, "min_cores") || !strings.Contains(o.stderr, "sites") {
		t.Errorf("not every fault is told: %s", o.stderr)
	}

	s.acme.prints("hold", "extend", id)
	s.acme.exits("extension-used", "hold", "extend", id)
	service := s.acme.prints("hold", "confirm", id)["id"].(string)
	if again := s.acme.prints("hold", "confirm", id); again["id"] != service {
		t.Errorf("confirming again gave %v", again)
	}
	s.acme.exits("hold-converted", "hold", "cancel", id)
	other := s.acme.prints("hold")["id"].(string)
	if h := s.acme.prints("hold", "cancel", other, "--reason", "no need"); h["state"] != "cancelled" {
		t.Errorf("cancelled: %v", h)
	}
	s.acme.exits("hold-cancelled", "hold", "confirm", other)
	if list := s.acme.prints("holds", "--state", "cancelled"); len(list["items"].([]any)) != 1 {
		t.Errorf("list: %v", list)
	}
	if o := s.acme.run("holds"); o.code != 0 || strings.Count(o.stdout, "\n") != 3 || !strings.HasPrefix(o.stdout, "ID ") || !strings.Contains(o.stdout, machine) {
		t.Errorf("table: %s", o.stdout)
	}
	if o := s.acme.run("services"); o.code != 0 || !strings.Contains(o.stdout, service) {
		t.Errorf("table: %s", o.stdout)
	}
	if s.acme.prints("services", "show", service)["state"] != "active" || s.acme.prints("services", "end", service)["state"] != "ended" {
		t.Error("the service was not shown as active and then ended")
	}
}

// Watching ends with the hold, and its exit code says how.
func TestClientWatches(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for step, code := range map[string]int{"confirm": 0, "cancel": client.ExitCode("hold-cancelled")} {
		id := s.acme.prints("hold")["id"].(string)
		cmd := s.acme.command(t.Context(), "hold", "watch", id)
		out := &lockedBuffer{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the time left", 30*time.Second, func() bool { return strings.HasPrefix(out.String(), "minutes left: 15, until ") })
		s.acme.prints("hold", step, id)
		_ = cmd.Wait()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(out.String(), "\nhold "+id+" c") {
			t.Errorf("%s: exit %d: %s", step, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// The answer to an order is lost after it was carried out: the client asks again with the same key
// and gets the hold, and there is one. The same for confirming.
func TestClientLosesAnswers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	target, _ := url.Parse("http://" + s.addr)
	var lost atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && lost.Add(1)%3 != 0 { // two of three
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	far := &prog{t: t, dir: t.TempDir(), extra: []string{"IRONHOLD_URL=" + front.URL, s.acme.extra[1]}}
	h := far.prints("hold")
	if far.prints("hold", "confirm", h["id"].(string))["hold"] != h["id"] || lost.Load() != 6 {
		t.Errorf("%d requests", lost.Load())
	}
	if holds, services := s.acme.prints("holds"), s.acme.prints("services"); len(holds["items"].([]any)) != 1 || len(services["items"].([]any)) != 1 {
		t.Errorf("holds %v, services %v", holds, services)
	}
}

// Nobody at the address: the exit code tells it from a refusal.
func TestClientWithoutServer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	api, err := client.New(gone.URL, "ih_x")
	if err != nil {
		t.Fatal(err)
	}
	api.Patience = 0
	if _, err = api.GetHold(t.Context(), "x"); err == nil || exitCode(err) != 3 {
		t.Errorf("exit %d: %v", exitCode(err), err)
	}
}

// The script of the documentation waits for a machine that another organisation holds.
func TestOrderScript(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	taken := s.rival.prints("hold")
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../docs/order.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", script, "--machine", taken["machine"].(map[string]any)["asset_tag"].(string))
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "IRONHOLD=" + program, "PAUSE=1", "READY=no"}, s.acme.extra...)
	var out bytes.Buffer
	errs := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = &out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the script waits", 30*time.Second, func() bool { return strings.Contains(errs.String(), "all-held") })
	s.rival.prints("hold", "cancel", taken["id"].(string))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s %s", err, &out, errs)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if v := s.acme.prints("services", "show", lines[len(lines)-1]); v["state"] != "active" {
		t.Errorf("service: %v", v)
	}
}

// The exit codes of the documentation are those of the program.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	clientHelp(&help)
	for _, name := range client.Outcomes {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| .{1}/problems/%s.{1} \| .* \| %d \|$`, name, client.ExitCode(name)))
		if !row.Match(text) || !strings.Contains(help.String(), fmt.Sprintf(" %d %s", client.ExitCode(name), name)) {
			t.Errorf("%s with exit %d is not documented", name, client.ExitCode(name))
		}
	}
}
