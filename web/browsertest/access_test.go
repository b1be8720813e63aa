package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"ironhold/views/i18n"
)

// From the sign-in to the confirmation with the keyboard alone, the focus always to be seen.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	v := begin(t, "", Options{})
	v.Go("/")
	v.TabTo("email")
	v.Key(customer)
	v.TabTo("password")
	v.Key(password)
	v.Follow(func() { v.Key(kb.Enter) })
	enter := func(what string) {
		t.Helper()
		v.TabTo(what)
		v.Follow(func() { v.Key(kb.Enter) })
	}
	enter("Order by needs")
	v.TabTo("min_ram_gb")
	v.Key("128")
	enter("Review the order")
	enter("Hold a server for 15 minutes")
	v.WantOutcome("held")
	enter("Rent it for")
	enter("Rent it for")
	v.WantOutcome("service")
}

// The first stop of the keyboard skips to the content.
func TestSkipLink(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/offers")
	v.Key(kb.Tab)
	if got := Eval[string](v.Tab, `document.activeElement.getAttribute("href")`); got != "#main" {
		t.Fatalf("the first stop is %q", got)
	}
	v.FocusSeen()
	v.Key(kb.Enter)
	v.Wait("the focus on the content", `document.activeElement.id === "main"`)
	v.Key(kb.Tab)
	if !Eval[bool](v.Tab, `document.querySelector("main").contains(document.activeElement)`) {
		t.Error("the next stop is outside the content")
	}
}

// Every stop of the keyboard can be seen, on the pages with the most controls, and none is a trap.
func TestEveryFocusIsSeen(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	for _, page := range []string{"/offers?min_ram_gb=64", "/order", path("/holds/", v.own("GOT-1"))} {
		for _, size := range []Size{Desktop, Narrow} {
			v.Size(size)
			v.Go(page)
			seen := 0
			for range 150 {
				v.Key(kb.Tab)
				if Eval[bool](v.Tab, `document.activeElement === document.body || document.activeElement === document.documentElement`) {
					break
				}
				seen++
				v.FocusSeen()
			}
			if seen < 10 || seen == 150 {
				t.Errorf("%s: %d stops of the keyboard", page, seen)
			}
		}
	}
}

