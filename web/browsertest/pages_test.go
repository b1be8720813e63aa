package browsertest

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"

	"ironhold/fleet"
)

var screenshots = flag.String("screenshots", "", "folder to draw every page and state into")

// large is the site with the sample fleet, made once for all states that only look at it.
type large struct {
	sync.Once
	site *Site
}

func (l *large) get(t *testing.T) *Site {
	t.Helper()
	l.Do(func() {
		l.site = New(t, Options{})
		l.site.people(t)
		if err := fleet.New(l.site.App).Sample(t.Context(), by); err != nil {
			t.Fatal(err)
		}
	})
	if l.site == nil {
		t.Fatal("the sample fleet could not be loaded")
	}
	return l.site
}

// enter shows a state.
func (s state) enter(t *testing.T, tabs *pool, l *large) *visit {
	t.Helper()
	var site *Site
	if s.sample {
		site = l.get(t)
	} else {
		site = ordinary(t, s.options)
	}
	v := site.visit(t, tabs.open(t, site), s.who)
	s.show(v)
	return v
}

// TestPages looks at every page in every state: it is what it should be, axe finds nothing at the
// desk and on the phone, in light and dark, and nothing has to be scrolled sideways at 320 pixels.
func TestPages(t *testing.T) {
	t.Parallel()
	l, tabs := &large{}, &pool{}
	l.get(t) // its end is that of this test
	t.Cleanup(tabs.shut)
	t.Run("states", func(t *testing.T) {
		for _, s := range states {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				v := s.enter(t, tabs, l)
				s.check(v)
				v.Media("prefers-reduced-motion", "reduce") // colours change at once
				v.Axe("desk, light")
				v.fits()
				// What the colours and the width can change.
				v.Scheme("dark")
				v.Size(Phone)
				v.targets()
				v.Axe("phone, dark", "color-contrast", "target-size", "scrollable-region-focusable", "link-in-text-block")
				v.fits()
				v.Size(Narrow)
				v.fits()
			})
		}
	})
	if f := flag.Lookup("test.run"); f == nil || !strings.Contains(f.Value.String(), "/") {
		forgotten(t, l.get(t))
	}
}

// noPages are the GET routes that show no page of their own: for programs and scripts, downloads,
// and addresses of forms, which lead whoever reloads them back to the page.
var noPages = []string{
	"/api/", "/healthz", "/readyz", "/static/", "/events", "/clock", ".csv", "/sign-in", "/order/result", "/dev/",
	"/holds/{id}/extend", "/holds/{id}/cancel", "/holds/{id}/substitute", "/account/preferences", "/account/email/stop", "/account/factors/company", "/waiting/{id}/stop",
	"/org/members/{id}/role", "/org/members/{id}/reset", "/org/members/{id}/disable", "/org/members/{id}/enable",
	"/org/webhooks/{id}/rotate", "/org/webhooks/{id}/test", "/org/webhooks/{id}/disable", "/org/webhooks/{id}/enable", "/org/webhooks/{id}/remove",
	"/org/webhooks/{id}/deliveries/{delivery}/retry",
	"/admin/people/{id}/role", "/admin/people/{id}/reset", "/admin/people/{id}/disable", "/admin/people/{id}/enable",
	"/account/confirm", // who has just signed in is not asked again; the state of a wrong answer shows it
	"/admin/jobs",      // River's own pages
}

