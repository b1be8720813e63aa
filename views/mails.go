package views

import (
	"strings"
	"time"
)

// MailsPage is what became of mails, for operators.
type MailsPage struct {
	Server string // host and port; "" when mail is not configured
	Trial  bool   // mails go nowhere but to this page
	Items  []MailRow
	Pager
	Caught []CaughtRow
}

// MailRow is one mail. Why says more of one that was not sent.
type MailRow struct {
	Kind, To, State, Why string
	Attempts             int
	CreatedAt            time.Time
}

// CaughtRow is one mail of a trial.
type CaughtRow struct {
	N           int
	To, Subject string
	At          time.Time
}

// CaughtPage shows one mail of a trial.
type CaughtPage struct {
	CaughtRow
	Text string
}

// ForgotPage asks whose password was forgotten.
type ForgotPage struct {
	Email  string
	Faults []Fault
}

func mailBadge(state string) (tone, icn string) {
	switch state {
	case "sent":
		return "ok", "check"
	case "failed":
		return "none", "cross"
	case "skipped":
		return "none", "minus"
	}
	return "few", "hourglass"
}

// lines are the paragraphs of the text.
func (c CaughtPage) lines() []string {
	return strings.FieldsFunc(c.Text, func(r rune) bool { return r == '\n' || r == '\r' })
}
