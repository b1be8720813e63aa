package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"ironhold/web"
)

// gate stands before the site: until it is there somebody else answers, and once it is to close it tells
// those who ask whether to send anybody here.
//
//	starting (not ready) -> open -> leaving (not ready, still serving) -> closed
type gate struct {
	starting http.Handler
	handler  atomic.Pointer[http.Handler]
	leaving  atomic.Bool
}

func (g *gate) open(h http.Handler) { g.handler.Store(&h) }

// leave lets whoever spreads the requests know before the listener closes. It reports whether there is
// anybody to be told.
func (g *gate) leave() bool {
	g.leaving.Store(true)
	return g.handler.Load() != nil
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.leaving.Load() {
		// The next request of this client shall find another process, and no half-closed connection.
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/readyz" {
			web.NotReady(w)
			return
		}
	}
	if h := g.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	g.starting.ServeHTTP(w, r)
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
