package browsertest

import (
	"strings"
)

// Text is what the page's main part says, as it is seen.
func (tab *Tab) Text() string {
	tab.t.Helper()
	return Eval[string](tab, `document.querySelector("main").innerText`)
}

// Says fails unless the main part says all of this.
func (tab *Tab) Says(parts ...string) {
	tab.t.Helper()
	text := tab.Text()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			tab.t.Errorf("the page does not say %q:\n%s", p, text)
		}
	}
}

// Outcome is the main part's data-outcome.
func (tab *Tab) Outcome() string {
	tab.t.Helper()
	return Eval[string](tab, `document.querySelector("main").dataset.outcome || ""`)
}

// WantOutcome fails unless the page is that of the outcome.
func (tab *Tab) WantOutcome(name string) {
	tab.t.Helper()
	if got := tab.Outcome(); got != name {
		tab.t.Fatalf("outcome %q, want %q\n%s", got, name, tab.where())
	}
}

// Path is the address without the site.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return Eval[string](tab, `location.pathname + location.search`)
}

// Value is what an input contains.
func (tab *Tab) Value(name string) string {
	tab.t.Helper()
	return Eval[string](tab, field(name)+`.value`)
}
