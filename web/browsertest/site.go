package browsertest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	netmail "net/mail"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
	"ironhold/migrations/pg/vitals"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/notify/smtp"
	"ironhold/rollout"
	"ironhold/web"
	"ironhold/web/live"
)

// maxPage is as much HTML as one page may have.
const maxPage = 50_000

// password is everybody's.
const password = "correct horse battery"

var by = pg.By{Actor: "test"}

// Options change a site from the ordinary. Zero values are defaults.
type Options struct {
	OrderRate   int
	LockTimeout time.Duration // 20 s: a machine that is slow is no reason to be refused
	Budget      time.Duration // of an order's walk; 20 s
	Policy      holds.Policy
	Mail        bool   // mails are sent, to a catcher
	Named       bool   // by localhost, since passkeys need a name
	Jobs        bool   // River's pages are there
	Flags       string // pages ask a flag provider in this state: "READY", "STALE" or "ERROR"
}

// Site is a whole server with a database of its own.
type Site struct {
	URL       string
	Owner     *pgxpool.Pool // the superuser's, to arrange what a test needs
	App       *pgxpool.Pool // what the server works with
	Accounts  *accounts.Directory
	Fleet     *fleet.Registry
	Holds     *holds.Book
	Rollout   *rollout.Store
	Allocator *allocator.Allocator
	Live      *live.Hub
	Vitals    *vitals.Keeper // has read nothing until a test lets it

	t      testing.TB
	hush   func() // ends Live
	orders *lossy

	routes chi.Routes
}

// run starts a hub and returns what ends it.
func run(hub *live.Hub) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { hub.Run(ctx); close(ended) }()
	return func() { cancel(); <-ended }
}

// mail gives the site a mail server, with one mail that was sent.
func (s *Site) mail(t testing.TB, on bool) (*notify.Mailer, *mailcatch.Server) {
	if !on {
		return nil, nil
	}
	t.Helper()
	catcher, err := mailcatch.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sender, err := smtp.New(smtp.Config{Addr: catcher.Addr(), Security: smtp.NoTLS, From: netmail.Address{Address: "no-reply@portal.example"}})
	if err != nil {
		t.Fatal(err)
	}
	err = sender.Send(t.Context(), notify.Mail{
		ID: uuid.New(), To: netmail.Address{Name: "Ada", Address: "ada@acme.example"}, Subject: "Your hold on GOT-1 ends soon",
		Text: "Hello Ada,\n\nServer GOT-1 is on hold for you.\n\nhttps://portal.example/invitation?token=Zk3vG0yq5hR7tB2nX9pL4sW8mC1dJ6fA0uE5oK7iQxY\n", HTML: "<p>Hello</p>",
	})
	if err != nil {
		t.Fatal(err)
	}
	mailer := notify.NewMailer(s.App, sender, "https://portal.example", time.Minute)
	s.Accounts.OnLink(mailer.Link)
	return mailer, catcher
}

// New starts a site without machines, with the module on for all.
func New(t testing.TB, o Options) *Site {
	t.Helper()
	if o.LockTimeout == 0 {
		o.LockTimeout = 20 * time.Second
	}
	if o.Budget == 0 {
		o.Budget = 20 * time.Second
	}
	owner := pgtest.DB(t)
	app, err := pg.Connect(context.Background(), pgtest.LoginURL(t, owner.Config().ConnString()),
		pg.PoolOptions{Name: "browsertest", MaxConns: 20, LockTimeout: o.LockTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	if o.Policy == (holds.Policy{}) {
		o.Policy = holds.DefaultPolicy()
	}
	log := slog.New(slog.NewTextHandler(&testLog{t: t}, nil))
	hub := live.New(app, pgtest.LoginURL(t, owner.Config().ConnString()), log)
	store := rollout.New(app).OnChange(hub.Touch)
	orders := &lossy{Pool: app}
	s := &Site{
		Owner: owner, App: app, Accounts: accounts.New(app), Fleet: fleet.New(app).OnChange(hub.Touch),
		Holds: holds.New(app, o.Policy).OnChange(hub.Touch), Rollout: store, t: t, orders: orders,
		Allocator: allocator.New(orders, allocator.Options{
			Policy: o.Policy, Budget: o.Budget, Precondition: store.Precondition(), OnChange: hub.Touch,
		}),
	}
	s.Live, s.hush = hub, run(hub)
	t.Cleanup(s.hush)
	s.Vitals = vitals.NewKeeper(app, log)
	mail, catcher := s.mail(t, o.Mail)
	handler, err := web.New(web.Config{
		Mail: mail, Caught: catcher, Jobs: s.jobs(t, o.Jobs), Flags: s.flags(t, o.Flags),
		Accounts: s.Accounts, Rollout: store, Holds: s.Holds, Allocator: s.Allocator, Fleet: s.Fleet, Live: hub,
		Invariants: invariants.New(app), DB: app, Logger: log, OrderRate: o.OrderRate, Vitals: s.Vitals,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.routes, _ = handler.(chi.Routes)
	server := httptest.NewServer(s.measure(handler))
	s.URL = server.URL
	if o.Named {
		s.URL = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	}
	t.Cleanup(func() {
		server.CloseClientConnections() // streams do not end by themselves
		server.Close()
		s.Allocator.Close(context.Background())
	})
	if _, err := store.SetLaunch(t.Context(), by, "on"); err != nil {
		t.Fatal(err)
	}
	return s
}

// measure fails the test for pages that are too large.
func (s *Site) measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &measured{ResponseWriter: w}
		next.ServeHTTP(m, r)
		if m.bytes > maxPage && strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			s.t.Errorf("%s %s: %d bytes of HTML, at most %d", r.Method, r.URL.RequestURI(), m.bytes, maxPage)
		}
	})
}

