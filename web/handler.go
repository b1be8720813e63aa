package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"ironhold/accounts"
	"ironhold/static"
	"ironhold/web/api"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// handler answers a request or returns why not; it writes no error responses itself. What it
// returns must not have been preceded by a part of another answer.
type handler func(w http.ResponseWriter, r *http.Request) error

// adapt turns a route into an http.Handler: who asks, may they, then the handler; every error
// becomes one problem, as a document for the API and as a page otherwise.
func (s *server) adapt(rt route) http.Handler {
	limit := rt.maxBody
	if limit == 0 {
		limit = defaultMaxBody
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		info.Method, info.Route = rt.method, rt.pattern
		err := destination(rt, r)
		if err == nil {
			err = s.admit(w, r, rt, limit)
		}
		if errors.As(err, new(mustEnrol)) {
			_ = seeOther(w, r, "/account/factors")
			return
		}
		if err != nil {
			s.fail(w, r, rt.api, err)
			return
		}
		if err := rt.handle(w, r); err != nil {
			s.fail(w, r, rt.api, err)
		}
	})
	if rt.api {
		return serve
	}
	return s.sameOrigin(s.withSession(serve))
}

// destination refuses what a browser asks for to run or show inside another page, where it says so:
// nothing here is a script, a picture or a frame but the assets.
func destination(rt route, r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "", "document", "empty":
		return nil
	}
	if strings.HasPrefix(rt.pattern, static.Prefix) || strings.HasPrefix(rt.pattern, JobsPrefix) {
		return nil
	}
	return problem.New(problem.Forbidden, "This is no part of another page.")
}

// admit finds out who asks and whether they may, and bounds the body.
func (s *server) admit(w http.ResponseWriter, r *http.Request, rt route, limit int64) error {
	if err := s.authenticate(r, rt); err != nil {
		return err
	}
	info := request.From(r.Context())
	if !rt.public {
		if !info.Known {
			return problem.Stranger(challengeFor(rt))
		}
		if !rt.allows(info.Actor.Role) {
			return problem.New(problem.Forbidden, "Your role does not include this function.")
		}
		if !rt.api && !rt.enrol && s.factorMissing(r.Context(), info.Actor) {
			return mustEnrol{}
		}
	}
	if rt.api {
		if err := api.Acceptable(r); err != nil {
			return err
		}
	}
	if rt.begins && s.orders != nil && info.Known {
		if err := s.orders.take(w, info.Actor.Kind+":"+info.Actor.ID.String()); err != nil {
			return err
		}
	}
	if r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	return nil
}

// authenticate sets the request's actor: by the bearer token for the API, by the session for
// pages, never the one for the other.
func (s *server) authenticate(r *http.Request, rt route) error {
	info := request.From(r.Context())
	if !rt.api {
		actor, ok, err := s.sessionActor(r, rt.passive || digestAsked(r))
		if err != nil {
			return err
		}
		info.Actor, info.Known = actor, ok
		return nil
	}
	if rt.public {
		return nil
	}
	token, ok := api.BearerToken(r)
	if !ok {
		return nil
	}
	actor, err := s.Accounts.ActorOfToken(r.Context(), token)
	if _, refused := errors.AsType[*accounts.Unauthenticated](err); refused {
		return problem.Stranger(api.InvalidToken)
	}
	if err != nil {
		return err
	}
	info.Actor, info.Known = actor, true
	return nil
}

func challengeFor(rt route) string {
	if rt.api {
		return api.Challenge
	}
	return ""
}

// fail answers with the problem of err. What is unexpected is logged with its cause, and the
// answer says only under which id.
func (s *server) fail(w http.ResponseWriter, r *http.Request, document bool, err error) {
	p := problem.From(err)
	info := request.From(r.Context())
	info.Problem = string(p.Name)
	if cause := p.Unwrap(); cause != nil {
		level := slog.LevelError
		if p.RetryAfter > 0 { // it passes by itself
			level = slog.LevelWarn
		}
		if errors.Is(r.Context().Err(), context.Canceled) {
			level = slog.LevelInfo // the client went away; nobody reads the answer
		}
		s.Logger.Log(r.Context(), level, "request failed", "request_id", info.ID, "route", info.Route,
			"problem", info.Problem, "error", cause.Error())
	}
	if document {
		problem.Write(w, r, p, info.ID)
		return
	}
	problem.Headers(w, p)
	s.problemPage(w, r, p)
}

// isAPI tells for addresses outside the list of routes whether a program or a person asks.
func isAPI(path string) bool {
	path = "/" + strings.TrimLeft(path, "/")
	return path == "/api" || strings.HasPrefix(path, "/api/") || path == "/healthz" || path == "/readyz"
}

func (s *server) notFound(w http.ResponseWriter, r *http.Request) {
	s.failOutside(w, r, problem.NoSuch())
}

// methodNotAllowed answers 405 with the methods that the address takes, and OPTIONS with them
// alone: there is no cross-origin use of the API, so no CORS header is ever sent.
func (s *server) methodNotAllowed(mux *chi.Mux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if r.URL.RawPath != "" {
			path = r.URL.RawPath
		}
		var allow []string
		for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			if mux.Match(chi.NewRouteContext(), m, path) {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 {
			s.notFound(w, r)
			return
		}
		p := problem.New(problem.MethodNotAllowed, "This address takes "+strings.Join(allow, ", ")+".")
		p.Allow = append(allow, http.MethodOptions)
		if r.Method == http.MethodOptions {
			problem.Headers(w, p)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		s.failOutside(w, r, p)
	}
}

// failOutside answers where no route matched. Pages still get their session, so that the page
// around the problem knows who looks at it.
func (s *server) failOutside(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	if isAPI(r.URL.Path) {
		s.fail(w, r, true, p)
		return
	}
	s.withSession(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		if actor, ok, err := s.sessionActor(r, false); err == nil {
			info.Actor, info.Known = actor, ok
		}
		s.fail(w, r, false, p)
	})).ServeHTTP(w, r)
}
