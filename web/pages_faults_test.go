package web

import (
	"strings"
	"testing"

	"ironhold/allocator"
	"ironhold/views/i18n"
)

// TestFaultsInTheReadersLanguage: what the engine finds wrong with a request is never told to
// people in the words of the API.
func TestFaultsInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	price := int64(-1)
	many := make([]string, 51)
	req := allocator.Request{
		MinCores: -1, MinRAMGB: 1 << 30, MaxPriceMonthMinor: &price, Sites: many, Vendors: []string{strings.Repeat("x", 200)},
		CPU: "a\x00b", Machine: strings.Repeat("m", 200),
	}
	faults := req.Faults()
	if len(faults) != 7 {
		t.Fatalf("%d faults, want one for each of seven fields: %v", len(faults), faults)
	}
	faults = append(faults, allocator.Fault{Field: "sites", Why: allocator.FaultSite, Message: "x"},
		allocator.Fault{Field: "machine", Why: allocator.FaultMachine, Message: "x"})
	for _, lang := range i18n.Languages() {
		ctx := i18n.With(t.Context(), i18n.Locale{Lang: lang})
		for _, f := range faults {
			if got := faultText(ctx, f); got == "" || got == f.Message || strings.Contains(got, "{") || strings.HasPrefix(got, "form.") {
				t.Errorf("%s, %s: %q", lang, f.Field, got)
			}
		}
	}
}
