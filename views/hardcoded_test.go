package views_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"ironhold/views/i18n"
	"ironhold/views/sample"
)

// spoken are the attributes whose text people see or hear.
var spoken = []string{"aria-label", "alt", "title", "placeholder", "data-label", "data-copied", "data-left", "data-mark", "data-mark-one", "data-over", "data-title-over"}

// TestNoTextIsHardCoded: in the made-up language every word on every page changes, except for data:
// names, tags, codes and units.
func TestNoTextIsHardCoded(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"customer", "org-admin", "sales", "operator"} {
		ctx := dressed(i18n.Pseudo, role)
		for _, p := range sample.Pages() {
			doc, _ := render(t, ctx, p)
			for _, s := range texts(doc) {
				if left := unspoken(s); left != "" {
					t.Errorf("%s as %s: %q is in no message file, nor is it data of the samples (in %q)", p.Name, role, left, s)
				}
			}
		}
	}
}

// texts are the texts of the page that people see or hear.
func texts(n *html.Node) (out []string) {
	switch {
	case n.Type == html.TextNode:
		return []string{n.Data}
	case n.Data == "script", n.Data == "noscript", n.Data == "code", n.Data == "option" && attr(n, "value") == text(n):
		return nil
	}
	for _, a := range n.Attr {
		if slices.Contains(spoken, a.Key) {
			out = append(out, a.Val)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out = append(out, texts(c)...)
	}
	return out
}

var (
	translated = regexp.MustCompile(`\[[^\[\]]*\]`)
	words      = regexp.MustCompile(`\pL{2,}`)
)

// unspoken is the first word of a text that is neither translated nor data.
func unspoken(s string) string {
	for _, d := range data {
		s = strings.ReplaceAll(s, d, "")
	}
	for translated.MatchString(s) { // an argument may be translated itself
		s = translated.ReplaceAllString(s, "")
	}
	return words.FindString(s)
}

// data are what the samples say, and the names and units that are the same in every language.
var data = []string{
	attack,
	"a-rather-long-address-of-somebody@analytics.department.nordlys.example", "nordlys", "Donaudampfschifffahrtsgesellschaftskapitänshausen",
	"Gothenburg", "Leipzig", "GOT", "Dell PowerEdge R6615", "Dell", "AMD EPYC 9354P", "NVIDIA A2", "IPv4", "IPv6", "IPMI", "ECC",
	"unheard of", "Enter a whole number, for example 16.", "One thing", "Reason: x", "Memory: ", "Zone: x", "From: x",
	"Ironhold", "English", "Deutsch", "EUR", "Gbit/s", "Mbit/s", "GB", "TB", "µs", "\u00a0ms", "CET",
}
