package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/alexedwards/scs/v2"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// pages holds what the page handlers share.
type pages struct {
	sessions *scs.SessionManager
	streams  streams
	known    known

	// What the forms offer to choose from changes rarely; see choices.
	mu      sync.Mutex
	choices choices
}

// initPages builds what the pages need, before the routes are listed.
func (s *server) initPages() error {
	s.pages = &pages{sessions: s.newSessions()}
	return nil
}

// locale is the language and the time zone of whoever asks.
func (s *server) locale(r *http.Request) i18n.Locale {
	actor := request.Actor(r.Context())
	zone, err := time.LoadLocation(actor.TimeZone)
	if err != nil || actor.TimeZone == "Local" {
		zone = time.UTC
	}
	return i18n.Locale{
		Lang: i18n.Match(r.Header.Get("Accept-Language"), actor.Language, s.cookie(r, "language")),
		Zone: zone,
	}
}

func (s *server) cookie(r *http.Request, name string) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// dress gives the context what surrounds every page. path is where the page can be asked for again
// by GET, "" for where it is.
func (s *server) dress(r *http.Request, path string) context.Context {
	ctx := r.Context()
	info := request.From(ctx)
	sh := views.Shell{Mails: s.Mail != nil, Path: path, RequestID: info.ID, Now: time.Now()} //nolint:forbidigo // only to say "today"
	if sh.Path == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		sh.Path = r.URL.RequestURI()
	}
	if theme := s.cookie(r, "theme"); theme == "light" || theme == "dark" {
		sh.Theme = theme
	}
	ctx = i18n.With(ctx, s.locale(r))
	if info.Known {
		sh.Person = personOf(info.Actor)
		if hasSession(ctx) {
			sh.Waits = s.waits(ctx, info.Actor)
			if key := s.pages.sessions.PopString(ctx, noticeKey); key != "" {
				sh.Notice = i18n.T(ctx, key)
			}
		}
	}
	return views.WithShell(ctx, sh)
}

func personOf(a accounts.Actor) *views.Person {
	can := func(f accounts.Function) bool { return accounts.Can(a.Role, f) }
	return &views.Person{
		Name: a.Name, Email: a.Email, Role: string(a.Role), Org: a.OrgName, OrgSlug: a.OrgSlug, Staff: a.Role.Staff(),
		Can: views.Can{
			Order: mayOrder(a), Desk: can(accounts.SeeAttempts), Fleet: can(accounts.SeeFleet),
			FleetWrite: can(accounts.FleetWrite), OrgRollout: a.Role == accounts.OrgAdmin, History: can(accounts.SeeHistory), Org: can(accounts.ManageMembers), Launch: can(accounts.RolloutLaunch),
		},
	}
}

func mayOrder(a accounts.Actor) bool {
	return accounts.Can(a.Role, accounts.Order) || accounts.Can(a.Role, accounts.OrderOnBehalf)
}

// render answers with a page.
func (s *server) render(w http.ResponseWriter, r *http.Request, status int, page templ.Component) error {
	return s.renderAt(w, r, status, "", page)
}

// renderAt is render for a page that answers a POST: path is where GET shows the like of it.
func (s *server) renderAt(w http.ResponseWriter, r *http.Request, status int, path string, page templ.Component) error {
	var body bytes.Buffer
	if err := page.Render(s.dress(r, path), &body); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Language, Cookie")
	w.WriteHeader(status)
	_, _ = w.Write(shown(&body))
	return nil
}

// shown is what was rendered as text: what people sent and a page repeats may be any bytes.
func shown(body *bytes.Buffer) []byte {
	if utf8.Valid(body.Bytes()) {
		return body.Bytes()
	}
	return bytes.ToValidUTF8(body.Bytes(), []byte("\uFFFD"))
}

// renderPart answers with a part of a page, for a script. A notice that waits for the next page is
// left for it.
func (s *server) renderPart(w http.ResponseWriter, r *http.Request, part templ.Component) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	ctx = views.WithShell(ctx, views.Shell{Person: personOf(request.Actor(ctx)), Now: time.Now()}) //nolint:forbidigo // only to say "today"
	var body bytes.Buffer
	if err := part.Render(ctx, &body); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Language, Cookie")
	_, _ = w.Write(shown(&body))
	return nil
}

// seeOther sends the browser to an own page by GET.
func seeOther(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// ownPath lets only addresses of this site through, for redirects that a form asks for.
func ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || oddPath(u) {
		return "/"
	}
	return next
}

// problemPage answers with the page of a problem, with its status; its headers are set already.
func (s *server) problemPage(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	page := views.Problem(views.ProblemPage{Name: string(p.Name), Status: p.Status, Wait: int(p.RetryAfter.Seconds())})
	path := ""
	if p.Name == problem.Unauthenticated {
		path = s.wayBack(r)
		m := s.signInForm(r, path)
		m.Asked = true
		page = views.SignIn(m)
	}
	if err := s.renderAt(w, r, p.Status, path, page); err != nil {
		s.Logger.ErrorContext(r.Context(), "page of a problem", "request_id", request.ID(r.Context()), "error", err.Error())
		http.Error(w, p.Title, p.Status)
	}
}

// wayBack is where somebody wants to be once signed in. An order that was sent after the session
// had ended comes back as its review, with everything that was entered.
func (s *server) wayBack(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return ownPath(r.URL.RequestURI())
	}
	if r.Method == http.MethodPost && r.URL.Path == "/order" {
		r.Body = http.MaxBytesReader(nil, r.Body, defaultMaxBody)
		if err := r.ParseForm(); err == nil {
			f := r.PostForm
			f.Set("step", "review")
			return "/order?" + f.Encode()
		}
	}
	if path, _, ok := cutLast(r.URL.Path); ok && strings.HasPrefix(path, "/holds/") || strings.HasPrefix(path, "/services/") {
		return ownPath(path)
	}
	return "/"
}

func cutLast(path string) (before, after string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}

// form reads a posted form; what is no form is a bad request.
func form(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, tooLarge
		}
		return nil, problem.Unreadable("The form cannot be read.")
	}
	return r.PostForm, nil
}

// forbidden is the answer where a role lacks a function that its route does not name.
func forbidden() error {
	return problem.New(problem.Forbidden, "Your role does not include this function.")
}
