package web

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"ironhold/static"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// Starting answers while the process has not reached its database yet: it is alive and not ready, people
// get a page in the product's layout, programs a document; both may come again in a moment.
func Starting(log *slog.Logger, secure bool) http.Handler {
	s := &server{Config: Config{Logger: log, Secure: secure}}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.From(r.Context()).Method = r.Method
		switch {
		case strings.HasPrefix(r.URL.Path, static.Prefix) && static.Handler(w, r):
		case r.URL.Path == "/healthz":
			writeHealth(w, http.StatusOK, `{"status":"ok"}`)
		case r.URL.Path == "/readyz":
			NotReady(w)
		default:
			p := problem.New(problem.Busy, "The server is starting: its database is not ready yet. Send the request again in a moment, with the same key if it has one.")
			p.RetryAfter = 2 * time.Second
			s.fail(w, r, isAPI(r.URL.Path), p)
		}
	})
	return s.identify(s.accessLog(s.headers(s.recover(answer))))
}

// NotReady is what /readyz answers while the process starts or stops.
func NotReady(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "2")
	writeHealth(w, http.StatusServiceUnavailable, `{"status":"unavailable"}`)
}

func writeHealth(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body + "\n"))
}
