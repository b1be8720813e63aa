package fleet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// placeholders are what firmware writes where no serial was set, in small letters and without
// punctuation.
var placeholders = []string{
	"tobefilledbyoem", "notspecified", "systemserialnumber", "chassisserialnumber", "baseboardserialnumber",
	"serialnumber", "defaultstring", "none", "na", "null", "unknown", "oem", "empty", "notapplicable", "notavailable",
	"notpresent", "invalid", "tbd", "xxxx", "123456789", "0123456789", "1234567890", "1234567",
}

// realSerial reports whether a serial can identify a machine at all. Placeholders never do, and
// neither does a single character repeated.
func realSerial(serial string) bool {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, strings.ToLower(serial))
	first, _ := utf8.DecodeRuneInString(plain)
	return strings.Trim(plain, string(first)) != "" && !slices.Contains(placeholders, plain)
}
