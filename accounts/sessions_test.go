package accounts_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/migrations/pgtest"
)

func TestSessions(t *testing.T) {
	f := setup(t)
	store := accounts.NewSessionStore(pgtest.Pool(t, pgtest.LoginURL(t, f.db.Config().ConnString())))
	manager := scs.New()
	manager.Store = store
	manager.HashTokenInStore = true
	manager.Cookie.Secure = false
	manager.IdleTimeout = time.Hour

	inFlight, goOn := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/in", func(_ http.ResponseWriter, r *http.Request) {
		if err := manager.RenewToken(r.Context()); err != nil {
			t.Error(err)
		}
		manager.Put(r.Context(), accounts.SessionUserKey, f.user.ID.String())
		manager.Put(r.Context(), accounts.SessionAgentKey, r.UserAgent())
	})
	mux.HandleFunc("/out", func(_ http.ResponseWriter, r *http.Request) { _ = manager.Destroy(r.Context()) })
	mux.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) { inFlight <- struct{}{}; <-goOn })
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		if manager.GetString(r.Context(), accounts.SessionUserKey) == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	server := httptest.NewServer(manager.LoadAndSave(mux))
	t.Cleanup(server.Close)

	browser := func() *http.Client { jar, _ := cookiejar.New(nil); return &http.Client{Jar: jar} }
	get := func(c *http.Client, path string) int {
		t.Helper()
		r, err := c.Get(server.URL + path)
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Body.Close()
		return r.StatusCode
	}
	signedIn := func(c *http.Client) bool { t.Helper(); return get(c, "/who") == http.StatusOK }
	signIn := func() *http.Client {
		t.Helper()
		c := browser()
		get(c, "/in")
		if !signedIn(c) {
			t.Fatal("not signed in")
		}
		return c
	}

	a, b := signIn(), signIn()
	var rows int
	err := f.db.QueryRow(f.ctx, "select count(*) from sessions where user_id = $1 and user_agent <> '' and expiry > clock_timestamp()", f.user.ID).Scan(&rows)
	if err != nil || rows != 2 {
		t.Fatalf("%d rows with the person's id, %v", rows, err)
	}
	get(a, "/out")
	if signedIn(a) || !signedIn(b) {
		t.Error("signing out ends one session and no other")
	}

	// A request under way while all sessions are ended does not write its session back to life.
	done := make(chan struct{})
	go func() { get(b, "/slow"); close(done) }()
	<-inFlight
	if err := f.dir.SignOutEverywhere(f.ctx, by, f.user.ID); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	<-done
	if signedIn(b) {
		t.Error("a session ended everywhere is alive")
	}

	for name, end := range map[string]func() error{
		"password": func() error { return f.dir.SetPassword(f.ctx, by, f.user.ID, password) },
		"disabled": func() error { return f.dir.DisablePerson(f.ctx, by, uuid.Nil, f.user.ID) },
	} {
		if err := f.dir.EnablePerson(f.ctx, by, f.user.ID); err != nil {
			t.Fatal(err)
		}
		c := signIn()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if signedIn(c) {
			t.Errorf("%s: the session is alive", name)
		}
	}

	if n, err := store.DeleteExpired(f.ctx); n != 0 || err != nil {
		t.Errorf("deleted %d, %v: too early", n, err)
	}
	if _, err := f.db.Exec(f.ctx, "update sessions set expiry = expiry - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	if n, err := store.DeleteExpired(f.ctx); n < 4 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
}

func TestSessionsExpireByTheDatabasesClock(t *testing.T) {
	f := setup(t)
	store := accounts.NewSessionStore(f.db)
	data, err := scs.GobCodec{}.Encode(time.Now().Add(time.Hour), map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CommitCtx(f.ctx, "short", data, time.Now().Add(300*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, found, err := store.FindCtx(f.ctx, "short"); !found || err != nil {
		t.Fatalf("found %t, %v", found, err)
	}
	time.Sleep(350 * time.Millisecond)
	if _, found, err := store.FindCtx(f.ctx, "short"); found || err != nil {
		t.Errorf("found %t after its time, %v", found, err)
	}
	if _, found, err := store.FindCtx(f.ctx, "unknown"); found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
}
