package redfish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/redfish"

	"ironhold/provision/driver"
)

const tokenHeader = "X-Auth-Token"

// Bounds of what a BMC may make us do.
const (
	maxRequests  = 60      // until the machine is found; later ones are bounded by time
	maxBody      = 4 << 20 // bytes of one answer
	logoutWithin = 10 * time.Second
)

// session is one call of the driver at one BMC. It is not safe for concurrent use.
type session struct {
	cfg    Config
	task   driver.Task
	ctx    context.Context //nolint:containedctx // gofish keeps one for all requests; ours is per session
	base   http.RoundTripper
	api    *gofish.APIClient
	system *redfish.ComputerSystem

	token    string // of the login; empty before
	location string // of the login, to log out
	requests int
	monitor  string // of the last answer that said: accepted, look here
	tag      string // ETag of what was read last
	// The request that logged in, to send it again; nil while it is being made.
	entry     *http.Request
	entryBody []byte
}

// open connects and logs in; close must follow.
func (d *Driver) open(ctx context.Context, t driver.Task) (*session, error) {
	dial, err := d.dialer(t.Machine)
	if err != nil {
		return nil, err
	}
	s := &session{cfg: d.cfg, task: t, ctx: ctx, base: dial.transport()}
	// The requests' context is s.ctx, except that of the logout: gofish knows only one for all.
	s.api, err = gofish.ConnectContext(context.WithoutCancel(ctx), gofish.ClientConfig{
		Endpoint: "https://" + dial.address,
		HTTPClient: &http.Client{
			Transport:     s,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
	if err != nil {
		return nil, s.failed("find Redfish", err)
	}
	if err := s.login(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *session) login() error {
	auth, err := s.api.Service.CreateSession(s.cfg.User, s.cfg.Password)
	if err != nil {
		return s.failed("log in", err)
	}
	s.token, s.location = auth.Token, auth.Session
	if s.token == "" {
		s.close()
		return errors.New("the BMC gave no token when logging in")
	}
	return nil
}

// loginAgain repeats the login when the BMC forgot it. gofish cannot be asked here: it lets one request
// through at a time, and that is the one which found out.
func (s *session) loginAgain() error {
	s.token, s.location = "", ""
	resp, err := s.send(s.entry, s.entryBody)
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 || resp.Header.Get(tokenHeader) == "" {
		return &BMCError{What: "log in again", Status: resp.StatusCode}
	}
	s.token, s.location = resp.Header.Get(tokenHeader), path(resp.Header.Get("Location"))
	return nil
}

// close logs out, also when the time for all else is over: BMCs have few places for sessions.
func (s *session) close() {
	if s.location == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), logoutWithin)
	defer cancel()
	s.ctx, s.requests = ctx, 0
	_ = s.api.Service.DeleteSession(s.location) // it ends by itself in time
}

// RoundTrip sends one request of gofish's: within the limits, with the login, with the question whether
// the attempt still counts before anything is changed, and with a new login when the BMC forgot the old.
func (s *session) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	switch {
	case s.entry == nil && r.Method == http.MethodPost: // nothing else is posted before the login
		s.entry, s.entryBody = r, body
	case r.Method == http.MethodPatch || r.Method == http.MethodPost:
		if err := driver.Check(s.ctx); err != nil {
			return nil, &staleError{err}
		}
	}
	resp, err := s.send(r, body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || s.token == "" || r.Method == http.MethodDelete {
		return resp, err
	}
	// Refused before anything was done: the same request may be sent again.
	if err := s.loginAgain(); err != nil {
		return nil, err
	}
	return s.send(r, body)
}

// send does one exchange and reads the whole answer.
func (s *session) send(r *http.Request, body []byte) (*http.Response, error) {
	if s.requests++; s.requests > maxRequests && s.system == nil {
		return nil, fmt.Errorf("the BMC needs more than %d requests", maxRequests)
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
	defer cancel()
	r = r.Clone(ctx)
	r.Body, r.ContentLength = http.NoBody, 0
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	r.Header.Set("X-Correlation-Id", fmt.Sprintf("%s/%s/%d", s.task.Service, s.task.Kind, s.task.Attempt))
	if s.token != "" {
		r.Header.Set(tokenHeader, s.token)
	}
	resp, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(answer) > maxBody {
		return nil, fmt.Errorf("the BMC's answer has more than %d bytes", maxBody)
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if r.Method != http.MethodGet {
		s.monitor = ""
	}
	if r.Method == http.MethodGet {
		s.tag = resp.Header.Get("ETag")
	}
	if resp.StatusCode == http.StatusAccepted {
		s.monitor = path(resp.Header.Get("Location"))
	}
	return resp, nil
}

// path is that of a URL, whatever host it names: it is on this BMC or nowhere.
func path(location string) string {
	u, err := url.Parse(location)
	if err != nil || location == "" {
		return ""
	}
	return u.RequestURI()
}

// staleError says that the attempt no longer counts.
type staleError struct{ error }

func (e *staleError) Unwrap() error { return e.error }
