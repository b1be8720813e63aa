// Package i18n speaks to people in their language: texts from message files, plurals, and numbers,
// money and times by locale and time zone.
//
//	preference (cookie, person's setting), Accept-Language -> Match -> Locale -> context -> T, Money, Clock
//
// Messages live in messages/<language>/*.json: flat objects from a key to a text, or to an object
// with the plural forms of CLDR ("one", "other"). A text names its arguments in braces: {name}. The
// argument {n} chooses the plural form. English is the reference: every other language has exactly
// its keys and arguments, which a test enforces.
package i18n
