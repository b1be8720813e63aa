package fleet

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// show quotes what somebody wrote for a message: short, and without characters that deceive.
func show(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.QuoteToGraphic(s)
}

// unprintable reports characters that no fact of a machine contains: controls, and those that turn
// the direction of reading.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0xFEFF
}
