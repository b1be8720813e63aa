package i18n

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/currency"
)

const nbsp = "\u00a0"

// Int is a number in the digits and groups of the locale.
func Int(ctx context.Context, n int64) string { return integer(From(ctx), n) }

func integer(l Locale, n int64) string {
	comma := ","
	if l.Lang == "de" {
		comma = "."
	}
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	out := ""
	for len(digits) > 3 {
		out = comma + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return sign + digits + out
}

// Scale is the number of decimals of a currency: 2 for EUR, 0 for JPY.
func Scale(code string) int {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

// Money is an amount in minor units with the sign of its currency: "€1,234.50", "1.234,50 €".
func Money(ctx context.Context, minor int64, code string) string {
	l := From(ctx)
	amount := decimal(l, minor, Scale(code), true)
	sign, ok := map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}[code]
	switch {
	case l.Lang == "de" && ok:
		return amount + nbsp + sign
	case l.Lang == "de":
		return amount + nbsp + code
	case ok && strings.HasPrefix(amount, "-"):
		return "-" + sign + amount[1:]
	case ok:
		return sign + amount
	}
	return code + nbsp + amount
}

// Decimal is an amount as a person types it: no sign of a currency, no groups, no decimals when
// they are zero.
func Decimal(ctx context.Context, minor int64, code string) string {
	scale := Scale(code)
	s := decimal(From(ctx), minor, scale, false)
	if scale > 0 && strings.HasSuffix(s, strings.Repeat("0", scale)) {
		return s[:len(s)-scale-1]
	}
	return s
}

// PlainMoney is an amount for programs: a point, all decimals, nothing else.
func PlainMoney(minor int64, code string) string {
	return decimal(Locale{Lang: "en"}, minor, Scale(code), false)
}

func decimal(l Locale, minor int64, scale int, group bool) string {
	digits := strconv.FormatInt(minor, 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	whole, part := digits[:len(digits)-scale], digits[len(digits)-scale:]
	if group {
		n, _ := strconv.ParseInt(whole, 10, 64)
		whole = integer(l, n)
	}
	if scale == 0 {
		return sign + whole
	}
	point := "."
	if l.Lang == "de" {
		point = ","
	}
	return sign + whole + point + part
}

// Size is a capacity given in GB: "480 GB", "2 TB", "1.92 TB".
func Size(ctx context.Context, gb int) string {
	if gb < 1000 {
		return integer(From(ctx), int64(gb)) + nbsp + "GB"
	}
	s := decimal(From(ctx), int64(gb), 3, true)
	s = strings.TrimRight(s, "0")
	return strings.TrimRight(s, ".,") + nbsp + "TB"
}

// Speed is a network speed given in Mbit/s: "100 Mbit/s", "10 Gbit/s".
func Speed(ctx context.Context, mbps int) string {
	if mbps < 1000 {
		return integer(From(ctx), int64(mbps)) + nbsp + "Mbit/s"
	}
	s := decimal(From(ctx), int64(mbps), 3, true)
	s = strings.TrimRight(s, "0")
	return strings.TrimRight(s, ".,") + nbsp + "Gbit/s"
}

// Clock is a time of day with its zone, to the second if asked: "14:05 CET". On another day than
// now it says which: "4 Dec, 00:05 CET".
func Clock(ctx context.Context, t, now time.Time, seconds bool) string {
	l := From(ctx)
	t, now = t.In(l.Zone), now.In(l.Zone)
	layout := "15:04"
	if seconds {
		layout = "15:04:05"
	}
	clock := t.Format(layout) + nbsp + zone(t)
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return clock
	}
	return T(ctx, "time.day_and_clock", "day", day(ctx, t), "clock", clock)
}

// DateTime is a date and a time of day with its zone: "3 Dec 2026, 14:05 CET".
func DateTime(ctx context.Context, t time.Time) string {
	t = t.In(From(ctx).Zone)
	return T(ctx, "time.day_and_clock", "day", Date(ctx, t), "clock", t.Format("15:04")+nbsp+zone(t))
}

// Stamp is DateTime to the second, for logs.
func Stamp(ctx context.Context, t time.Time) string {
	t = t.In(From(ctx).Zone)
	return T(ctx, "time.day_and_clock", "day", Date(ctx, t), "clock", t.Format("15:04:05")+nbsp+zone(t))
}

// Date is a day: "3 Dec 2026", "3. Dez. 2026".
func Date(ctx context.Context, t time.Time) string {
	t = t.In(From(ctx).Zone)
	return T(ctx, "time.date", "day", day(ctx, t), "year", strconv.Itoa(t.Year()))
}

func day(ctx context.Context, t time.Time) string {
	month := T(ctx, "time.month."+strconv.Itoa(int(t.Month())))
	return T(ctx, "time.day", "day", strconv.Itoa(t.Day()), "month", month)
}

func zone(t time.Time) string {
	name, offset := t.Zone()
	if name != "" && name[0] != '+' && name[0] != '-' {
		return name
	}
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	if offset%3600 == 0 {
		return fmt.Sprintf("UTC%s%d", sign, offset/3600)
	}
	return fmt.Sprintf("UTC%s%d:%02d", sign, offset/3600, offset%3600/60)
}

// Span is a length of time in words, of its two largest units: "14 minutes", "1 hour 5 minutes".
// Under a minute it counts seconds; it rounds down.
func Span(ctx context.Context, d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	days, hours, minutes := s/86400, s/3600%24, s/60%60
	switch {
	case days > 0 && hours > 0:
		return T(ctx, "time.days", "n", days) + " " + T(ctx, "time.hours", "n", hours)
	case days > 0:
		return T(ctx, "time.days", "n", days)
	case hours > 0 && minutes > 0:
		return T(ctx, "time.hours", "n", hours) + " " + T(ctx, "time.minutes", "n", minutes)
	case hours > 0:
		return T(ctx, "time.hours", "n", hours)
	case minutes > 0:
		return T(ctx, "time.minutes", "n", minutes)
	}
	return T(ctx, "time.seconds", "n", s)
}

// ISO is the machine-readable form for <time datetime> and scripts: UTC to the millisecond.
func ISO(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func word(l Locale, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return integer(l, int64(v))
	case int64:
		return integer(l, v)
	}
	return fmt.Sprint(v)
}

// Plain is a number for attributes, the same in every locale.
func Plain(n int) string { return strconv.Itoa(n) }
