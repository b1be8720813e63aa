package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// mails says what became of them, and shows those of a trial.
func (s *server) mails(w http.ResponseWriter, r *http.Request) error {
	after, rows := listPage(r), listSizes.of(r)
	list, err := notify.Records(r.Context(), s.DB, after, rows+1)
	if err != nil {
		return err
	}
	m := views.MailsPage{Trial: s.Caught != nil}
	if s.Mail != nil {
		m.Server = s.Mail.Server()
	}
	for _, v := range list[:min(len(list), rows)] {
		m.Items = append(m.Items, views.MailRow{Kind: v.Kind, To: v.To, State: v.State, Why: v.Why, Attempts: v.Attempts, CreatedAt: v.CreatedAt})
	}
	last := uuid.Nil
	if len(list) > rows {
		last = list[rows-1].ID
	}
	first, next := pageLinks("/admin/mail", "", "", after != uuid.Nil, last)
	m.Pager = listSizes.pager(r, first, next, len(m.Items))
	if s.Caught != nil {
		for _, c := range s.Caught.All() {
			m.Caught = append(m.Caught, caughtRow(c))
		}
	}
	return s.render(w, r, http.StatusOK, views.Mails(m))
}

func caughtRow(c mailcatch.Caught) views.CaughtRow {
	return views.CaughtRow{N: c.N, To: c.To, Subject: c.Subject, At: c.At}
}

func (s *server) caughtMail(w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.Atoi(request.PathValue(r, "n"))
	if err != nil || s.Caught == nil {
		return problem.NoSuch()
	}
	c, ok := s.Caught.Get(n)
	if !ok {
		return problem.NoSuch()
	}
	return s.render(w, r, http.StatusOK, views.Caught(views.CaughtPage{CaughtRow: caughtRow(c), Text: c.Text}))
}

// forgotForm is there where mail is: elsewhere an administrator makes the link.
func (s *server) forgotForm(w http.ResponseWriter, r *http.Request) error {
	if s.Mail == nil {
		return problem.NoSuch()
	}
	return s.render(w, r, http.StatusOK, views.Forgot(views.ForgotPage{}))
}

// forgotTime is how long the answer takes at least: longer than making a link, so that the time does
// not tell whether there is an account.
const forgotTime = 300 * time.Millisecond

// forgot answers the same whoever is named, and counts against the network that asks.
func (s *server) forgot(w http.ResponseWriter, r *http.Request) error {
	if s.Mail == nil {
		return problem.NoSuch()
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	if s.tooManyGuesses(r) {
		return tooManyLinks()
	}
	s.countGuess(r)
	answered := time.After(forgotTime)
	ctx := i18n.With(r.Context(), s.locale(r))
	email := strings.TrimSpace(f.Get("email"))
	err = s.Accounts.Forgot(ctx, request.ID(ctx), email)
	if _, ok := errors.AsType[*accounts.Invalid](err); ok {
		m := views.ForgotPage{Email: email, Faults: []views.Fault{{Field: "email", Message: i18n.T(ctx, "invite.fault.email")}}}
		return s.renderAt(w, r, http.StatusUnprocessableEntity, "/forgot", views.Forgot(m))
	}
	if err != nil {
		return err
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
	return s.renderAt(w, r, http.StatusOK, "/forgot", views.ForgotSent(email))
}
