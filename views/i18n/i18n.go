package i18n

import (
	"context"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Locale is how one person reads: a language that Languages lists (or Pseudo) and a time zone.
type Locale struct {
	Lang string
	Zone *time.Location
}

// Pseudo is the made-up language of tests: English in longer, accented, bracketed words.
const Pseudo = "en-XA"

// Languages are the languages that people may choose, in the order in which they are offered.
func Languages() []string { return []string{"en", "de"} }

type contextKey struct{}

// With gives the context a locale.
func With(ctx context.Context, l Locale) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From is the locale of the context: English and UTC when it has none.
func From(ctx context.Context) Locale {
	l, _ := ctx.Value(contextKey{}).(Locale)
	if l.Lang == "" {
		l.Lang = "en"
	}
	if l.Zone == nil {
		l.Zone = time.UTC
	}
	return l
}

// Known reports whether lang is one that a person may choose.
func Known(lang string) bool {
	for _, l := range Languages() {
		if l == lang {
			return true
		}
	}
	return false
}

// Match is the language to speak: the first of the preferences that is known, else the best for an
// Accept-Language header, else English.
func Match(acceptLanguage string, preferences ...string) string {
	for _, p := range preferences {
		if Known(p) || p == Pseudo {
			return p
		}
	}
	tags, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil || len(tags) == 0 {
		return "en"
	}
	_, i, confidence := matcher.Match(tags...)
	if confidence == language.No {
		return "en"
	}
	return Languages()[i]
}

var matcher = language.NewMatcher([]language.Tag{language.English, language.German})

// T is the text of a key in the context's language. Arguments are pairs of a name and a value
// (a string, an int or anything that prints); the int named "n" chooses the plural form. Integers
// are written by locale. An unknown key comes back as ⟦key⟧, so that it is seen.
func T(ctx context.Context, key string, args ...any) string {
	l := From(ctx)
	m, ok := catalogues[l.Lang][key]
	if !ok {
		return "⟦" + key + "⟧"
	}
	text := m.forms[plural.Other]
	for i := 0; i+1 < len(args); i += 2 {
		if n, isInt := args[i+1].(int); isInt && args[i] == "n" {
			if t, has := m.forms[plural.Cardinal.MatchPlural(tag(l.Lang), abs(n), 0, 0, 0, 0)]; has {
				text = t
			}
		}
	}
	if len(args) == 0 {
		return text
	}
	return replace(l, text, args)
}

// Has reports whether the key exists.
func Has(ctx context.Context, key string) bool {
	_, ok := catalogues[From(ctx).Lang][key]
	return ok
}

func replace(l Locale, text string, args []any) string {
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+args[i].(string)+"}", word(l, args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func tag(lang string) language.Tag {
	if lang == "de" {
		return language.German
	}
	return language.BritishEnglish
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
