package accounts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var (
	slugPattern     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	emailPattern    = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	languagePattern = regexp.MustCompile(`^([a-z]{2,3}(-[A-Za-z0-9]{2,8})*)?$`)
)

// maxCap bounds the caps of an organisation; more is a typing error.
const maxCap = 1_000_000

func checkSlug(slug string) error {
	if !slugPattern.MatchString(slug) {
		return &Invalid{"slug", "1 to 63 lower-case letters, digits and hyphens, not at an end"}
	}
	return nil
}

// cleanName trims and checks a name of a person, organisation or token: it appears in pages,
// mails and logs.
func cleanName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", &Invalid{"name", "must be text without control characters"}
	}
	if n := utf8.RuneCountInString(name); n < 1 || n > 200 {
		return "", &Invalid{"name", "1 to 200 characters"}
	}
	return name, nil
}

// cleanEmail gives the address as it is kept: trimmed, in lower case.
func cleanEmail(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	bad := !utf8.ValidString(email) || len(email) > 254 || !emailPattern.MatchString(email) ||
		strings.ContainsFunc(email, unicode.IsControl)
	if bad {
		return "", &Invalid{"email", "must be an address such as name@example.com, at most 254 bytes"}
	}
	return email, nil
}

// ParseRole reads a role as the commands and the API spell it.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(Roles(), r) {
		return r, nil
	}
	return "", &Invalid{"role", "must be customer, org-admin, sales or operator"}
}

// checkOrgOfRole holds that customers and org admins belong to an organisation and staff to none.
func checkOrgOfRole(role Role, slug string) error {
	if _, err := ParseRole(string(role)); err != nil {
		return err
	}
	if role.Staff() && slug != "" {
		return &Invalid{"org", fmt.Sprintf("role %s belongs to no organisation: leave it out", role)}
	}
	if !role.Staff() && slug == "" {
		return &Invalid{"org", fmt.Sprintf("role %s needs an organisation", role)}
	}
	return nil
}

func checkCap(field string, n int) error {
	if n < 0 || n > maxCap {
		return &Invalid{field, fmt.Sprintf("0 to %d", maxCap)}
	}
	return nil
}

func checkTimeZone(zone string) error {
	// LoadLocation takes the machine's own zone for "Local", which means nothing to a person.
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return &Invalid{"time_zone", "must be a name such as Europe/Berlin"}
	}
	return nil
}

func checkLanguage(language string) error {
	if !languagePattern.MatchString(language) {
		return &Invalid{"language", "must be a tag such as en or de-AT, or empty"}
	}
	return nil
}

func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if n := utf8.RuneCountInString(reason); n < 1 || n > 500 || strings.ContainsRune(reason, 0) || !utf8.ValidString(reason) {
		return "", &Invalid{"reason", "1 to 500 characters"}
	}
	return reason, nil
}
