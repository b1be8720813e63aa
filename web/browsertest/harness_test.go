package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is a site of one page.
func fake(t *testing.T, policy, html string) *Site {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Fake</title></head><body>%s</body></html>`, html)
	}))
	t.Cleanup(s.Close)
	return &Site{URL: s.URL, t: t}
}

// caught waits until the tab has recorded a fault that contains the text.
func caught(tab *Tab, part string) {
	tab.t.Helper()
	var all []string
	tab.until("the fault "+part, func() (bool, error) {
		all = append(all, tab.watched.forget()...)
		return slices.ContainsFunc(all, func(f string) bool { return strings.Contains(f, part) }), nil
	})
}

// What a person would not see must not slip through.
func TestTheTabRecordsFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ policy, html, fault string }{
		"console":   {"", `<main><script>console.error("broken", 1)</script></main>`, "broken 1"},
		"exception": {"", `<main><script>nothing.there()</script></main>`, "nothing is not defined"},
		"policy":    {"default-src 'none'", `<main style="color: red">x</main>`, "Content Security Policy"},
		"missing":   {"", `<main><img alt="" src="http://127.0.0.1:1/x.png"></main>`, "elsewhere: http://127.0.0.1:1/x.png"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := fake(t, c.policy, c.html).Open(t)
			tab.Go("/")
			caught(tab, c.fault)
			tab.watched.forget()
		})
	}
}

// recorder takes what a check reports instead of failing.
type recorder struct {
	*testing.T
	faults []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func TestAxeFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	site := fake(t, "default-src 'none'; style-src 'unsafe-inline'", `<main><h1>Fake</h1><p style="color: #999">pale</p><input></main>`)
	tab := site.Open(t)
	tab.Go("/")
	r := &recorder{T: t}
	tab.t = r
	tab.Axe("planted")
	tab.t = t
	all := strings.Join(r.faults, "\n")
	for _, rule := range []string{"color-contrast", "label"} {
		if !strings.Contains(all, rule) {
			t.Errorf("axe did not report %s:\n%s", rule, all)
		}
	}
}

func TestFocusSeen(t *testing.T) {
	t.Parallel()
	tab := fake(t, "", `<main><a href="#a">seen</a> <a href="#b" style="outline: none">unseen</a></main>`).Open(t)
	tab.Go("/")
	tab.TabTo("seen")
	r := &recorder{T: t}
	tab.t = r
	tab.TabTo("unseen")
	tab.t = t
	if len(r.faults) != 1 {
		t.Errorf("a focus without outline was not reported: %q", r.faults)
	}
}

func TestEmulation(t *testing.T) {
	t.Parallel()
	tab := fake(t, "", `<main><noscript>no scripts</noscript><a href="/next">on</a></main>`).Open(t)
	tab.ClockOff(10 * time.Minute)
	tab.TimeZone("Asia/Tokyo")
	tab.Language("de")
	tab.Scheme("dark")
	tab.Size(Narrow)
	tab.Go("/")
	if off := Eval[float64](tab, "Date.now()") - float64(time.Now().UnixMilli()); off < 590_000 || off > 610_000 {
		t.Errorf("the clock is off by %v ms", off)
	}
	for script, want := range map[string]string{
		`String(new Date() - Date.now() < 1000)`:                     "true",
		`Intl.DateTimeFormat().resolvedOptions().timeZone`:           "Asia/Tokyo",
		`navigator.language`:                                         "de",
		`String(matchMedia("(prefers-color-scheme: dark)").matches)`: "true",
		`String(innerWidth)`:                                         "320",
	} {
		if got := Eval[string](tab, script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	tab.WithoutScripts()
	tab.Follow(func() { tab.Press("on") })
	tab.Says("no scripts")
}
