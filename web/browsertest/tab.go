package browsertest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// patience is how long a condition may take. Generous: it is only used up by failures.
const patience = 45 * time.Second

// Tab is one browser of one person: cookies, storage and settings of its own. Its methods fail the
// test when they cannot do what they say.
type Tab struct {
	t       testing.TB
	ctx     context.Context
	site    *Site
	watched *watch
	media   map[string]string
	pages   int // left so far
}

// Open opens a tab on the site, of desktop size and in light colours.
func (s *Site) Open(t testing.TB) *Tab {
	t.Helper()
	tab, shut := open(t, s)
	t.Cleanup(func() {
		tab.end()
		shut()
	})
	return tab
}

func open(t testing.TB, s *Site) (tab *Tab, shut func()) {
	t.Helper()
	w := &watch{origin: s.URL}
	ctx, cancel := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(w.event))
	tab = &Tab{t: t, ctx: ctx, site: s, watched: w, media: map[string]string{}}
	tab.do(chromedp.Steps()) // the tab itself; a deadline here would end the browser
	call(tab, network.Enable, network.EnableParams{})
	call(tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	tab.Size(Desktop)
	tab.Scheme("light")
	return tab, cancel
}

// end tells the test what the tab has recorded.
func (tab *Tab) end() {
	if tab.t.Failed() {
		tab.keep()
	}
	tab.watched.report(tab.t)
}

// pool lends tabs to many tests, one after another: a new one costs as much as a page. Only for
// tests that change nothing but size, media, cookies and language.
type pool struct {
	mu   sync.Mutex
	free []*Tab
	all  []func()
}

// open is Site.Open with a tab of the pool.
func (p *pool) open(t testing.TB, s *Site) *Tab {
	t.Helper()
	p.mu.Lock()
	var tab *Tab
	if n := len(p.free); n > 0 {
		tab, p.free = p.free[n-1], p.free[:n-1]
	}
	p.mu.Unlock()
	if tab == nil {
		var shut func()
		tab, shut = open(t, s)
		p.mu.Lock()
		p.all = append(p.all, shut)
		p.mu.Unlock()
	} else {
		tab.reuse(t, s)
	}
	t.Cleanup(func() {
		tab.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, tab)
	})
	return tab
}

// shut closes the pool's tabs.
func (p *pool) shut() {
	for _, f := range p.all {
		f()
	}
}

// reuse makes the tab a new one.
func (tab *Tab) reuse(t testing.TB, s *Site) {
	t.Helper()
	tab.t, tab.media = t, map[string]string{}
	tab.do(chromedp.Navigate("about:blank"))
	tab.site = s
	tab.watched.reset(s.URL)
	call(tab, network.ClearBrowserCookies, cdp.Empty{})
	tab.Language("en-GB,en")
	tab.Size(Desktop)
	tab.Scheme("light")
}

// call sends one command of the protocol.
func call[P, R any](tab *Tab, command cdp.Command[P, R], params P) R {
	tab.t.Helper()
	r, err := chromedp.Call(tab.ctx, command, params)
	if err != nil {
		tab.t.Fatalf("%s: %v", command.Method, err)
	}
	return r
}

func (tab *Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	if err := chromedp.Do(tab.ctx, steps...); err != nil {
		tab.t.Fatalf("browser: %v", err)
	}
}

// try evaluates an expression in the page.
func try[T any](tab *Tab, script string) (T, error) {
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Eval evaluates an expression in the page; a promise is waited for.
func Eval[T any](tab *Tab, script string) T {
	tab.t.Helper()
	v, err := try[T](tab, script)
	if err != nil {
		tab.t.Fatalf("%s: %v\n%s", script, err, tab.where())
	}
	return v
}

// quote writes a string as a literal of the page's language.
func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always can be
	}
	return string(raw)
}

// Wait waits until the condition, an expression of the page, holds.
func (tab *Tab) Wait(what, condition string) {
	tab.t.Helper()
	tab.until(what, func() (bool, error) { return try[bool](tab, "!!("+condition+")") })
}

// until polls. An error is a page that is just being replaced, unless it stays.
func (tab *Tab) until(what string, holds func() (bool, error)) {
	tab.t.Helper()
	deadline := time.Now().Add(patience) //nolint:forbidigo // bounds a failing test
	var last error
	for time.Now().Before(deadline) {
		ok, err := holds()
		if ok {
			return
		}
		last = err
		time.Sleep(15 * time.Millisecond)
	}
	tab.t.Fatalf("waited in vain: %s (%v)\n%s", what, last, tab.where())
}

// where describes the page for a failure.
func (tab *Tab) where() string {
	text, err := try[string](tab, `location.href + "\n" + document.title + "\n" + (document.querySelector("main") || document.body).innerText.slice(0, 1500)`)
	if err != nil {
		return "the page cannot be read: " + err.Error()
	}
	return "on " + text
}

// keep leaves a picture of the page at which a test failed, where artefacts are wanted.
func (tab *Tab) keep() {
	dir := os.Getenv("IRONHOLD_TEST_PICTURES")
	if dir == "" {
		return
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(tab.t.Name()) + ".png"
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if raw, err := chromedp.Run(ctx, chromedp.FullScreenshot(100)); err == nil {
		_ = os.WriteFile(filepath.Join(dir, name), raw, 0o644) // only a help
	}
}
