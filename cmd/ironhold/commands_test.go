package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ironhold/migrations/pgtest"
	"ironhold/notify/sign"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, url: "postgres://nobody@127.0.0.1:1/none", dir: t.TempDir()} // never asked
	for _, c := range []struct {
		args []string
		word string
	}{
		{nil, "ironhold help"},
		{[]string{"launch"}, `"launch"`},
		{[]string{"org"}, `"org"`},
		{[]string{"org", "remove"}, `"org remove"`},
		{[]string{"serve", "--frobnicate"}, "frobnicate"},
		{[]string{"serve", "now"}, `"now"`},
		{[]string{"serve", "--role", "king"}, "--role"},
		{[]string{"org", "add"}, "--slug"},
		{[]string{"org", "add", "--slug", "a"}, "--name"},
		{[]string{"org", "add", "--slug", "a", "--name", "A", "--max-holds", "many"}, "max-holds"},
		{[]string{"user", "add", "--email", "a@b.example", "--name", "A"}, "--role"},
		{[]string{"user", "add", "--email", "a@b.example", "--name", "A", "--role", "king", "--password-stdin"}, "--role"},
		{[]string{"user", "add", "--email", "a@b.example", "--name", "A", "--role", "sales"}, "--password-stdin"},
		{[]string{"user", "add", "--email", "a@b.example", "--name", "A", "--role", "sales", "--org", "x", "--password-stdin"}, "--org"},
		{[]string{"user", "password", "--email", "a@b.example"}, "--password-stdin"},
		{[]string{"user", "password", "--password-stdin"}, "--email"},
		{[]string{"token", "add", "--name", "t", "--role", "customer"}, "--org"},
		{[]string{"token", "add", "--role", "customer"}, "--name"},
		{[]string{"rollout", "set"}, "--global"},
		{[]string{"rollout", "set", "--global", "maybe"}, "maybe"},
		{[]string{"rollout", "set", "--global", "101%"}, "101%"},
		{[]string{"rollout", "set", "--global", "on", "off"}, `"off"`},
		{[]string{"rollout", "set", "--org", "a"}, "inherit"},
		{[]string{"rollout", "set", "--org", "a", "maybe"}, "inherit"},
		{[]string{"rollout", "set", "--org", "a", "--global", "on"}, "either"},
		{[]string{"import", "--format", "csv"}, "FILE"},
		{[]string{"import", "x.csv"}, "--format"},
		{[]string{"import", "--format", "xls", "x.csv"}, "xls"},
		{[]string{"machine", "status", "T1"}, "STATUS"},
		{[]string{"machine", "status", "T1", "sold", "--reason", "r"}, "sold"},
		{[]string{"machine", "status", "T1", "ready"}, "--reason"},
		{[]string{"machine", "wiped"}, "TAG"},
		{[]string{"machine", "release"}, "TAG"},
		{[]string{"sweep", "all"}, `"all"`},
		{[]string{"help", "nothing"}, `"nothing"`},
	} {
		p.fails(2, c.args, c.word)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, url: "postgres://nobody@127.0.0.1:1/none", dir: t.TempDir()}
	all := p.ok("help")
	if p.ok("--help") != all {
		t.Error("--help and help differ")
	}
	for _, cmd := range commands() {
		if !strings.Contains(all, cmd.name) {
			t.Errorf("help does not name %s", cmd.name)
		}
		words := strings.Fields(cmd.name)
		own := p.ok(append([]string{"help"}, words...)...)
		if cmd.name != "help" && (own != p.ok(append(words, "--help")...) || !strings.HasPrefix(own, "Usage: ironhold "+cmd.name)) {
			t.Errorf("help %s: %s", cmd.name, own)
		}
	}
	serve := p.ok("serve", "--help")
	for _, s := range settingsTable() {
		if !strings.Contains(serve, "  "+s.name+" ") || !strings.Contains(serve, s.fallback) {
			t.Errorf("serve --help does not document %s", s.name)
		}
	}
}

