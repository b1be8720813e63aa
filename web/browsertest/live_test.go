package browsertest

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"ironhold/holds"
	"ironhold/migrations/pgtest/fixture"
)

// seen is true when this part of the bar of updates is on screen.
func seen(part string) string {
	return fmt.Sprintf(`(e => e && e.checkVisibility())(document.querySelector("[data-live-%s]"))`, part)
}

// listening waits until the page's stream is open.
func (v *visit) listening() {
	v.t.Helper()
	v.until("the page to listen", func() (bool, error) { return v.Live.Live() && v.Live.Subscribers() > 0, nil })
}

// Somebody else's order shows as a button: nothing on the page moves, nothing takes the focus, and
// the button brings the same page with what is true now.
func TestStockChangesCalmly(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/offers?min_ram_gb=64&sort=-price")
	v.listening()
	v.TabTo("Choose")
	Eval[bool](v.Tab, `(scrollTo(0, 120), window.focused = document.activeElement, window.place = [scrollY, focused.getBoundingClientRect().top, document.querySelector("main").innerHTML.length].join(), true)`)
	v.holdTag(v.rival, "GOT-1")
	v.Wait("the button", seen("changed"))
	if !Eval[bool](v.Tab, `document.activeElement === focused && [scrollY, focused.getBoundingClientRect().top, document.querySelector("main").innerHTML.length].join() === place`) {
		t.Error("the news moved the page or the focus")
	}
	if got := Eval[string](v.Tab, `document.querySelector("[data-live-said]").textContent`); got != "Stock has changed." {
		t.Errorf("spoken: %q", got)
	}
	v.Axe("with the news")
	v.Size(Narrow)
	v.fits()
	v.TabTo("Help and contact") // at the end, and not under the bar
	v.Size(Desktop)
	v.Follow(func() { v.Click("[data-live-changed] button") })
	if got := v.Path(); got != "/offers?min_ram_gb=64&sort=-price" {
		t.Errorf("refreshed: %s", got)
	}
	v.Says("3 free now")
	// What does not show here is no news: the bar stays away.
	v.listening()
	v.holdTag(v.rival, "OPO-2")
	v.Go("/offers?site=GOT1")
	v.listening()
	before := Eval[int](v.Tab, `performance.getEntriesByType("resource").length`)
	v.holdTag(v.rival, "LEJ-1")
	v.Wait("the page to have asked", fmt.Sprintf(`performance.getEntriesByType("resource").length > %d`, before))
	if Eval[bool](v.Tab, seen("changed")) {
		t.Error("a change elsewhere is told as one of what is shown")
	}
}

// What happens to the hold elsewhere, in another tab or by a colleague, shows without a reload.
func TestTheHoldChangesElsewhere(t *testing.T) {
	t.Parallel()
	scope := func(v *visit) holds.Scope { return holds.Scope{OrgID: v.acme} }
	for _, c := range []struct {
		name, page, outcome, says string
		happens                   func(v *visit, id uuid.UUID) error
	}{
		{"extended", "", "held", "has been extended", func(v *visit, id uuid.UUID) error {
			_, err := v.Holds.Extend(v.t.Context(), by, scope(v), id, "")
			return err
		}},
		{"given back", "", "hold-cancelled", "Hold the same server again", func(v *visit, id uuid.UUID) error {
			_, err := v.Holds.Cancel(v.t.Context(), by, scope(v), id, "")
			return err
		}},
		{"converted", "", "hold-converted", "Open", func(v *visit, id uuid.UUID) error {
			_, _, err := v.Holds.Convert(v.t.Context(), by, scope(v), id)
			return err
		}},
		{"withdrawn", "", "machine-withdrawn", "equal", func(v *visit, _ uuid.UUID) error {
			_, err := v.Fleet.SetStatus(v.t.Context(), by, "GOT-1", "maintenance", "Fan 3 has failed")
			return err
		}},
		{"given back while confirming", "/confirm", "hold-cancelled", "Hold the same server again", func(v *visit, id uuid.UUID) error {
			_, err := v.Holds.Cancel(v.t.Context(), by, scope(v), id, "")
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{})
			id := v.own("GOT-1")
			v.Go(path("/holds/", id, c.page))
			v.listening()
			Eval[bool](v.Tab, `window.sameDocument = true`)
			if err := c.happens(v, id); err != nil {
				t.Fatal(err)
			}
			v.Wait("the news", seen("note"))
			if !Eval[bool](v.Tab, `window.sameDocument === true`) {
				t.Error("the page was loaded again")
			}
			v.WantOutcome(c.outcome)
			v.Says(c.says)
			if said := Eval[string](v.Tab, `document.querySelector("[data-live-said]").textContent`); len(said) < 20 {
				t.Errorf("spoken: %q", said)
			}
			if c.outcome == "held" {
				v.right(id)
				if Eval[bool](v.Tab, `!!document.querySelector('form[action$="/extend"]')`) {
					t.Error("the extension is offered again")
				}
			}
			v.Axe("after the news")
			v.Size(Narrow)
			v.fits()
			if title := Eval[string](v.Tab, `document.title`); title == "" {
				t.Error("no title")
			}
		})
	}
}

// Without the stream the page says that it may be old, and still finds out; when it is back, the
// words go.
func TestLiveUpdatesAreCut(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	id := v.own("GOT-1")
	v.Go(path("/holds/", id))
	v.listening()
	v.hush()
	v.Wait("the words", seen("off"))
	v.Says("Until")
	v.Axe("without live updates")
	v.cancel(v.acme, id)
	v.Wait("the change all the same", `document.querySelector("main").dataset.outcome === "hold-cancelled"`)
}

// Whoever signs out elsewhere is told so on the pages that are still open.
func TestSignedOutElsewhere(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/holds")
	v.listening()
	if err := v.Accounts.SignOutEverywhere(t.Context(), by, fixture.Get[uuid.UUID](t, v.Owner, "select id from users where email = $1", customer)); err != nil {
		t.Fatal(err)
	}
	v.Site.Live.Touch()
	v.Wait("the words", seen("ended"))
	v.Follow(func() { v.Click("[data-live-ended] button") })
	v.WantOutcome("unauthenticated")
}

// A page in the background neither listens nor asks; in front again it finds out what it missed.
func TestHiddenPagesAreQuiet(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/offers")
	v.listening()
	Eval[bool](v.Tab, `(Object.defineProperty(document, "hidden", {configurable: true, get: () => true}), document.dispatchEvent(new Event("visibilitychange")), true)`)
	v.until("the page to stop listening", func() (bool, error) { return v.Live.Subscribers() == 0, nil })
	v.holdTag(v.rival, "GOT-1")
	Eval[bool](v.Tab, `(delete document.hidden, document.dispatchEvent(new Event("visibilitychange")), true)`)
	v.Wait("the button", seen("changed"))
	v.listening()
}
