package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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
