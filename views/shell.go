package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// Shell is what surrounds every page.
type Shell struct {
	Path      string // path and query of this page when it can be asked for again by GET, else ""
	RequestID string
	Theme     string // "light", "dark" or "" for the system's
	Person    *Person
	Notice    string    // a message of the step before, shown once
	Now       time.Time // the server's clock
	Mails     bool      // mails are sent
	Waits     Waits     // what the person's organisation waits for
}

// Person is who is signed in.
type Person struct {
	Name, Email, Role, Org, OrgSlug string
	Staff                           bool
	Can                             Can
}

// Can are the functions that decide about what is shown; what is allowed is decided elsewhere.
type Can struct {
	Order, Desk, Fleet, FleetWrite, OrgRollout, Launch, Org, History bool
}

type shellKey struct{}

// WithShell gives the context what surrounds the page.
func WithShell(ctx context.Context, s Shell) context.Context {
	return context.WithValue(ctx, shellKey{}, s)
}

func shell(ctx context.Context) Shell {
	s, _ := ctx.Value(shellKey{}).(Shell)
	if s.Now.IsZero() {
		s.Now = time.Now()
	}
	return s
}

func person(ctx context.Context) Person {
	if p := shell(ctx).Person; p != nil {
		return *p
	}
	return Person{}
}

// head is what a page says about itself.
type head struct {
	title   string
	nav     string // the entry of the navigation that it belongs to
	outcome string // data-outcome of the main element
	tone    string // colour of the page's verdict
	isError bool   // the title begins with "Error:"
	script  string // a script of its own
	refresh string // address to go to by itself after some seconds
	narrow  bool   // a column of text and forms
	wide    bool
}

func (h head) text(ctx context.Context) string {
	title := h.title + " – Ironhold"
	if h.isError {
		return i18n.T(ctx, "common.error_title", "title", title)
	}
	return title
}

func t(ctx context.Context, key string, args ...any) string { return i18n.T(ctx, key, args...) }

func lang(ctx context.Context) string { return i18n.From(ctx).Lang }

// Fault is one thing wrong with a form. Field is the id of the input; Message is in the person's
// language.
type Fault struct{ Field, Label, Message string }

func faultOf(faults []Fault, field string) string {
	for _, f := range faults {
		if f.Field == field {
			return f.Message
		}
	}
	return ""
}

// Money is an amount in minor units of a currency.
type Money struct {
	Minor    int64
	Currency string
}

// money is an amount with its currency, or without where none was said.
func money(ctx context.Context, m Money) string {
	if m.Currency == "" {
		return i18n.Decimal(ctx, m.Minor, "")
	}
	return i18n.Money(ctx, m.Minor, m.Currency)
}
