package i18n

import (
	"slices"
	"testing"
)

// FuzzMatch: whatever a browser and its cookies ask for, some language is spoken.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"", "de", "de-AT, en;q=0.5", "*", "x-klingon", "en;q=2", "de;q=0", "zh-Hant-TW-u-co-stroke, de-1996;q=0.9", ",,,;;q==", "\xff"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, header, preference string) {
		got := Match(header, preference)
		if !slices.Contains(Languages(), got) && got != Pseudo {
			t.Fatalf("%q, %q: %q", header, preference, got)
		}
		if Known(preference) && got != preference {
			t.Fatalf("%q was chosen and %q is spoken", preference, got)
		}
	})
}