func TestOrgUserTokenCommands(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	org := p.okJSON("org", "add", "--slug", "acme", "--name", "Acme", "--max-holds", "2")
	if org["slug"] != "acme" || org["max_holds"] != 2.0 || org["max_machines"] != 50.0 || org["id"] == "" {
		t.Errorf("got %v", org)
	}
	p.fails(1, []string{"org", "add", "--slug", "acme", "--name", "Again"}, "slug", "acme", "taken")
	p.fails(1, []string{"org", "add", "--slug", "Not Good", "--name", "N"}, "slug")
	p.fails(1, []string{"org", "add", "--slug", "neg", "--name", "N", "--max-holds", "-1"}, "max_holds")

	user := []string{"user", "add", "--email", "Ada@Acme.example", "--name", "Ada", "--role", "customer", "--org", "acme", "--password-stdin"}
	p.failsWith("short\n", 1, user, "password", "12")
	p.failsWith("", 1, user, "password")
	p.failsWith("a long password\n", 1, []string{"user", "add", "--email", "no", "--name", "A", "--role", "sales", "--password-stdin"}, "email")
	p.failsWith("a long password\n", 1, []string{"user", "add", "--email", "a@b.example", "--name", "A", "--role", "customer", "--org", "nobody", "--password-stdin"}, "nobody")
	p.failsWith("password1234\n", 1, user, "tried first")
	p.failsWith("ada ada acme\n", 1, user, "organisation")
	if out := p.okWith("a long password\r\n", user...); !strings.Contains(out, "ada@acme.example") {
		t.Errorf("printed %q", out)
	}
	again := []string{"user", "password", "--email", "Ada@acme.example", "--password-stdin"}
	p.failsWith("short\n", 1, again, "password", "12")
	p.failsWith("another long password\n", 1, []string{"user", "password", "--email", "no@acme.example", "--password-stdin"}, "no@acme.example")
	if out := p.okWith("another long password\n", again...); !strings.Contains(out, "ada@acme.example") {
		t.Errorf("printed %q", out)
	}
	p.failsWith("a long password\n", 1, user, "email", "in use")

	token, _ := p.okJSON("token", "add", "--name", "ci", "--role", "operator")["token"].(string)
	if !strings.HasPrefix(token, "ih_") {
		t.Errorf("token %q", token)
	}
	if plain := p.ok("token", "add", "--name", "ci", "--role", "customer", "--org", "acme"); !strings.HasPrefix(plain, "ih_") || strings.Count(plain, "\n") != 1 {
		t.Errorf("printed %q", plain)
	}
	p.fails(1, []string{"token", "add", "--name", "ci", "--role", "customer", "--org", "nobody"}, "nobody")
}

func TestRolloutCommand(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	p.ok("org", "add", "--slug", "acme", "--name", "Acme")
	if got := p.okJSON("rollout", "set", "--global", "25%"); got["launch"] != "25%" {
		t.Errorf("got %v", got)
	}
	got := p.okJSON("rollout", "set", "on", "--org", "acme") // the setting before the flag
	if got["setting"] != "on" || got["effective"] != true || got["reason"] != "org_on" || got["launch"] != "25%" {
		t.Errorf("got %v", got)
	}
	p.fails(1, []string{"rollout", "set", "--org", "nobody", "on"}, "nobody")
}

const threeMachines = `asset_tag,site,cpu,cores,ram_gb,status
T-1,HEL1,AMD EPYC 7443P,24,128,ready
T-2,HEL1,AMD EPYC 7443P,24,128,intake
T-3,HEL1,AMD EPYC 7443P,-4,128,ready
`

