package web

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5/middleware"

	"ironhold/web/problem"
	"ironhold/web/request"
)

// identify gives the request its id. One from outside is not taken over: it would end up in the
// history.
func (s *server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := &request.Info{ID: request.NewID()}
		w.Header().Set("X-Request-Id", info.ID)
		next.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
	})
}

// accessLog writes one line for each request: no query, no header, no body, so no secret.
func (s *server) accessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now() //nolint:forbidigo // a duration for the log
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		info := request.From(r.Context())
		info.Log = sync.OnceFunc(func() {
			attrs := []slog.Attr{
				slog.String("request_id", info.ID), slog.String("method", r.Method), slog.String("path", r.URL.Path),
				slog.String("route", info.Route), slog.Int("status", ww.Status()), slog.Int("bytes", ww.BytesWritten()),
				slog.Int64("us", time.Since(start).Microseconds()),
			}
			if info.Known {
				attrs = append(attrs, slog.String("actor", info.Actor.Kind+":"+info.Actor.ID.String()))
			}
			if info.Problem != "" {
				attrs = append(attrs, slog.String("problem", info.Problem))
			}
			s.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
		})
		defer info.Log()
		s.noteProxy(r)
		next.ServeHTTP(ww, r)
	})
}

// recover turns a panic into the answer "internal", unless a part of the answer is out already.
func (s *server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(fault)
			}
			s.Logger.ErrorContext(r.Context(), "panic", "request_id", request.ID(r.Context()), "fault", fault, "stack", string(debug.Stack()))
			if ww, ok := w.(middleware.WrapResponseWriter); ok && ww.Status() != 0 {
				panic(http.ErrAbortHandler)
			}
			s.fail(w, r, isAPI(r.URL.Path), problem.From(errPanic{}))
		}()
		next.ServeHTTP(w, r)
	})
}

// errPanic stands for a panic whose words are in the log already.
type errPanic struct{}

func (errPanic) Error() string { return "panic, see the line before" }

// headers sets what every response carries, errors included, and the nonce that pages' own
// scripts need.
func (s *server) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce := newNonce()
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'nonce-"+nonce+"'; style-src 'self'; "+
			"img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "+
			"frame-ancestors 'none'; object-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not no-referrer: with it browsers send "Origin: null" with our own forms.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		// Static assets, whose address has their hash, set their own.
		h.Set("Cache-Control", "no-store")
		if s.Secure {
			h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
		}
		next.ServeHTTP(w, r.WithContext(templ.WithNonce(r.Context(), nonce)))
	})
}

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// sameOrigin refuses requests of pages that could change something and come from another site.
func (s *server) sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.protect.Check(r); err != nil {
			s.failOutside(w, r, problem.New(problem.CrossOrigin, "The form was sent from another site and was not carried out."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// strictPath has one spelling for each address: what a proxy might read differently (doubled
// slashes, dot segments, control characters) is nothing that exists here. The router matches paths
// as they were sent, so that an escaped letter or slash makes another address.
func (s *server) strictPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if oddPath(r.URL) {
			s.notFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func oddPath(u *url.URL) bool {
	sent := u.EscapedPath()
	if !strings.HasPrefix(sent, "/") || strings.Contains(sent, "//") {
		return true
	}
	for segment := range strings.SplitSeq(sent, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return strings.ContainsFunc(u.Path, unicode.IsControl) || !utf8.ValidString(u.Path)
}
