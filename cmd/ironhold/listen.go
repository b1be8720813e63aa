package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ironhold/web/problem"
	"ironhold/web/request"
)

// gate answers until the real handler is there: alive, but not ready.
type gate struct {
	handler atomic.Pointer[http.Handler]
}

func (g *gate) open(h http.Handler) { g.handler.Store(&h) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := g.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == "/healthz" {
		fmt.Fprintln(w, "alive")
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		p := problem.New(problem.Busy, "The server is starting: its database is not ready yet. Send the request again in a moment, with the same key if it has one.")
		p.RetryAfter = 2 * time.Second
		id := request.NewID()
		w.Header().Set("X-Request-Id", id)
		problem.Write(w, r, p, id)
		return
	}
	w.Header().Set("Retry-After", "2")
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintln(w, "Ironhold is starting: its database is not ready yet. Try again in a moment.")
}

// listen takes an address; name is the variable to blame.
func listen(ctx context.Context, name, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use by another process: stop it or choose another port", name, address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: this user may not listen on %s: choose a port above 1023", name, address)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// newServer bounds what one client may take: time and header bytes.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serveOn serves until the server is shut down; any other end is sent to failed.
func serveOn(server *http.Server, l net.Listener, failed chan<- error) {
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("listener on %s: %w", l.Addr(), err)
		}
	}()
}

// drain lets running requests end until the context does, then cuts them off.
func drain(ctx context.Context, server *http.Server) {
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close()
	}
}
