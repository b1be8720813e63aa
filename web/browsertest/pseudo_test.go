package browsertest

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"ironhold/static"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/views/sample"
)

// pseudoSite shows every sample page, in a made-up language whose words are two fifths longer and
// full of accents.
func pseudoSite(t *testing.T, pages []sample.Page) *Site {
	t.Helper()
	zone, err := time.LoadLocation("America/Argentina/ComodRivadavia")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if static.Handler(w, r) {
			return
		}
		i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || i < 0 || i >= len(pages) {
			http.NotFound(w, r)
			return
		}
		ctx := i18n.With(r.Context(), i18n.Locale{Lang: i18n.Pseudo, Zone: zone})
		ctx = views.WithShell(ctx, views.Shell{
			Path: r.URL.Path, RequestID: "abcdefghjkmnpqrs", Notice: i18n.T(ctx, "rollout.saved"), Now: sample.Now(),
			Person: &views.Person{
				Name: "Wilhelmina Featherstonehaugh-Cholmondeley", Email: "wilhelmina@example.com", Role: "org-admin", Org: "Rechtsschutzversicherungsgesellschaft",
				Can: views.Can{Order: true, Desk: true, Fleet: true, OrgRollout: true, Launch: true, Org: true, History: true},
			},
		})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = pages[i].Page.Render(ctx, w)
	}))
	t.Cleanup(s.Close)
	return &Site{URL: s.URL, t: t}
}

// TestPseudoLocale: no page in any state has to be scrolled sideways, however long the words of a
// language are and from whichever side it is read.
func TestPseudoLocale(t *testing.T) {
	t.Parallel()
	pages := sample.Pages()
	site := pseudoSite(t, pages)
	tab := site.Open(t)
	tab.WithoutScripts() // they would ask the server about holds that do not exist
	for i, p := range pages {
		tab.Go("/" + strconv.Itoa(i))
		look := func(size Size, direction string) {
			tab.Size(size)
			r := &recorder{T: t}
			tab.t = r
			tab.fits()
			tab.t = t
			for _, f := range r.faults {
				t.Errorf("%s, %s, %s: %s", p.Name, size.Name, direction, f)
			}
		}
		look(Narrow, "ltr")
		look(Phone, "ltr")
		Eval[bool](tab, `(document.documentElement.dir = "rtl", true)`)
		look(Narrow, "rtl")
		look(Phone, "rtl")
	}
}