type measured struct {
	http.ResponseWriter
	bytes int
}

func (m *measured) Write(p []byte) (int, error) {
	n, err := m.ResponseWriter.Write(p)
	m.bytes += n
	return n, err
}

// Unwrap lets streams flush.
func (m *measured) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// shown are the patterns of the pages that tests have been shown, for the check that none is
// forgotten.
var shown pages

type pages struct {
	mu  sync.Mutex
	all map[string]bool
}

var accessLine = regexp.MustCompile(`msg=request .*method=GET .*route=(\S+) status=200 `)

func (p *pages) note(line string) {
	m := accessLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]bool{}
	}
	p.all[m[1]] = true
}

func (p *pages) has(pattern string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[pattern]
}

// testLog writes what the server has logged if the test fails, all but the ordinary.
type testLog struct {
	t  testing.TB
	mu sync.Mutex

	lines  []string
	hooked bool
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hooked {
		l.hooked = true
		l.t.Cleanup(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.t.Failed() {
				l.t.Log("the server's log:\n" + strings.Join(l.lines, ""))
			}
		})
	}
	shown.note(string(p))
	if !strings.Contains(string(p), "level=INFO") || strings.Contains(string(p), "status=5") {
		l.lines = append(l.lines, string(p))
	}
	return len(p), nil
}

// Org adds an organisation that may hold 5 machines and have 50.
func (s *Site) Org(t testing.TB, slug string) uuid.UUID {
	t.Helper()
	id := fixture.Org(t, s.Owner, slug, 5, 50)
	fixture.Exec(t, s.Owner, "update organisations set name = initcap(replace($1, '-', ' ')) where id = $2", slug, id)
	return id
}

// hashed is the stored form of everybody's password: making it takes time, so it is made once.
var hashed struct {
	sync.Once
	value string
}

// Person adds somebody who can sign in, in the time zone of Berlin, and returns the address.
func (s *Site) Person(t testing.TB, email, name string, role accounts.Role, org string) string {
	t.Helper()
	zone := "Europe/Berlin"
	hashed.Do(func() {
		n := accounts.NewUser{Email: "first-" + email, Name: name, Role: accounts.Operator, Password: password}
		u, err := s.Accounts.AddUser(t.Context(), by, n)
		if err != nil {
			t.Fatal(err)
		}
		hashed.value = fixture.Get[string](t, s.Owner, "select password_hash from users where id = $1", u.ID)
	})
	fixture.Exec(t, s.Owner, `insert into users (org_id, email, name, role, password_hash, time_zone)
		select (select id from organisations where slug = $1), $2, $3, $4, $5, $6`, org, email, name, string(role), hashed.value, zone)
	return email
}

// SignIn signs the tab in without its pages: for tests of something else.
func (tab *Tab) SignIn(email string) {
	tab.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tab.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(tab.site.URL+"/sign-in", url.Values{"email": {email}, "password": {password}})
	if err != nil {
		tab.t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		tab.t.Fatalf("sign-in of %s: status %d\n%s", email, resp.StatusCode, body)
	}
	own, err := url.Parse(tab.site.URL)
	if err != nil {
		tab.t.Fatal(err)
	}
	for _, c := range jar.Cookies(own) {
		only := true
		call(tab, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: tab.site.URL + "/", HTTPOnly: &only, SameSite: network.CookieSameSiteLax})
	}
}

// Cookie sets a cookie of the site.
func (tab *Tab) Cookie(name, value string) {
	tab.t.Helper()
	call(tab, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: tab.site.URL + "/"})
}

// SignInByForm signs in as a person does.
func (tab *Tab) SignInByForm(email string) {
	tab.t.Helper()
	tab.Go("/")
	tab.Fill("email", email)
	tab.Fill("password", password)
	tab.Follow(func() { tab.Click(`form[action="/sign-in"] button`) })
}
