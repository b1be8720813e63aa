package browsertest

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/migrations/pgtest/fixture"
)

// The deadline passes while somebody looks at the hold: the page says so without a reload, speaks
// it, keeps what was entered, and has the same machine again.
func TestTheDeadlinePassesOnScreen(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", "/confirm"} {
		t.Run("page "+page, func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{})
			v.Size(Phone)
			id := v.hold(v.acme, allocator.Request{MinRAMGB: 64})
			v.look(id, path("/holds/", id, page))
			Eval[bool](v.Tab, `window.sameDocument = true`)
			v.Wait("the end on the screen", over)
			if !Eval[bool](v.Tab, `window.sameDocument === true`) {
				t.Error("the page was loaded again")
			}
			v.Says("The hold has expired", "The time is over", "Nothing was charged")
			if text := v.Text(); strings.Contains(text, "held for you") {
				t.Errorf("the page still says that the server is held:\n%s", text)
			}
			if page == "" {
				v.Wait("other servers", `document.querySelectorAll('[aria-labelledby="others-title"] li').length === 3`)
			}
			v.Wait("the end to be spoken", `[...document.querySelectorAll("[aria-live]")].some(e => e.checkVisibility() && e.textContent.includes("ended"))`)
			if title := Eval[string](v.Tab, `document.title`); !strings.Contains(title, "expired") {
				t.Errorf("title %q", title)
			}
			if Eval[bool](v.Tab, `[...document.querySelectorAll('form[action$="/confirm"], a[href$="/confirm"]')].some(e => e.checkVisibility())`) {
				t.Error("the page still offers to confirm")
			}
			v.fits()
			// What was asked for is kept.
			if !Eval[bool](v.Tab, `[...document.querySelectorAll('main a[href*="min_ram_gb=64"]')].some(e => e.checkVisibility())`) {
				t.Errorf("no way back with what was entered\n%s", v.where())
			}
			v.Follow(func() { v.Press("Hold the same server again") })
			if v.Outcome() == "" {
				v.Follow(func() { v.Click(submitOrder) })
			}
			v.WantOutcome("held")
			v.Says("OPO-2")
		})
	}
}

// The page stays open past the deadline, no script runs, and the sweeper does not either: confirm is
// refused, nothing is charged or half-written, what was entered is kept, and the way on is there.
func TestConfirmAfterTheDeadline(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.WithoutScripts()
	id := v.hold(v.acme, allocator.Request{MinRAMGB: 64})
	v.Go(path("/holds/", id, "/confirm"))
	v.leave(id, -time.Second)
	v.Follow(func() { v.Click(`form[action$="/confirm"] button`) })
	v.WantOutcome("hold-expired")
	v.Says("Nothing", "charged", "Hold the same server again", "3 others that fit")
	if n := fixture.Get[int](t, v.Owner, "select count(*)::int from services"); n != 0 {
		t.Errorf("%d services", n)
	}
	if !Eval[bool](v.Tab, `!!document.querySelector('main a[href*="min_ram_gb=64"]')`) {
		t.Errorf("no way back with what was entered\n%s", v.where())
	}
	v.Follow(func() { v.Press("Hold the same server again") })
	if v.Outcome() == "" {
		v.Follow(func() { v.Click(submitOrder) })
	}
	v.WantOutcome("held")
}

// shownLeft is the countdown in seconds.
func (v *visit) shownLeft() float64 {
	v.t.Helper()
	return Eval[float64](v.Tab, `(m => m ? m[1] * 60 + +m[2] : NaN)(document.querySelector("[data-countdown]").textContent.match(/(\d+)\D+(\d+)/))`)
}

// left is how many seconds a hold has, by the server's clock.
func (v *visit) left(id uuid.UUID) float64 {
	v.t.Helper()
	return fixture.Get[float64](v.t, v.Owner, "select extract(epoch from expires_at - clock_timestamp())::float8 from holds where id = $1", id)
}

// right fails unless the countdown agrees with the server's clock, within what a tick and the
// distance of the network may differ.
func (v *visit) right(id uuid.UUID) {
	v.t.Helper()
	before := v.left(id)
	shown := v.shownLeft()
	after := v.left(id)
	if math.IsNaN(shown) || shown > before+3 || shown < after-3 {
		v.t.Errorf("the page shows %v s, the server had %v s before and %v s after", shown, before, after)
	}
}

// The browser's clock is ten minutes off, either way, or in another zone: the time left and the
// deadline are those of the server and of the person.
func TestTheBrowsersClockIsOff(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"slow": -10 * time.Minute, "fast": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{})
			v.TimeZone("Pacific/Auckland")
			v.ClockOff(off)
			id := v.own("GOT-1")
			v.Go(path("/holds/", id))
			v.right(id)
			v.Says("CET")
			// A second later still, and after the clock has been set while the page was open.
			v.Wait("the countdown to go on", `(c => { const now = c.textContent; window.before ??= now; return now !== window.before })(document.querySelector("[data-countdown]"))`)
			v.right(id)
			Eval[bool](v.Tab, `(globalThis.clockOff = `+ms(-off)+`, true)`)
			v.until("the countdown to be right again", func() (bool, error) {
				return math.Abs(v.shownLeft()-v.left(id)) < 3, nil
			})
			// It decides nothing: the hold is live, whatever the browser thinks.
			v.Follow(func() { v.Press("Rent it for") })
			v.Follow(func() { v.Press("Rent it for") })
			v.WantOutcome("service")
		})
	}
}

// Warned at two minutes, with the extension as a button; the extension shows the new time.
func TestWarnedAndExtended(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	id := v.own("GOT-1")
	// The page is to be open before the two minutes begin, however long that takes.
	for left := 121500 * time.Millisecond; ; left += 5 * time.Second {
		v.leave(id, left)
		v.Go(path("/holds/", id))
		if Eval[bool](v.Tab, `!document.querySelector("[data-warn]").checkVisibility() || document.querySelector("[data-announce]").textContent !== ""`) {
			break
		}
	}
	v.Wait("the warning", `document.querySelector("[data-warn]").checkVisibility()`)
	v.Wait("two minutes to be spoken", `document.querySelector("[data-announce]").textContent.includes("2 minutes")`)
	v.Follow(func() { v.Press("Extend") })
	v.WantOutcome("held")
	if v.shownLeft() < 900 {
		t.Errorf("%v s left after the extension", v.shownLeft())
	}
	v.right(id)
	// Once: the button is gone.
	if Eval[bool](v.Tab, `!!document.querySelector('form[action$="/extend"]')`) {
		t.Error("the extension is offered twice")
	}
}

// A tick of the countdown moves nothing and takes no focus.
func TestTheCountdownIsCalm(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go(path("/holds/", v.own("GOT-1")))
	v.TabTo("Rent it for")
	Eval[bool](v.Tab, `(window.seen = 0, window.place = document.activeElement.getBoundingClientRect().top, window.focused = document.activeElement,
		new MutationObserver(() => window.seen++).observe(document.querySelector("[data-countdown]"), {childList: true, characterData: true, subtree: true}), true)`)
	v.Wait("two ticks", `window.seen >= 2`)
	if !Eval[bool](v.Tab, `document.activeElement === window.focused && document.activeElement.getBoundingClientRect().top === window.place`) {
		t.Error("the countdown moved the page or the focus")
	}
	if n := Eval[int](v.Tab, `document.querySelector("[data-announce]").textContent.length`); n != 0 {
		t.Error("the countdown speaks each second")
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
