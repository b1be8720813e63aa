package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

// odd are defaults that somebody may have given to the database or to the login, each with what else a
// program would trip over.
var odd = []string{
	"default_transaction_read_only = on", "default_transaction_deferrable = on", "search_path = 'elsewhere', 'pg_temp'",
	"timezone = 'Asia/Kathmandu'", "datestyle = 'German'", "intervalstyle = 'sql_standard'", "bytea_output = 'escape'",
	"standard_conforming_strings = off", "client_encoding = 'LATIN1'", "extra_float_digits = -15", "array_nulls = off",
	"transform_null_equals = on", "statement_timeout = '1ms'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'",
	"idle_session_timeout = '20ms'", "row_security = off", "synchronous_commit = off", "client_min_messages = 'debug5'",
}

// Whatever the server, the database or the login sets by default, the whole program does the same: the
// schema that it makes, what its pages and its API say, the times that it keeps.
func TestDefaultsChangeNothing(t *testing.T) {
	t.Parallel()
	want := sell(t)
	for _, isolation := range []string{"repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			got := sell(t, append(odd, "default_transaction_isolation = '"+isolation+"'")...)
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Errorf("without any default:\n%s\nwith:\n%s", want[i], got[min(i, len(got)-1)])
				}
			}
		})
	}
}

// sell does a little of everything on a new database with the defaults, and gives what it was told.
func sell(t *testing.T, defaults ...string) (told []string) {
	t.Helper()
	owner := pgtest.EmptyURL(t)
	conn, err := pg.Dial(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // nothing is lost with it
	super := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	super("create schema elsewhere; create table elsewhere.holds (x int); create table elsewhere.machines (x int); grant usage on schema elsewhere to public")
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	for _, d := range defaults {
		super("alter database " + name + " set " + d)
	}
	p := &prog{t: t, url: owner, dir: t.TempDir()}
	p.ok("migrate")
	login := pgtest.LoginURL(t, owner)
	for _, d := range defaults {
		super("alter role " + pgtest.AppLogin + " in database " + name + " set " + d)
	}
	file := filepath.Join(p.dir, "fleet.csv")
	if err := os.WriteFile(file, []byte("asset_tag,site,cpu,cores,ram_gb,price_month_eur\nM1,FSN1,Größer 1,8,64,33.50\nM2,FSN1,Größer 2,16,128,66\nM3,HEL1,Größer 2,16,128,66\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	told = append(told, p.ok("import", "--format", "csv", file))
	p.url = login
	p.ok("org", "add", "--slug", "acme", "--name", `Ümläut \ 'Co'`)
	p.ok("rollout", "set", "--global", "on")
	p.okWith("a password for tests\n", "user", "add", "--email", "x@example.com", "--name", "Łukasz", "--role", "org-admin", "--org", "acme", "--password-stdin")
	customer := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", "acme"))
	staff := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "operator"))
	p.extra = []string{"SWEEP_INTERVAL=1s"}
	r := p.serve("--no-migrate")
	r.ready()
	say := func(what, text string) { told = append(told, what+": "+plain(text)) }
	id := func(text string) string {
		var v struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal([]byte(text), &v)
		return v.ID
	}
	api := func(token, method, path string, body any, key string) string {
		t.Helper()
		code, text := r.askWith(method, "http://"+r.addr+"/api/v1"+path, token, body, key)
		say(method+" "+uuids.ReplaceAllString(path, "<id>"), http.StatusText(code)+" "+text)
		return id(text)
	}
	hold := api(customer, http.MethodPost, "/holds", map[string]any{"machine": "M1"}, "one")
	api(customer, http.MethodPost, "/holds", map[string]any{"machine": "M1"}, "one")
	api(customer, http.MethodPost, "/holds", map[string]any{"cpu": "größer", "min_ram_gb": 100, "sites": []string{"HEL1"}}, "two")
	api(customer, http.MethodPost, "/holds", map[string]any{"min_ram_gb": 1000}, "three")
	api(customer, http.MethodPost, "/holds/"+hold+"/extend", map[string]any{}, "")
	service := api(customer, http.MethodPost, "/holds/"+hold+"/convert", map[string]any{}, "")
	api(customer, http.MethodPost, "/services/"+service+"/end", map[string]any{}, "")
	for _, path := range []string{"/offers", "/holds", "/services"} {
		api(customer, http.MethodGet, path, nil, "")
	}
	api(staff, http.MethodPost, "/machines/M1/wiped", map[string]any{"reason": "it came back"}, "")
	api(staff, http.MethodGet, "/machines/M1", nil, "")
	api(staff, http.MethodGet, "/attempts?outcome=held", nil, "")
	var lengths string
	if err := conn.QueryRow(t.Context(), `select string_agg(round(extract(epoch from expires_at - created_at) / 60) || ' minutes ' || state, ', ' order by idempotency_key)
		from holds`).Scan(&lengths); err != nil {
		t.Fatal(err)
	}
	told = append(told, lengths)

	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm("http://"+r.addr+"/sign-in", url.Values{"email": {"x@example.com"}, "password": {"a password for tests"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, path := range []string{"/offers", "/holds", "/org", "/org/history", "/services"} {
		say(path, text(t, client, "http://"+r.addr+path))
	}
	_, metrics := r.ask(http.MethodGet, "http://"+r.metrics+"/metrics", "", nil)
	say("hears of changes", strings.Join(regexp.MustCompile(`(?m)^ironhold_live_connected .*$`).FindAllString(metrics, 1), ""))
	r.terminate()
	if strings.Contains(r.stderr.String(), `"level":"ERROR"`) {
		t.Errorf("errors in the log:\n%s", r.stderr)
	}
	p.extra = nil
	say("doctor", p.ok("doctor", "--json"))
	return told
}

// text is what a page says, without its frame.
func text(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(b), "<main")
	body, _, _ = strings.Cut(body, "</main>")
	return resp.Status + " " + strings.Join(strings.Fields(tags.ReplaceAllString("<main"+body, " ")), " ")
}

var (
	tags     = regexp.MustCompile(`<[^>]*>`)
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?|\d{1,2} \w{3} \d{4}|\d{1,2}:\d\d(:\d\d)?|"(took_us|seconds_left|at_us|lot|faster_by_us)":\d+|"request_id":"[^"]*"|"provisioning":\{[^}]*\}|\d+ (ms|min|s)\b`)
)

// plain takes out what differs between two runs in any case. The form of a time stays, its zone too.
func plain(s string) string {
	return changing.ReplaceAllString(uuids.ReplaceAllString(s, "<id>"), "<it>")
}