func TestFleetCommands(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	file := filepath.Join(p.dir, "fleet.csv")
	if err := os.WriteFile(file, []byte(threeMachines), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(got map[string]any, added, unchanged float64) {
		t.Helper()
		refused, _ := got["refused"].([]any)
		if got["added"] != added || got["changed"] != 0.0 || got["unchanged"] != unchanged || len(refused) != 1 {
			t.Errorf("got %v", got)
			return
		}
		if first, _ := refused[0].(map[string]any); first["line"] != 4.0 || first["reason"] == "" {
			t.Errorf("refused %v", first)
		}
	}
	check(p.okJSON("import", "--format", "csv", file, "--dry-run"), 2, 0)
	check(p.okJSON("import", file, "--format=csv"), 2, 0)
	check(p.okJSON("import", "--format", "csv", file), 0, 2)
	if out := p.ok("import", "--format", "csv", file, "--dry-run"); !strings.Contains(out, "line 4 refused") || !strings.Contains(out, "dry run") {
		t.Errorf("printed %q", out)
	}
	p.fails(1, []string{"import", "--format", "csv", filepath.Join(p.dir, "missing.csv")}, "missing.csv")
	p.fails(1, []string{"import", "--format", "csv", p.dir}, "folder")
	noCSV := filepath.Join(p.dir, "page.html")
	if err := os.WriteFile(noCSV, []byte("<html><body>Not found</body></html>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.fails(1, []string{"import", "--format", "csv", noCSV}, "page.html")

	got := p.okJSON("machine", "status", "T-2", "ready", "--reason", "racked and tested")
	if got["asset_tag"] != "T-2" || got["status"] != "ready" || got["status_reason"] != "racked and tested" {
		t.Errorf("got %v", got)
	}
	p.fails(1, []string{"machine", "status", "T-2", "cleaning", "--reason", "r"}, "T-2", "ready", "cleaning", "maintenance")
	p.fails(1, []string{"machine", "status", "T-9", "ready", "--reason", "r"}, "T-9")
	if got := p.okJSON("machine", "wiped", "T-2", "--reason", "again, to be sure"); got["wiped_at"] == nil {
		t.Errorf("got %v", got)
	}
	p.fails(1, []string{"machine", "wiped", "T-9", "--reason", "r"}, "T-9")
}

func TestUpkeepCommands(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	if out := p.ok("sweep"); out != "0\n" {
		t.Errorf("printed %q", out)
	}
	if got := p.okJSON("sweep"); got["expired"] != 0.0 {
		t.Errorf("got %v", got)
	}
	got := p.okJSON("doctor")
	if list, _ := got["invariants"].([]any); got["ok"] != true || len(list) == 0 {
		t.Errorf("got %v", got)
	}
	p.ok("doctor")
}

// A machine ready for sale that was not wiped since its last service: no trigger allows it.
func TestDoctorFindsAViolation(t *testing.T) {
	t.Parallel()
	owner := pgtest.URL(t)
	p := newProg(t)
	p.url = owner
	p.ok("demo")
	if !strings.Contains(p.ok("doctor", "--json"), `"ok":true`) {
		t.Error("the sample is not healthy")
	}
	_, err := pgtest.Pool(t, owner).Exec(t.Context(), `set session_replication_role = replica;
		update machines set status = 'ready', wiped_at = null where status = 'cleaning';
		set session_replication_role = origin`)
	if err != nil {
		t.Fatal(err)
	}
	p.fails(1, []string{"doctor"}, "violated")
	o := p.run("doctor", "--json")
	if o.code != 1 || !strings.Contains(o.stdout, `"ok":false`) || !strings.Contains(o.stderr, "violated") {
		t.Errorf("got %+v", o)
	}
}

func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, url: pgtest.EmptyURL(t), dir: t.TempDir()}
	p.fails(1, []string{"sweep"}, "ironhold migrate")
	done := make(chan outcome, 2)
	for range 2 {
		go func() { done <- p.run("migrate") }()
	}
	for range 2 {
		if o := <-done; o.code != 0 {
			t.Errorf("%+v", o)
		}
	}
	if got := p.okJSON("migrate"); got["current"] != true {
		t.Errorf("got %v", got)
	}
	p.ok("sweep")
}

func TestUnusableDatabaseIsOneLine(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, dir: t.TempDir()}
	p.url = "postgres://x:verysecret@" + freeAddr(t) + "/x"
	for _, args := range [][]string{{"doctor"}, {"migrate"}, {"org", "add", "--slug", "a", "--name", "A"}} {
		p.fails(1, args, "database unreachable", "refused")
	}
	if o := p.run("sweep"); strings.Contains(o.stderr, "verysecret") {
		t.Error("the password is shown")
	}
	p.url = "nonsense://verysecret"
	p.fails(1, []string{"sweep"}, "DATABASE_URL")
	if o := p.run("sweep"); strings.Contains(o.stderr, "verysecret") {
		t.Error("the password is shown")
	}
}

