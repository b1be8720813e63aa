package browsertest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

// holdsOf is how many holds an organisation ever had.
func (v *visit) holdsOf(org uuid.UUID) int {
	v.t.Helper()
	return fixture.Get[int](v.t, v.Owner, "select count(*)::int from holds where org_id = $1", org)
}

func (v *visit) wantHolds(n int) {
	v.t.Helper()
	if got := v.holdsOf(v.acme); got != n {
		v.t.Errorf("%d holds, want %d", got, n)
	}
}

// Somebody who has never seen the site rents a server on a phone, from the list, with scripts and
// without.
func TestTheWholeOrderOnAPhone(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "with scripts", false: "without scripts"}[scripts], func(t *testing.T) {
			t.Parallel()
			v := begin(t, "", Options{})
			v.Size(Phone)
			if !scripts {
				v.WithoutScripts()
			}
			v.SignInByForm(customer)
			v.fits()
			v.Follow(func() { v.Press("See all servers") })
			v.fits()
			v.Says("Gothenburg", "€109.00", "4 free now", "Leipzig")
			v.Follow(func() { v.Press("Choose") })
			v.Says("Review your order", "i7-8700")
			v.fits()
			v.Follow(func() { v.Click(submitOrder) })
			v.WantOutcome("held")
			v.Says("is held for you", "OPO-2", "CET", "€39.00")
			v.fits()
			v.Follow(func() { v.Press("Extend") })
			v.WantOutcome("held")
			v.Says("Extended")
			v.Follow(func() { v.Press("Rent it for €39.00") })
			v.Says("Rent this server?", "Monthly rental, cancellable at any time.")
			v.fits()
			v.Follow(func() { v.Press("Rent it for €39.00") })
			v.WantOutcome("service")
			v.Says("yours", "OPO-2", "What happens next", "Questions?")
			v.fits()
			v.Reload() // safe to reload
			v.WantOutcome("service")
			v.Follow(func() { v.Press("Services") })
			v.Says("OPO-2", "Running")
			v.wantHolds(1)
		})
	}
}

// By needs: what matches is shown while choosing, the review is right, and changes lead back to it
// with everything that was entered.
func TestOrderByNeeds(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "with scripts", false: "without scripts"}[scripts], func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{})
			v.Size(Phone)
			if !scripts {
				v.WithoutScripts()
			}
			v.Go("/order")
			v.Fill("min_ram_gb", "100")
			v.Follow(func() { v.Press("Show what matches") })
			v.Says("5 free servers match")
			v.Fill("max_price", "120")
			v.Follow(func() { v.Press("Review the order") })
			v.Says("Review your order", "at least 100", "€120.00", "4 free servers match")
			v.Follow(func() { v.Press("Change") })
			for field, want := range map[string]string{"min_ram_gb": "100", "max_price": "120.00"} {
				if got := v.Value(field); strings.TrimSuffix(got, ".00") != strings.TrimSuffix(want, ".00") {
					t.Errorf("%s is %q after a change link, want %q", field, got, want)
				}
			}
			v.Follow(func() { v.Press("Review the order") })
			v.Follow(func() { v.Click(submitOrder) })
			v.WantOutcome("held")
			v.Says("GOT-", "Why this one", "at least 100")
		})
	}
}

// Double click, back and resubmit, F5: one hold, the same page.
func TestOneOrderOneHold(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "with scripts", false: "without scripts"}[scripts], func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{})
			if !scripts {
				v.WithoutScripts()
			}
			v.review("min_ram_gb", "128")
			v.Follow(func() { v.Clicks(submitOrder, 2) })
			v.Wait("the page of the hold", `document.querySelector("main").dataset.outcome === "held"`)
			first := v.Path()
			v.Reload()
			v.WantOutcome("held")
			v.Back()
			v.Says("Review your order")
			v.Follow(func() { v.Click(submitOrder) })
			v.WantOutcome("held")
			if got := v.Path(); got != first {
				t.Errorf("back and resubmit led to %s, the first was %s", got, first)
			}
			v.wantHolds(1)
		})
	}
}

// F5 on the page of a refusal sends the order again: decided anew, under the same key.
func TestReloadOfARefusal(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	id := v.holdTag(v.rival, "OPO-1")
	v.order("machine", "OPO-1")
	v.WantOutcome("all-held")
	v.Reload()
	v.WantOutcome("all-held")
	v.wantHolds(0)
	v.cancel(v.rival, id)
	v.Reload()
	v.WantOutcome("held")
	v.Reload()
	v.WantOutcome("held")
	v.wantHolds(1)
}

// On a slow network people press again.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.review("min_ram_gb", "128")
	v.Slow(300 * time.Millisecond)
	v.Follow(func() { v.Clicks(submitOrder, 4) })
	v.Wait("the page of the hold", `document.querySelector("main").dataset.outcome === "held"`)
	v.wantHolds(1)
}

