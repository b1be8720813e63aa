package views

import (
	"context"
	"slices"
	"strings"
	"time"

	"ironhold/views/i18n"
)

// AccountPage is about the person who is signed in.
type AccountPage struct {
	Language string // chosen: a language or "" for the browser's
	Zone     string // as typed
	Zones    []string
	Sessions []SessionRow
	Faults   []Fault

	NewEmail      string // an address that waits for its link to be opened
	NewEmailUntil time.Time
}

// SessionRow is one place where the person is signed in.
type SessionRow struct {
	ID, Agent, Network string
	Since, Seen        time.Time
	This               bool
}

// PasswordPage changes the person's own password. What was typed is never shown again.
type PasswordPage struct {
	Email  string
	Faults []Fault
}

// DetailsPage changes the person's own name and address.
type DetailsPage struct {
	Name, Email string // as typed
	Faults      []Fault
}

func languageChoices(ctx context.Context, chosen string) []Choice {
	out := []Choice{{Value: "", Label: t(ctx, "account.language_browser"), Chosen: chosen == ""}}
	for _, l := range i18n.Languages() {
		out = append(out, Choice{Value: l, Label: languageName(l), Chosen: l == chosen})
	}
	return out
}

func themeChoices(ctx context.Context) []Choice {
	var out []Choice
	for _, theme := range []string{"system", "light", "dark"} {
		chosen := theme == shell(ctx).Theme || theme == "system" && shell(ctx).Theme == ""
		out = append(out, Choice{Value: theme, Label: t(ctx, "theme."+theme), Chosen: chosen})
	}
	return out
}

// hinted reports whether any of the choices explains itself.
func hinted(choices []Choice) bool {
	return slices.ContainsFunc(choices, func(c Choice) bool { return c.Hint != "" })
}

// device says in words which browser on which system a session is: names that browsers tell about
// themselves, so no more than a hint.
func device(ctx context.Context, agent string) string {
	browser, system := firstIn(agent, browsers), firstIn(agent, systems)
	switch {
	case browser != "" && system != "":
		return t(ctx, "account.device", "browser", browser, "system", system)
	case browser != "":
		return browser
	case system != "":
		return system
	}
	return t(ctx, "account.device_unknown")
}

// sign is what a browser's description of itself contains, the telling ones first.
type sign struct{ part, name string }

var (
	browsers = []sign{
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"OPR/", "Opera"}, {"Vivaldi/", "Vivaldi"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	}
	systems = []sign{
		{"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iPadOS"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}
)

func firstIn(text string, signs []sign) string {
	for _, s := range signs {
		if strings.Contains(text, s.part) {
			return s.name
		}
	}
	return ""
}
