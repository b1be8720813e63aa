package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/web/live"
)

// newLiveSite is a site whose open pages are told of changes.
func newLiveSite(t *testing.T) *site {
	t.Helper()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 20)
	var hub *live.Hub
	s := newSiteOn(t, owner, app, func(c *Config) {
		hub = live.New(app, pgtest.LoginURL(t, owner.Config().ConnString()), c.Logger)
		c.Live = hub
		c.Holds.OnChange(hub.Touch)
		c.Fleet.OnChange(hub.Touch)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { hub.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	for end := time.Now().Add(10 * time.Second); !hub.Live(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the hub never listened")
		}
	}
	return s
}

type event struct{ name, data string }

// stream is an open page's.
type stream struct {
	t      *testing.T
	resp   *http.Response
	events chan event // closed at the end
	close  func()
}

func (b *browser) listen(path string) *stream {
	t := b.s.t.(*testing.T)
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", b.s.http.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	st := &stream{t: t, resp: resp, events: make(chan event, 100), close: func() { cancel(); resp.Body.Close() }}
	t.Cleanup(st.close)
	go func() {
		defer close(st.events)
		var e event
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				e.data = line[6:]
			case line == "" && e.name != "":
				st.events <- e
				e = event{}
			}
		}
	}()
	return st
}

// next waits for an event of this name and returns its data.
func (st *stream) next(name string) string {
	st.t.Helper()
	end := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-st.events:
			if !ok {
				st.t.Fatalf("the stream ended before %q", name)
			}
			if e.name == name {
				return e.data
			}
		case <-end:
			st.t.Fatalf("no event %q", name)
		}
	}
}

func (st *stream) ends() {
	st.t.Helper()
	end := time.After(20 * time.Second)
	for {
		select {
		case _, ok := <-st.events:
			if !ok {
				return
			}
		case <-end:
			st.t.Fatal("the stream goes on")
		}
	}
}

func (st *stream) hold() (h struct {
	State, Deadline, Now string
	Withdrawn            bool
}) {
	st.t.Helper()
	if err := json.Unmarshal([]byte(st.next("hold")), &h); err != nil {
		st.t.Fatal(err)
	}
	return h
}

func TestEventsTellOfAHold(t *testing.T) {
	t.Parallel()
	s := newLiveSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"})
	b := s.person("Ada", accounts.Customer, "acme")
	path := b.order("machine=M-1")
	id := uuid.MustParse(strings.TrimPrefix(path, "/holds/"))
	st := b.listen("/events?hold=" + id.String())
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := st.resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	st.next("live")
	first := st.hold()
	if first.State != "held" || first.Withdrawn {
		t.Fatalf("told at the beginning: %+v", first)
	}
	scope := holds.Scope{OrgID: s.acme}
	if _, err := s.server.Holds.Extend(t.Context(), by(), scope, id, ""); err != nil {
		t.Fatal(err)
	}
	st.next("stock")
	if h := st.hold(); h.State != "held" || h.Deadline <= first.Deadline {
		t.Errorf("after the extension: %+v, before %+v", h, first)
	}
	if _, err := s.server.Fleet.SetStatus(t.Context(), by(), "M-1", "maintenance", "fan"); err != nil {
		t.Fatal(err)
	}
	if h := st.hold(); !h.Withdrawn {
		t.Errorf("after the withdrawal: %+v", h)
	}
	if _, err := s.server.Holds.Cancel(t.Context(), by(), scope, id, ""); err != nil {
		t.Fatal(err)
	}
	if h := st.hold(); h.State != "cancelled" {
		t.Errorf("after giving back: %+v", h)
	}
}

func TestEventsAreOnesOwn(t *testing.T) {
	t.Parallel()
	s := newLiveSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"})
	id := strings.TrimPrefix(s.person("Ada", accounts.Customer, "acme").order("machine=M-1"), "/holds/")
	foe := s.person("Eve", accounts.Customer, "rival")
	foe.get("/events?hold="+id).outcome(404, "not-found")
	foe.get("/events?hold="+uuid.NewString()).outcome(404, "not-found")
	foe.get("/events?hold=x").outcome(404, "not-found")
	s.stranger().get("/events").outcome(401, "unauthenticated")
	seen := foe.listen("/events")
	seen.next("live")
	if _, err := s.server.Holds.Cancel(t.Context(), by(), holds.Scope{OrgID: s.acme}, uuid.MustParse(id), ""); err != nil {
		t.Fatal(err)
	}
	if data := seen.next("stock"); data != "{}" {
		t.Errorf("others learn %s", data)
	}
	// Staff see every hold.
	if h := s.person("Sam", accounts.Sales, "").listen("/events?hold=" + id).hold(); h.State != "cancelled" {
		t.Errorf("sales are told %+v", h)
	}
}

