package browsertest

import "testing"

// On paper: what the page is about with its reference, and nothing that can only be clicked.
func TestPrinted(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	held := v.own("GOT-1")
	for _, page := range []struct{ path, reference string }{
		{path("/holds/", held), "GOT-1"}, {path("/services/", v.rent(v.acme, "OPO-1")), "OPO-1"},
	} {
		v.Go(page.path)
		v.Print()
		v.Says(page.reference)
		if !Eval[bool](v.Tab, `document.querySelector("h1").checkVisibility()`) {
			t.Errorf("%s: the heading is not printed", page.path)
		}
		if left := Eval[[]string](v.Tab, `[...document.querySelectorAll("nav, button, .button, footer a, [data-live-off]")].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 100))`); len(left) > 0 {
			t.Errorf("%s: printed for nothing: %q", page.path, left)
		}
		if ground := Eval[string](v.Tab, `getComputedStyle(document.body).backgroundColor`); ground != "rgb(255, 255, 255)" && ground != "rgba(0, 0, 0, 0)" {
			t.Errorf("%s: printed on %s", page.path, ground)
		}
		v.Media("prefers-color-scheme", "light") // the screen again
	}
}

// With the system's colours alone, controls still have an edge, states their words and icons, and
// the focus is seen.
func TestForcedColours(t *testing.T) {
	t.Parallel()
	v := begin(t, customer, Options{})
	v.holdTag(v.rival, "OPO-1")
	v.Media("forced-colors", "active")
	for _, show := range []func(){
		func() { v.Go("/offers") },
		func() { v.Go(path("/holds/", v.own("GOT-1"))) },
		func() { v.order("machine", "OPO-1") },
	} {
		show()
		if !Eval[bool](v.Tab, `matchMedia("(forced-colors: active)").matches`) {
			t.Fatal("the colours are not forced")
		}
		lost := Eval[[]string](v.Tab, `[...document.querySelectorAll("main button, main .button")].filter(e => e.checkVisibility()).filter(e => {
			const s = getComputedStyle(e);
			return !(parseFloat(s.borderTopWidth) >= 1 && s.borderTopStyle !== "none")
		}).map(e => e.outerHTML.slice(0, 120))`)
		lost = append(lost, Eval[[]string](v.Tab, `[...document.querySelectorAll("main svg")].filter(e => e.checkVisibility()).filter(e => {
			let ground = e;
			while (ground && getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
			return ground && getComputedStyle(e).color === getComputedStyle(ground).backgroundColor
		}).map(e => e.parentElement.outerHTML.slice(0, 120))`)...)
		if len(lost) > 0 {
			t.Errorf("%s: not to be seen: %q", v.Path(), lost)
		}
		v.TabTo("Help and contact")
		v.fits()
	}
}
