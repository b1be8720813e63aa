package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
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

// Go opens an address of the site and waits until it has loaded.
func (tab *Tab) Go(path string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(tab.site.URL+path)); err != nil {
		tab.t.Fatalf("open %s: %v", path, err)
	}
}

// Follow waits until what f does has brought another page.
func (tab *Tab) Follow(f func()) {
	tab.t.Helper()
	arrived := tab.leaving()
	f()
	tab.Wait("another page", arrived)
}

// leaving marks the page and returns the condition that another has come. A page that the history
// brings back bears an older mark.
func (tab *Tab) leaving() (arrived string) {
	tab.t.Helper()
	tab.pages++
	mark := strconv.Itoa(tab.pages)
	Eval[int](tab, `document.querySelector("main").left = `+mark)
	return `document.readyState === "complete" && document.querySelector("main") && document.querySelector("main").left !== ` + mark
}

// Reload asks for the page again as F5 does; a POST is sent again.
func (tab *Tab) Reload() {
	tab.t.Helper()
	tab.Follow(func() { call(tab, page.Reload, page.ReloadParams{}) })
}

// Back goes back in the history.
func (tab *Tab) Back() {
	tab.t.Helper()
	tab.Follow(func() {
		h := call(tab, page.GetNavigationHistory, cdp.Empty{})
		if h.CurrentIndex == 0 {
			tab.t.Fatal("there is no page to go back to")
		}
		call(tab, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex-1].ID})
	})
}

// element is an expression for the first visible match of a selector; with a text, the one that
// contains it.
func element(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.checkVisibility({visibilityProperty: true}) && e.innerText.includes(%s))`,
		quote(selector), quote(text))
}

// field is an expression for the input with this name or id.
func field(name string) string {
	return fmt.Sprintf(`(document.getElementById(%[1]s) || document.getElementsByName(%[1]s)[0])`, quote(name))
}

// point waits for an element and returns its middle, scrolled into view.
func (tab *Tab) point(what, expression string) (x, y float64) {
	tab.t.Helper()
	tab.Wait(what, expression)
	at := Eval[[]float64](tab, `(e => { e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2] })(`+expression+`)`)
	return at[0], at[1]
}

// Press clicks a button or a link that bears the text, and stays.
func (tab *Tab) Press(text string) {
	tab.t.Helper()
	tab.press("something to click: "+text, element("button, a, summary", text), 1)
}

// Click clicks the first visible match of the selector, and stays.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.press("something to click: "+selector, element(selector, ""), 1)
}

// Clicks clicks several times as fast as the browser takes it.
func (tab *Tab) Clicks(selector string, times int) {
	tab.t.Helper()
	tab.press("something to click: "+selector, element(selector, ""), times)
}

func (tab *Tab) press(what, expression string, times int) {
	tab.t.Helper()
	x, y := tab.point(what, expression)
	for n := 1; n <= times; n++ {
		for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
			call(tab, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: int64(n),
			})
		}
	}
}

// Fill replaces what an input contains, by typing.
func (tab *Tab) Fill(name, value string) {
	tab.t.Helper()
	tab.Wait("the input "+name, field(name))
	Eval[bool](tab, `(e => { e.focus(); e.select(); return true })(`+field(name)+`)`)
	call(tab, input.InsertText, input.InsertTextParams{Text: value})
}

// Key presses keys, one after another: characters or those of package kb.
func (tab *Tab) Key(keys string) {
	tab.t.Helper()
	tab.do(chromedp.KeyEvent(keys))
}

// TabTo presses the tabulator until the focus is on the element with this text or name, at most
// 100 times, and fails if the focus cannot be seen there.
func (tab *Tab) TabTo(what string) {
	tab.t.Helper()
	is := fmt.Sprintf(`(e => e && e !== document.body && (e.name === %[1]s || e.id === %[1]s || (e.innerText || "").includes(%[1]s)))(document.activeElement)`, quote(what))
	for range 100 {
		tab.Key(kb.Tab)
		if Eval[bool](tab, is) {
			tab.FocusSeen()
			return
		}
	}
	tab.t.Fatalf("the keyboard does not reach %q\n%s", what, tab.where())
}

// FocusSeen fails unless the element that has the focus looks focused and is not covered.
func (tab *Tab) FocusSeen() {
	tab.t.Helper()
	got := Eval[string](tab, `(e => {
		const all = [e, ...(e.labels || [])];
		const seen = all.some(x => { const s = getComputedStyle(x); return s.outlineStyle === "auto" || (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2) || s.boxShadow !== "none" });
		if (!seen) return "no outline";
		const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
		if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return "outside the window";
		const top = document.elementFromPoint(x, y);
		if (top && !e.contains(top) && !top.contains(e) && ![...(e.labels || [])].some(l => l.contains(top))) return "covered by " + top.outerHTML.slice(0, 80);
		return "" })(document.activeElement)`)
	if got != "" {
		tab.t.Errorf("the focus on %s cannot be seen: %s", Eval[string](tab, `document.activeElement.outerHTML.slice(0, 120)`), got)
	}
}

// Post sends a form made on the spot, as a page of the site would. Fields come in pairs.
func (tab *Tab) Post(path string, fields ...string) {
	tab.t.Helper()
	if Eval[string](tab, "location.href") == "about:blank" {
		tab.Go("/")
	}
	tab.Follow(func() {
		Eval[bool](tab, fmt.Sprintf(`(() => { const f = document.createElement("form"); f.method = "post"; f.action = %s; const v = %s;
			for (let i = 0; i < v.length; i += 2) { const e = document.createElement("input"); e.type = "hidden"; e.name = v[i]; e.value = v[i+1]; f.append(e) }
			document.body.append(f); f.submit(); return true })()`, quote(path), must(json.Marshal(fields))))
	})
}

func must(raw []byte, err error) string {
	if err != nil {
		panic(err) // of strings
	}
	if string(raw) == "null" {
		return "[]"
	}
	return string(raw)
}

// Text is what the page's main part says, as it is seen.
func (tab *Tab) Text() string {
	tab.t.Helper()
	return Eval[string](tab, `document.querySelector("main").innerText`)
}

// Says fails unless the main part says all of this.
func (tab *Tab) Says(parts ...string) {
	tab.t.Helper()
	text := tab.Text()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			tab.t.Errorf("the page does not say %q:\n%s", p, text)
		}
	}
}

// Outcome is the main part's data-outcome.
func (tab *Tab) Outcome() string {
	tab.t.Helper()
	return Eval[string](tab, `document.querySelector("main").dataset.outcome || ""`)
}

// WantOutcome fails unless the page is that of the outcome.
func (tab *Tab) WantOutcome(name string) {
	tab.t.Helper()
	if got := tab.Outcome(); got != name {
		tab.t.Fatalf("outcome %q, want %q\n%s", got, name, tab.where())
	}
}

// Path is the address without the site.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return Eval[string](tab, `location.pathname + location.search`)
}

// Value is what an input contains.
func (tab *Tab) Value(name string) string {
	tab.t.Helper()
	return Eval[string](tab, field(name)+`.value`)
}