func TestNonsensicalSettings(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, url: "postgres://x@127.0.0.1:1/x", dir: t.TempDir()}
	for name, values := range map[string][]string{
		"LISTEN_ADDR":          {"8080", "localhost", "127.0.0.1:99999", "127.0.0.1:http"},
		"METRICS_ADDR":         {"nowhere", "127.0.0.1:-1"},
		"BASE_URL":             {"portal.example", "ftp://portal.example", "https://", "https://portal.example/shop"},
		"HOLD_DURATION":        {"banana", "0", "-1m", "15", "1000000h", "NaN"},
		"HOLD_EXTENSION":       {"0s", "x"},
		"HOLD_CEILING":         {"1m", "x"},
		"SWEEP_INTERVAL":       {"0", "10ms", "2h"},
		"WALK_LIMIT":           {"0", "-1", "1.5", "many"},
		"LOST_LIMIT":           {"0", "99999999999999999999"},
		"LOCK_TIMEOUT":         {"0", "5m"},
		"POOL_INTERACTIVE":     {"1", "1001"},
		"POOL_BACKGROUND":      {"2"},
		"ORDER_RATE":           {"-1", "x"},
		"LOG_LEVEL":            {"loud", "info+3"},
		"TRUSTED_PROXIES":      {"proxy.example", "10.0.0.0/33", "10.0.0.1,"},
		"DATABASE_URL":         {"127.0.0.1:5432/x", "postgres://%zz"},
		"MIGRATE_DATABASE_URL": {"://"},
		"OUTBOUND_ALLOW":       {"inside", "10.0.0.0/33"},
		"PROVISION_DRIVER":     {"ansible"},
		"PROVISION_SECRET":     {"secret", "whsec_c2hvcnQ="},
		"PROVISION_ALLOW":      {"inside"},
		"REDFISH_BOOT":         {"Hdd"},
		"SMTP_ADDR":            {"mail.example", "mail.example:smtp", ":25"},
		"SMTP_SECURITY":        {"ssl"},
		"MAIL_FROM":            {"nobody", "<>"},
		"MAIL_HOLD_WARNING":    {"0", "48h"},
	} {
		for _, v := range values {
			p.extra = []string{name + "=" + v}
			p.fails(1, []string{"serve"}, name+":")
		}
	}
	p.extra = []string{"SMTP_ADDR=mail.example:587"}
	p.fails(1, []string{"serve"}, "MAIL_FROM:")
	for missing, extra := range map[string][]string{
		"PROVISION_URL: is required":    {"PROVISION_DRIVER=webhook"},
		"PROVISION_SECRET: is required": {"PROVISION_URL=https://provisioner.example/"},
		"PROVISION_URL: the URL cannot": {"PROVISION_URL=http://provisioner.example/", "PROVISION_SECRET=" + sign.NewSecret().Text()},
		"REDFISH_USER: is required":     {"PROVISION_DRIVER=redfish"},
		"REDFISH_PASSWORD: is required": {"REDFISH_USER=ironhold"},
	} {
		p.extra = extra
		p.fails(1, []string{"serve"}, missing)
	}
	known := map[string]bool{}
	for _, s := range settingsTable() {
		known[s.name] = true
	}
	if len(known) != len(settingsTable()) {
		t.Error("a setting is in the table twice")
	}
}

func TestDefaultsAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	a := &app{env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	s, err := a.load()
	if err != nil || s.policy().Duration.String() != "15m0s" || s.policy().Ceiling.String() != "45m0s" || s.WalkLimit != 25 || s.secure() || s.MetricsAddr == "" {
		t.Errorf("got %+v, %v", s, err)
	}
	env["HOLD_DURATION"], env["METRICS_ADDR"], env["WALK_LIMIT"], env["BASE_URL"] = "2h", "", "", "https://portal.example/"
	s, err = a.load()
	if err != nil || s.HoldCeiling < s.HoldDuration || s.MetricsAddr != "" || s.WalkLimit != 25 || s.BaseURL != "https://portal.example" || !s.secure() {
		t.Errorf("got %+v, %v", s, err)
	}
}