// forgotten fails for every page that no state shows.
func forgotten(t *testing.T, s *Site) {
	t.Helper()
	err := chi.Walk(s.routes, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		is := func(part string) bool { return strings.HasPrefix(pattern, part) || strings.HasSuffix(pattern, part) }
		if method == http.MethodGet && pattern != "/org/tokens" && !slices.ContainsFunc(noPages, is) && !shown.has(pattern) {
			t.Errorf("no state shows the page %s", pattern)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// check is what every page owes, whatever it shows.
func (s state) check(v *visit) {
	v.t.Helper()
	if got := v.Outcome(); got != s.outcome && s.outcome != "" {
		v.t.Errorf("outcome %q, want %q\n%s", got, s.outcome, v.where())
	}
	facts := Eval[map[string]string](v.Tab, `({
		title: document.title, h1: String(document.querySelectorAll("h1").length), lang: document.documentElement.lang,
		twice: [...document.querySelectorAll("[id]")].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i).join(" "),
		help: String(!!document.querySelector('footer a[href="/help"]')), skip: document.querySelector("body > a")?.getAttribute("href") ?? "",
		primary: String([...document.querySelectorAll("main .button-primary")].filter(e => e.checkVisibility()).length),
		untold: ([...document.querySelectorAll("code")].map(e => e.innerText).sort((a, b) => b.length - a.length).reduce((text, code) => text.replaceAll(code, ""), document.body.innerText).match(/\b[a-z_]+\.[a-z_]+\.[a-z_.]+\b|\{[a-z]+\}|%!|<nil>|undefined|NaN/) || [""])[0],
		empty: [...document.querySelectorAll("main a, main button, main h1, main h2, main h3, main dt, main dd, main td")]
			.filter(e => e.checkVisibility() && !e.classList.contains("cell-action") && !e.textContent.trim()).map(e => e.outerHTML.slice(0, 80)).join(" "),
	})`)
	if !strings.Contains(facts["title"], s.title) {
		v.t.Errorf("title %q, want %q in it", facts["title"], s.title)
	}
	for name, want := range map[string]string{"h1": "1", "twice": "", "help": "true", "skip": "#main", "untold": "", "empty": ""} {
		if facts[name] != want {
			v.t.Errorf("%s: %q, want %q", name, facts[name], want)
		}
	}
	if n := facts["primary"]; n != "0" && n != "1" {
		v.t.Errorf("%s primary actions on one page", n)
	}
	lang := "en"
	if strings.HasPrefix(s.name, "german-") {
		lang = "de"
	}
	if facts["lang"] != lang {
		v.t.Errorf("language %q, want %q", facts["lang"], lang)
	}
}

// targets fails for controls that are hard to hit: 24 pixels at least, the primary one 44. A link in
// a line of text is as high as the line, and a box counts with its label.
func (tab *Tab) targets() {
	tab.t.Helper()
	small := Eval[[]string](tab, `[...document.querySelectorAll("button, .button, summary, input, select, textarea, header a, nav a, footer a")]
		.filter(e => e.checkVisibility({visibilityProperty: true}) && e.type !== "hidden" && !e.closest(".visually-hidden"))
		.map(e => [e, ...(e.type === "radio" || e.type === "checkbox" ? e.labels : [])].reduce((most, x) => {
			const r = x.getBoundingClientRect();
			return {e, w: Math.max(most.w, r.width), h: Math.max(most.h, r.height)} }, {w: 0, h: 0}))
		.filter(({e, w, h}) => { const least = e.classList.contains("button-primary") ? 44 : 24; return w > 1 && (w < least - .5 || h < least - .5) })
		.slice(0, 5).map(({e, w, h}) => w.toFixed() + " x " + h.toFixed() + ": " + e.outerHTML.slice(0, 120))`)
	if len(small) > 0 {
		tab.t.Errorf("hard to hit:\n%s", strings.Join(small, "\n"))
	}
}

// fits fails if the page must be scrolled sideways.
func (tab *Tab) fits() {
	tab.t.Helper()
	wide := Eval[[]string](tab, `document.scrollingElement.scrollWidth <= innerWidth ? [] :
		[document.scrollingElement.scrollWidth + " px"].concat([...document.querySelectorAll("body *")]
			.filter(e => (r => r.right > innerWidth + 1 || r.left < -1)(e.getBoundingClientRect()) && e.checkVisibility())
			.slice(0, 4).map(e => e.outerHTML.slice(0, 120)))`)
	if len(wide) > 0 {
		tab.t.Errorf("wider than the window:\n%s", strings.Join(wide, "\n"))
	}
}

// TestScreenshots draws every page and state: make screenshots.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("draws only when -screenshots names a folder")
	}
	dir, err := filepath.Abs(*screenshots)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, tabs := &large{}, &pool{}
	l.get(t)
	t.Cleanup(tabs.shut)
	t.Run("states", func(t *testing.T) {
		for _, s := range states {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				v := s.enter(t, tabs, l)
				v.Media("prefers-reduced-motion", "reduce") // colours change at once
				for _, size := range []Size{Desktop, Phone} {
					v.Size(size)
					for _, scheme := range []string{"light", "dark"} {
						v.Scheme(scheme)
						name := strings.Join([]string{s.name, size.Name, scheme}, "-") + ".png"
						if err := os.WriteFile(filepath.Join(dir, name), v.Picture(), 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			})
		}
	})
}