// A stream ends with its session, however that ends, and with the rights to what it tells.
func TestEventsEndWithTheSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *site, b *browser, id uuid.UUID){
		"sign-out": func(_ *testing.T, _ *site, b *browser, _ uuid.UUID) { b.post("/sign-out").want(303) },
		"everywhere": func(t *testing.T, s *site, _ *browser, id uuid.UUID) {
			if err := s.server.Accounts.SignOutEverywhere(t.Context(), by(), id); err != nil {
				t.Fatal(err)
			}
		},
		"disabled": func(t *testing.T, s *site, _ *browser, id uuid.UUID) {
			fixture.Exec(t, s.owner, "update users set disabled_at = clock_timestamp() where id = $1", id)
		},
		"other organisation": func(t *testing.T, s *site, _ *browser, id uuid.UUID) {
			fixture.Exec(t, s.owner, "update users set org_id = $2 where id = $1", id, s.rival)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLiveSite(t)
			fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"})
			b := s.person("Ada", accounts.Customer, "acme")
			hold := strings.TrimPrefix(b.order("machine=M-1"), "/holds/")
			st := b.listen("/events?hold=" + hold)
			st.hold()
			end(t, s, b, userID(t, s, "customer-acme@example.com"))
			s.server.Live.Touch()
			if name != "other organisation" {
				st.next("end")
			}
			st.ends()
			if n := s.server.Live.Subscribers(); n != 0 {
				t.Errorf("%d still listen", n)
			}
		})
	}
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	s := newLiveSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	var open []*stream
	for range streamsEach {
		st := b.listen("/events")
		st.next("live")
		open = append(open, st)
	}
	p := b.get("/events").outcome(429, "too-many-requests")
	if p.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	open[0].close()
	open[0].ends()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		st := b.listen("/events")
		if st.resp.StatusCode == 200 {
			st.next("live")
			break
		}
		if time.Now().After(end) {
			t.Fatal("a closed stream still counts")
		}
	}
	// The access log has their lines although they go on.
	if n := strings.Count(s.log.String(), `"route":"/events"`); n < streamsEach {
		t.Errorf("%d lines in the access log", n)
	}
}

// Without a hub pages ask for themselves; what a script asks keeps no session awake.
func TestPagesAskForThemselves(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"}, fixture.Machine{Tag: "M-2"})
	b := s.person("Ada", accounts.Customer, "acme")
	b.get("/events").want(204)
	digest := func(path string) string {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), "GET", s.http.URL+path, nil)
		r.Header.Set(digestHeader, "1")
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 204 || resp.Header.Get(digestHeader) == "" {
			t.Fatalf("%s: status %d, digest %q", path, resp.StatusCode, resp.Header.Get(digestHeader))
		}
		return resp.Header.Get(digestHeader)
	}
	shown := func(path string) string {
		t.Helper()
		for _, n := range b.get(path).want(200).find("div") {
			if attrOf(n, "data-live") != "" {
				return attrOf(n, "data-digest")
			}
		}
		t.Fatalf("%s does not listen", path)
		return ""
	}
	pages := []string{"/", "/offers", "/offers?sort=-ram&min_cores=1", "/holds", "/holds?state=held"}
	before := map[string]string{}
	for _, path := range pages {
		before[path] = digest(path)
		if got := shown(path); got != before[path] {
			t.Errorf("%s: the page has %q, asked it is %q", path, got, before[path])
		}
	}
	b.order("machine=M-1")
	for _, path := range pages {
		if digest(path) == before[path] {
			t.Errorf("%s: an order changes nothing", path)
		}
	}
	if digest("/services") != digest("/services") {
		t.Error("a digest changes by itself")
	}

	// The last thing that the person did is a while ago, and the page has asked since.
	sleepy := func(do func()) (woken bool) {
		t.Helper()
		codec := scs.GobCodec{}
		deadline, values, err := codec.Decode(fixture.Get[[]byte](t, s.owner, "select data from sessions where user_id is not null"))
		if err != nil {
			t.Fatal(err)
		}
		values[seenKey] = time.Now().Add(-time.Hour).Unix()
		data, err := codec.Encode(deadline, values)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Exec(t, s.owner, "update sessions set data = $1 where user_id is not null", data)
		do()
		return string(fixture.Get[[]byte](t, s.owner, "select data from sessions where user_id is not null")) != string(data)
	}
	if sleepy(func() { digest("/offers") }) {
		t.Error("a script's question keeps the session awake")
	}
	if sleepy(func() { b.get("/events") }) {
		t.Error("a stream keeps the session awake")
	}
	if !sleepy(func() { b.get("/offers") }) {
		t.Error("a person's does not")
	}
}
