package views

import (
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"
)

// FactorsPage is what a person signs in with.
type FactorsPage struct {
	Passkeys    []PasskeyRow
	TOTP        bool // an app gives codes
	Codes       int  // recovery codes that were not used
	Second      bool // a sign-in asks for more than the password
	Must        bool // nothing else can be done before there is a second factor
	Named       bool // the site's address is a name, as passkeys need
	Fresh       bool // the person has just shown who they are
	Company     bool // the company's own sign-in can be connected
	Linked      bool
	CompanyName string
	Faults      []Fault
}

// PasskeyRow is one passkey in the list.
type PasskeyRow struct {
	ID, Name string
	Since    time.Time
	Used     *time.Time
}

// TOTPPage shows the secret of an app that is being set up.
type TOTPPage struct {
	Secret  string // as it is typed
	Picture string // as it is scanned: a data: address
	Faults  []Fault
}

// spaced is the secret in groups of four.
func (m TOTPPage) spaced() string {
	out := ""
	for i, r := range m.Secret {
		if i > 0 && i%4 == 0 {
			out += " "
		}
		out += string(r)
	}
	return out
}

// RecoveryCodesPage shows recovery codes, once.
type RecoveryCodesPage struct{ Codes []string }

// SecondPage asks for the second factor.
type SecondPage struct {
	TOTP, Passkeys, Named bool
	Faults                []Fault
}

// ConfirmPersonPage asks once more who it is.
type ConfirmPersonPage struct {
	Email, Company string
	Named          bool
	Faults         []Fault
}

func codeLabel(ctx context.Context, app bool) string {
	if app {
		return t(ctx, "factor.code")
	}
	return t(ctx, "signin.recovery_code")
}

func signInScript(named bool) string {
	if named {
		return "passkey.js"
	}
	return ""
}

func companyURL(next string) templ.SafeURL {
	if next == "" {
		return "/sign-in/company"
	}
	return templ.SafeURL("/sign-in/company?" + url.Values{"next": {next}}.Encode())
}
