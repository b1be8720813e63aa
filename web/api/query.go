package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/web/problem"
)

// Limits of a list.
const (
	defaultLimit = 50
	maxLimit     = 500
	maxParam     = 200 // characters of a parameter
)

// params reads a query strictly: unknown and repeated parameters are faults, an empty one counts
// as absent. Faults are collected until done.
type params struct {
	values url.Values
	known  []string
	faults []allocator.Fault
}

func query(r *http.Request) *params {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &params{values: values}
	if err != nil {
		p.fault("query", "cannot be read; escape special characters with %")
	}
	return p
}

func (p *params) fault(field, message string) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, allocator.Fault{Field: field, Message: message})
	}
}

// done returns every fault found, those of parameters that nobody asked for included.
func (p *params) done() error {
	names := make([]string, 0, len(p.values))
	for name := range p.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(p.known, name) {
			p.fault(shorten(name), unknown("parameter", p.known))
		}
	}
	if len(p.faults) > 0 {
		return problem.Faulty(p.faults...)
	}
	return nil
}

// text reads a parameter that may be given once.
func (p *params) text(name string) string {
	p.known = append(p.known, name)
	all := p.values[name]
	if len(all) > 1 {
		p.fault(name, "is given more than once")
		return ""
	}
	if len(all) == 0 {
		return ""
	}
	return p.clean(name, all[0])
}

// texts reads a parameter that may be repeated.
func (p *params) texts(name string) []string {
	p.known = append(p.known, name)
	const most = 100
	all := p.values[name]
	if len(all) > most {
		p.fault(name, fmt.Sprintf("is given more than %d times", most))
		return nil
	}
	var out []string
	for _, s := range all {
		if s = p.clean(name, s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (p *params) clean(name, s string) string {
	const most = maxParam
	switch {
	case !utf8.ValidString(s):
		p.fault(name, "is not valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		p.fault(name, "must not contain control characters")
	case utf8.RuneCountInString(s) > most:
		p.fault(name, fmt.Sprintf("is longer than %d characters", most))
	default:
		return s
	}
	return ""
}

func (p *params) whole(name string) int64 {
	s := p.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.fault(name, "must be a whole number")
	}
	return n
}

func (p *params) flag(name string) *bool {
	switch s := p.text(name); s {
	case "":
	case "true", "1":
		return new(true)
	case "false", "0":
		return new(false)
	default:
		p.fault(name, "must be true or false")
	}
	return nil
}

func (p *params) oneOf(name string, allowed ...string) string {
	s := p.text(name)
	if s != "" && !slices.Contains(allowed, s) {
		p.fault(name, "must be one of "+strings.Join(allowed, ", "))
		return ""
	}
	return s
}

func (p *params) time(name string) time.Time {
	// A "+" of a zone that was not escaped arrives as a space.
	s := strings.ReplaceAll(p.text(name), " ", "+")
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 {
		p.fault(name, "must be a time as in 2026-01-31T12:00:00Z")
		return time.Time{}
	}
	return t
}

func (p *params) limit() int {
	s := p.text("limit")
	if s == "" {
		if len(p.values["limit"]) > 0 {
			p.fault("limit", fmt.Sprintf("must be a whole number from 1 to %d", maxLimit))
		}
		return defaultLimit
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxLimit {
		p.fault("limit", fmt.Sprintf("must be a whole number from 1 to %d", maxLimit))
		return defaultLimit
	}
	return n
}

// Cursors name the list they belong to, so that one of another list is refused and not misread.
const (
	cursorHolds    = "h"
	cursorServices = "s"
	cursorAttempts = "a"
	cursorMachines = "m"
	cursorOffers   = "o"
	cursorSurvey   = "y"
)

func encodeCursor(list, after string) *string {
	return new(base64.RawURLEncoding.EncodeToString([]byte(list + after)))
}

// cursor returns where the last page ended, "" for the first page.
func (p *params) cursor(list string) string {
	s := p.text("cursor")
	if s == "" {
		return ""
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	after, ok := strings.CutPrefix(string(b), list)
	if err != nil || !ok || after == "" {
		p.fault("cursor", "is not a next_cursor of this list")
		return ""
	}
	return after
}

// idCursor is cursor for lists in the order of ids.
func (p *params) idCursor(list string) uuid.UUID {
	s := p.cursor(list)
	if s == "" {
		return uuid.Nil
	}
	id, ok := parseID(s)
	if !ok {
		p.fault("cursor", "is not a next_cursor of this list")
	}
	return id
}

// parseID reads an id in its one usual spelling.
func parseID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil && id != uuid.Nil
}

// size reads a minimum; what is plausible is the allocator's to say.
func (p *params) size(name string) int { return int(p.whole(name)) }

// respell changes a parameter's values before they are read.
func (p *params) respell(name string, f func(string) string) {
	for i, s := range p.values[name] {
		p.values[name][i] = f(s)
	}
}

// strayQuery lists the parameters of a request that takes none: a constraint there is refused by
// name, not ignored.
func strayQuery(r *http.Request) []allocator.Fault {
	if r.URL.RawQuery == "" {
		return nil
	}
	q := query(r)
	_ = q.done()
	return q.faults
}