// Two browsers want the same machine at the same moment: one has it, the other is told that somebody
// was faster and what to do now.
func TestTwoBrowsersRaceForOneMachine(t *testing.T) {
	t.Parallel()
	ada := begin(t, customer, Options{})
	rob := ada.another(foreign)
	both := []*visit{ada, rob}
	arrived := map[*visit]string{}
	for _, v := range both {
		v.Size(Phone)
		v.review("machine", "OPO-1")
		arrived[v] = v.leaving()
	}
	tx, err := ada.Owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from machines where asset_tag = 'OPO-1' for no key update"); err != nil {
		t.Fatal(err)
	}
	for _, v := range both {
		v.Click(submitOrder)
	}
	ada.waiting(2)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]*visit{}
	for _, v := range both {
		v.Wait("the answer", arrived[v])
		got[v.Outcome()] = v
	}
	winner, loser := got["held"], got["someone-was-faster"]
	if winner == nil || loser == nil {
		t.Fatalf("outcomes %q and %q", ada.Outcome(), rob.Outcome())
	}
	loser.Says("faster", "nothing was charged", "Reference")
	if text := loser.Text(); strings.Contains(text, "None left") || strings.Contains(text, "Acme") || strings.Contains(text, "Rival") {
		t.Errorf("what the loser is told:\n%s", text)
	}
	// The winner gives it back; the loser's one click then gets it.
	winner.Follow(func() { winner.Press("Give it back") })
	loser.Follow(func() { loser.Click(`main form[action="/order"] button`) })
	loser.WantOutcome("held")
	loser.Says("OPO-1")
}

// The catalogue said one is left, and the order fails: the answer explains it, and the catalogue
// agrees.
func TestTheLastOneGoesWhileOneLooks(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/offers?min_ram_gb=256")
	v.Says("Only 1 free now")
	v.Follow(func() { v.Press("Choose") })
	v.holdTag(v.rival, "OPO-1")
	v.Follow(func() { v.Click(submitOrder) })
	v.WantOutcome("all-held")
	v.Go("/offers?min_ram_gb=256")
	v.Says("All held right now")
	if strings.Contains(v.Text(), "free now") && strings.Contains(v.Text(), "Only 1") {
		t.Errorf("the catalogue still offers it:\n%s", v.Text())
	}
}

// Everything is on hold and nothing sold: the page says when the next one may come free, and not
// that it is sold out.
func TestAllHeldIsNotSoldOut(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	for _, tag := range []string{"LEJ-1", "LEJ-2", "LEJ-3"} {
		v.holdTag(v.rival, tag)
	}
	v.order("site", "LEJ1")
	v.WantOutcome("all-held")
	next := fixture.Get[time.Time](t, v.Owner, "select min(expires_at) from holds where state = 'held'")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	v.Says(next.In(berlin).Format("15:04"))
	text := v.Text()
	for _, word := range []string{"sold out", "None left", "Rival"} {
		if strings.Contains(text, word) {
			t.Errorf("the page says %q:\n%s", word, text)
		}
	}
}

// Somebody holds the last machine and opens the catalogue again: "you hold this", with a link.
func TestTheCatalogueKnowsWhatIsYours(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	id := v.own("OPO-1")
	v.Go("/offers?min_ram_gb=256")
	v.Says("You hold one of these")
	if text := v.Text(); strings.Contains(text, "None left") {
		t.Errorf("the catalogue says none left:\n%s", text)
	}
	v.Follow(func() { v.Press("You hold one of these") })
	v.Says("OPO-1")
	if v.Path() != path("/holds/", id) {
		v.Follow(func() { v.Click(`main a.row-link`) })
		v.WantOutcome("held")
	}
}

// A misspelt constraint is refused by name.
func TestUnknownConstraintIsNamed(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Post("/order", "key", uuid.NewString(), "min_ram", "256", "min_cores", "4")
	v.WantOutcome("invalid")
	v.Says("min_ram")
	if got := v.Value("min_cores"); got != "4" {
		t.Errorf("what was entered is lost: min_cores is %q", got)
	}
	v.wantHolds(0)
}

// Each machine fails for another reason: all reasons are told, and the sum is right.
func TestEveryReasonIsTold(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.holdTag(v.rival, "GOT-1")
	v.rent(v.rival, "GOT-2")
	v.status("GOT-3", "maintenance")
	v.order("site", "GOT1", "min_ram_gb", "384", "ecc", "true", "max_price", "100")
	v.WantOutcome("none-left")
	v.Press("Why the others did not fit")
	v.Wait("the reasons", `document.querySelector(".histogram").checkVisibility()`)
	v.Says("10 servers were looked at", "Too little memory", "In another place", "Above your price", "No ECC memory",
		"Not for sale at the moment", "Held for somebody", "Rented")
	rows := Eval[map[string]string](v.Tab, `Object.fromEntries([...document.querySelectorAll(".histogram tbody tr")].map(r => [r.querySelector("th").innerText.trim(), r.querySelector("td").innerText.trim()]))`)
	for reason, want := range map[string]string{"In another place": "6", "Rented": "1", "Held for somebody": "1"} {
		if rows[reason] != want {
			t.Errorf("%s: %q machines, want %s: %v", reason, rows[reason], want, rows)
		}
	}
}

// A commit whose answer was lost: the page says that it checks, never that it failed, and resolves
// itself by the key.
func TestCheckingResolvesItself(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(map[bool]string{true: "with scripts", false: "without scripts"}[scripts], func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{LockTimeout: 500 * time.Millisecond})
			if !scripts {
				v.WithoutScripts()
			}
			release := v.hang()
			v.order("min_ram_gb", "128")
			v.WantOutcome("checking")
			if text := v.Text(); strings.Contains(strings.ToLower(text), "failed") {
				t.Errorf("the page says failed:\n%s", text)
			}
			release()
			v.Wait("the hold", `document.readyState === "complete" && document.querySelector("main").dataset.outcome === "held"`)
			v.wantHolds(1)
			v.watched.forget() // that the answer was 503 until then
		})
	}
}
