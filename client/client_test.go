package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, n int32)
		exit   int // 0: an answer
		tries  int32
	}{
		{"busy twice", func(w http.ResponseWriter, n int32) {
			if n < 3 {
				refuse(w, 503, "busy")
				return
			}
			_, _ = w.Write([]byte(`{"id":"x"}`))
		}, 0, 3},
		{"a gateway's fault", func(w http.ResponseWriter, n int32) {
			if n < 2 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = w.Write([]byte(`{"id":"x"}`))
		}, 0, 2},
		{"a refusal", func(w http.ResponseWriter, _ int32) { refuse(w, 409, "none-left") }, ExitCode("none-left"), 1},
		{"a redirect", func(w http.ResponseWriter, _ int32) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
		}, 1, 1},
		{"a page", func(w http.ResponseWriter, _ int32) { w.WriteHeader(http.StatusNotFound) }, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			var keys [8]string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := tries.Add(1)
				keys[n] = r.Header.Get("Idempotency-Key")
				c.answer(w, n)
			}))
			t.Cleanup(server.Close)
			api, err := New(server.URL, "token")
			if err != nil {
				t.Fatal(err)
			}
			_, err = api.Hold(t.Context(), Order{}, "one")
			code := 0
			if p, ok := errors.AsType[*Problem](err); ok {
				code = ExitCode(p.Name())
			} else if err != nil {
				code = 1
			}
			if code != c.exit || tries.Load() != c.tries {
				t.Errorf("%v after %d tries", err, tries.Load())
			}
			for n := range tries.Load() {
				if keys[n+1] != "one" {
					t.Errorf("try %d had the key %q", n+1, keys[n+1])
				}
			}
		})
	}
}

func refuse(w http.ResponseWriter, status int, name string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"type":"/problems/` + name + `","status":1}`))
}

// A server that says nothing is given up in the end, and that is told apart from a refusal.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	api, err := New(server.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	api.Attempt, api.Patience = 50*time.Millisecond, 400*time.Millisecond
	if _, err = api.Confirm(t.Context(), "x", Setup{}); err == nil {
		t.Fatal("an answer from nobody")
	}
	if _, ok := errors.AsType[*NoAnswer](err); !ok {
		t.Errorf("%v", err)
	}
	for _, address := range []string{"", "portal.example", "ftp://x", "http://"} {
		if _, err := New(address, "token"); err == nil {
			t.Errorf("%q is taken as an address", address)
		}
	}
}
