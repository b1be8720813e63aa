package i18n

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"
)

var argument = regexp.MustCompile(`\{[a-z_]+\}`)

func arguments(m message) []string {
	var all []string
	for _, text := range m.forms {
		all = append(all, argument.FindAllString(text, -1)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestLanguagesHaveTheSameKeysAndArguments(t *testing.T) {
	t.Parallel()
	en := catalogues["en"]
	for _, lang := range Languages() {
		c := catalogues[lang]
		for key, m := range en {
			other, ok := c[key]
			if !ok {
				t.Errorf("%s lacks %q", lang, key)
				continue
			}
			if a, b := arguments(m), arguments(other); !slices.Equal(a, b) {
				t.Errorf("%s %q has the arguments %v, English has %v", lang, key, b, a)
			}
			if len(m.forms) != len(other.forms) {
				t.Errorf("%s %q has %d plural forms, English has %d", lang, key, len(other.forms), len(m.forms))
			}
		}
		for key := range c {
			if _, ok := en[key]; !ok {
				t.Errorf("English lacks %q of %s", key, lang)
			}
		}
	}
}

func locale(lang, zone string) context.Context {
	z, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	return With(context.Background(), Locale{Lang: lang, Zone: z})
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang     string
		minor    int64
		currency string
		want     string
	}{
		{"en", 3300, "EUR", "€33.00"},
		{"de", 3300, "EUR", "33,00\u00a0€"},
		{"en", 123456789, "EUR", "€1,234,567.89"},
		{"de", 123456789, "EUR", "1.234.567,89\u00a0€"},
		{"en", 5, "EUR", "€0.05"},
		{"en", -1999, "USD", "-$19.99"},
		{"de", -1999, "USD", "-19,99\u00a0$"},
		{"en", 1500, "JPY", "¥1,500"},
		{"en", 1500, "CHF", "CHF\u00a015.00"},
		{"en", 0, "EUR", "€0.00"},
		{"en", 9007199254740993, "EUR", "€90,071,992,547,409.93"}, // beyond a float's whole numbers
	} {
		if got := Money(locale(c.lang, "UTC"), c.minor, c.currency); got != c.want {
			t.Errorf("%s %d %s: %q, want %q", c.lang, c.minor, c.currency, got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 3, 23, 5, 9, 0, time.UTC)
	for _, c := range []struct{ lang, zone, dateTime, clock string }{
		{"en", "UTC", "3 Dec 2026, 23:05\u00a0UTC", "23:05:09\u00a0UTC"},
		{"de", "Europe/Berlin", "4. Dez. 2026, 00:05\u00a0CET", "4. Dez., 00:05:09\u00a0CET"},
		{"en", "America/Sao_Paulo", "3 Dec 2026, 20:05\u00a0UTC-3", "20:05:09\u00a0UTC-3"},
		{"en", "Asia/Kathmandu", "4 Dec 2026, 04:50\u00a0UTC+5:45", "4 Dec, 04:50:09\u00a0UTC+5:45"},
	} {
		ctx := locale(c.lang, c.zone)
		if got := DateTime(ctx, at); got != c.dateTime {
			t.Errorf("%s %s: %q, want %q", c.lang, c.zone, got, c.dateTime)
		}
		if got := Clock(ctx, at, at.Add(-6*time.Hour), true); got != c.clock {
			t.Errorf("%s %s: %q, want %q", c.lang, c.zone, got, c.clock)
		}
	}
}

func TestSpansAndPlurals(t *testing.T) {
	t.Parallel()
	en, de := locale("en", "UTC"), locale("de", "UTC")
	for _, c := range []struct{ got, want string }{
		{Span(en, time.Minute), "1 minute"},
		{Span(en, 14*time.Minute+59*time.Second), "14 minutes"},
		{Span(en, 59*time.Second), "59 seconds"},
		{Span(en, -time.Second), "0 seconds"},
		{Span(de, 61*time.Minute), "1 Stunde 1 Minute"},
		{Span(de, 48*time.Hour), "2 Tage"},
		{T(en, "offers.count", "n", 1), "One configuration matches;"},
		{T(en, "offers.count", "n", 1234), "1,234 configurations match;"},
		{T(de, "offers.count", "n", 1234), "1.234 Konfigurationen passen;"},
		{T(en, "no.such.key"), "⟦no.such.key⟧"},
		{Size(en, 480), "480\u00a0GB"}, {Size(en, 1920), "1.92\u00a0TB"}, {Size(de, 2000), "2\u00a0TB"},
		{Speed(en, 1000), "1\u00a0Gbit/s"}, {Speed(de, 2500), "2,5\u00a0Gbit/s"},
		{Decimal(en, 4990, "EUR"), "49.90"}, {Decimal(de, 5000, "EUR"), "50"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		accept string
		prefs  []string
		want   string
	}{
		{"", nil, "en"},
		{"de-AT,de;q=0.9,en;q=0.8", nil, "de"},
		{"fr,en;q=0.5", nil, "en"},
		{"fr", nil, "en"},
		{"de", []string{"", "en"}, "en"},
		{"en", []string{"xx", "de"}, "de"},
		{"((((", nil, "en"},
	} {
		if got := Match(c.accept, c.prefs...); got != c.want {
			t.Errorf("Match(%q, %v) = %q, want %q", c.accept, c.prefs, got, c.want)
		}
	}
}

func TestArgumentsAreNotExpandedTwice(t *testing.T) {
	t.Parallel()
	if got := T(locale("en", "UTC"), "server.place", "name", "{code}", "code", "X"); got != "{code} (X)" {
		t.Errorf("got %q", got)
	}
}
