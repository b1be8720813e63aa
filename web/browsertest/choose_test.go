package browsertest

import "testing"

// What would match is shown while the form is filled in, without a button, and spoken; the focus
// stays in the form.
func TestMatchesWhileChoosing(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Go("/order")
	v.Wait("what matches anything", `document.querySelector("[data-match-box]").innerText.includes("9 free servers match")`)
	v.Fill("min_ram_gb", "128")
	v.Wait("what matches that", `document.querySelector("[data-match-box]").innerText.includes("5 free servers match")`)
	v.Wait("it to be spoken", `document.querySelector("[data-match-said]").textContent.includes("5 free servers match")`)
	if got := Eval[string](v.Tab, `document.activeElement.name`); got != "min_ram_gb" {
		t.Errorf("the focus is on %q", got)
	}
	v.Fill("min_ram_gb", "a lot")
	v.Wait("the fault", `document.querySelector("[data-match-box]").innerText.includes("as soon as these entries are right")`)
	v.Axe("with a fault told")
	v.Fill("min_ram_gb", "999")
	v.Wait("no match", `document.querySelector("[data-match-box]").innerText.includes("No free server matches")`)
	v.Axe("with near misses")
	v.Size(Narrow)
	v.fits()
	v.Follow(func() { v.Click("[data-match-box] .near-link") })
	v.Says("Review")
}

// Two are ticked in the list and stand side by side, with scripts and without.
func TestCompareFromTheList(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := begin(t, customer, Options{})
			if !scripts {
				v.WithoutScripts()
			}
			v.Go("/offers?sort=-price")
			v.Click(`input[name="class"][value="` + v.class("GOT-1") + `"]`)
			v.Click(`input[name="class"][value="` + v.class("OPO-1") + `"]`)
			v.Follow(func() { v.Press("Compare the ticked") })
			v.Says("AMD EPYC 7402P", "AMD EPYC 9354P", "2 configurations side by side")
			v.Size(Narrow)
			v.fits()
			v.Size(Desktop)
			v.Follow(func() { v.Press("Add another") })
			if n := Eval[int](v.Tab, `document.querySelectorAll('input[name="class"]:checked').length`); n != 2 {
				t.Errorf("%d are still ticked", n)
			}
			v.Click(`input[name="class"][value="` + v.class("LEJ-1") + `"]`)
			v.Follow(func() { v.Press("Compare the ticked") })
			v.Says("3 configurations side by side")
			v.Follow(func() { v.Press("Leave out") })
			v.Says("2 configurations side by side")
			v.Follow(func() { v.Press("Choose") })
			v.Says("Review")
		})
	}
}

// From the refusal to the list, from the list to the machine.
func TestWaitAndOrder(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.Size(Phone)
	taken := v.holdTag(v.rival, "OPO-1")
	v.order("min_ram_gb", "256")
	v.WantOutcome("all-held")
	v.Follow(func() { v.Press("Tell me when one is free") })
	v.Says("You are on the waiting list", "You are waiting for one thing")
	v.listening()
	v.cancel(v.rival, taken)
	if n, err := v.Allocator.MatchWaiting(t.Context()); err != nil || n != 1 {
		t.Fatalf("told %d, %v", n, err)
	}
	v.Wait("the news", seen("changed"))
	v.Follow(func() { v.Press("Refresh") })
	v.Says("A server came free for you", "OPO-1")
	v.Follow(func() { v.Press("Order OPO-1") })
	v.Follow(func() { v.Click(submitOrder) })
	v.WantOutcome("held")
}