// A form with errors: the summary is focused and leads to the fields, whose words are the same; what
// was entered is kept.
func TestErrorsOfAForm(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/order")
	v.Fill("min_ram_gb", "lots")
	v.Fill("min_cores", "16")
	v.Follow(func() { v.Press("Review the order") })
	facts := Eval[map[string]string](v.Tab, `({
		title: document.title.slice(0, 6), focus: document.activeElement.className,
		invalid: document.getElementById("min_ram_gb").getAttribute("aria-invalid"),
		same: String(document.querySelector(".error-summary").innerText.includes(document.getElementById("min_ram_gb-error").innerText.trim())),
		described: String(document.getElementById("min_ram_gb").getAttribute("aria-describedby").split(" ").every(id => document.getElementById(id))),
	})`)
	for name, want := range map[string]string{"title": "Error:", "focus": "error-summary", "invalid": "true", "same": "true", "described": "true"} {
		if facts[name] != want {
			t.Errorf("%s: %q, want %q", name, facts[name], want)
		}
	}
	for field, want := range map[string]string{"min_ram_gb": "lots", "min_cores": "16"} {
		if got := v.Value(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	v.Click(".error-summary a")
	v.Wait("the focus on the field", `document.activeElement.id === "min_ram_gb"`)
}

// Sign-in: the mistake is told, the address kept, the password not; then the page that was asked for.
func TestSignIn(t *testing.T) {
	t.Parallel()
	v := begin(t, "", Options{})
	v.Go("/holds?state=held")
	v.Fill("email", customer)
	v.Fill("password", "wrong password")
	v.Follow(func() { v.Click(`form[action="/sign-in"] button`) })
	v.Says("not right")
	if v.Value("email") != customer || v.Value("password") != "" {
		t.Errorf("after a mistake: %q, %q", v.Value("email"), v.Value("password"))
	}
	v.Fill("password", password)
	v.Follow(func() { v.Click(`form[action="/sign-in"] button`) })
	if got := v.Path(); got != "/holds?state=held" {
		t.Errorf("the sign-in led to %s", got)
	}
	// Signed out, nothing of the person comes back.
	v.Go("/account")
	v.Says("Ada Lindqvist")
	v.Follow(func() { v.Click(`form[action="/sign-out"] button`) })
	v.Back()
	if text := v.Text(); strings.Contains(text, "Ada Lindqvist") {
		t.Errorf("after the sign-out, back shows:\n%s", text)
	}
}

// Language and colours: by preference, then by the browser, kept, without scripts, and one stays
// where one was.
func TestPreferences(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.WithoutScripts()
	v.Language("de-DE,de")
	v.Go("/offers?min_ram_gb=128")
	lang := func() string { return Eval[string](v.Tab, `document.documentElement.lang`) }
	if lang() != "de" {
		t.Errorf("a German browser gets %q", lang())
	}
	v.Follow(func() { v.Press("English") })
	if lang() != "en" || !strings.HasPrefix(v.Path(), "/offers?min_ram_gb=128") {
		t.Errorf("after choosing English: %q on %s", lang(), v.Path())
	}
	ground := func() string { return Eval[string](v.Tab, `getComputedStyle(document.body).backgroundColor`) }
	light := ground()
	v.Follow(func() { v.Press("Dark") })
	dark := ground()
	if light == dark {
		t.Errorf("dark is as light: %s", dark)
	}
	v.Go("/holds")
	if ground() != dark || lang() != "en" {
		t.Error("the preferences are not kept")
	}
	v.Scheme("dark")
	v.Follow(func() { v.Press("Light") })
	if ground() != light {
		t.Error("light is not kept against a dark system")
	}
}

// With reduced motion nothing moves.
func TestReducedMotion(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Media("prefers-reduced-motion", "reduce")
	v.Go("/offers")
	moving := Eval[[]string](v.Tab, `[...document.querySelectorAll("*")].filter(e => { const s = getComputedStyle(e);
		return parseFloat(s.transitionDuration) > 0 || (s.animationName !== "none" && parseFloat(s.animationDuration) > 0) }).map(e => e.tagName + "." + e.className)`)
	if len(moving) > 0 {
		t.Errorf("moving: %v", moving)
	}
}

// The sort links say their state, and the address can be shared.
func TestSortIsInTheAddress(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/offers?min_ram_gb=64")
	for range 2 { // up, then down
		v.Follow(func() { v.Click(`th a.sort[href*="price"]`) })
	}
	if got := v.Path(); !strings.Contains(got, "sort=-price") || !strings.Contains(got, "min_ram_gb=64") {
		t.Errorf("the address is %s", got)
	}
	if got := Eval[string](v.Tab, `document.querySelector('th[aria-sort="descending"]').innerText.trim()`); got != "Price" {
		t.Errorf("sorted by %q", got)
	}
	first := Eval[string](v.Tab, `document.querySelector("tbody tr").innerText`)
	if !strings.Contains(first, "€249.00") {
		t.Errorf("the dearest is not first: %s", first)
	}
}

// Texts that are a third longer, with letters that need room, break no layout.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Cookie("language", i18n.Pseudo)
	look := func(page string, show func()) {
		t.Helper()
		show()
		for _, size := range []Size{Desktop, Narrow} {
			v.Size(size)
			v.fits()
		}
		if lang := Eval[string](v.Tab, `document.documentElement.lang`); lang == "en" || lang == "de" {
			t.Errorf("%s is in %q", page, lang)
		}
	}
	for _, page := range []string{"/", "/offers", "/offers?min_ram_gb=1024", "/order", "/order?step=match&min_ram_gb=64", "/help", "/holds", "/account"} {
		look(page, func() { v.Go(page) })
	}
	look("the hold", func() { v.order("min_ram_gb", "64") })
	look("the confirmation", func() { v.Follow(func() { v.Click(`a[href$="/confirm"]`) }) })
	look("the service", func() { v.Follow(func() { v.Click(`form[action$="/confirm"] button`) }) })
	look("none left", func() { v.order("min_ram_gb", "256", "max_price", "200") })
}

// On a phone the number of matches stays in sight while the form is filled in, with scripts and without,
// and what has the focus is never under it.
func TestMatchesInSight(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Size(Phone)
	v.Go("/order")
	inSight := `(r => r.height > 0 && r.top >= 0 && r.bottom <= innerHeight + 1)(document.querySelector("[data-match-bar]").getBoundingClientRect())`
	v.Wait("the number of matches", `/\d/.test(document.querySelector("[data-match-count]").textContent) && `+inSight)
	before := Eval[string](v.Tab, `document.querySelector("[data-match-count]").textContent.trim()`)
	v.Fill("min_ram_gb", "256")
	v.Wait("another number", `document.querySelector("[data-match-count]").textContent.trim() !== `+quote(before)+` && `+inSight)
	v.WithoutScripts()
	v.Go("/order?step=match&min_ram_gb=256")
	if !Eval[bool](v.Tab, inSight) {
		t.Error("without scripts the number is out of sight")
	}
	v.Size(Desktop)
	if Eval[bool](v.Tab, `document.querySelector("[data-match-bar]").checkVisibility()`) {
		t.Error("at the desk the number is there twice")
	}
}
