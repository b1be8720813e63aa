package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ironhold/web"
)

// While the process starts, programs get a problem document like any other, people a page that looks
// like any other, with its style sheet, in their language.
func TestStartingIsSaidInTheProductsLayout(t *testing.T) {
	t.Parallel()
	g := &gate{starting: web.Starting(slog.New(slog.DiscardHandler), false)}
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Header.Set("Accept-Language", "de")
		g.ServeHTTP(w, r)
		return w
	}
	for path, want := range map[string]string{
		"/api/v1/orders": "application/problem+json", "/": "text/html; charset=utf-8", "/offers": "text/html; charset=utf-8", "/readyz": "application/json",
	} {
		w := ask(http.MethodPost, path)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != want || w.Header().Get("Retry-After") != "2" ||
			!strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if w := ask(http.MethodGet, "/healthz"); w.Code != http.StatusOK {
		t.Errorf("not alive: %d", w.Code)
	}
	w := ask(http.MethodPost, "/api/v1/holds")
	var doc struct {
		Type, Instance string
		Status         int
		RequestID      string `json:"request_id"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Type != "/problems/busy" || doc.Status != 503 ||
		doc.Instance != "/api/v1/holds" || doc.RequestID == "" || doc.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("%v: %s", err, w.Body)
	}
	page := ask(http.MethodGet, "/offers").Body.String()
	if !strings.Contains(page, `lang="de"`) || !strings.Contains(page, `data-outcome="busy"`) || !strings.Contains(page, "Ironhold") {
		t.Errorf("the page: %.800s", page)
	}
	_, style, _ := strings.Cut(page, `rel="stylesheet" href="`)
	style, _, _ = strings.Cut(style, `"`)
	if w := ask(http.MethodGet, style); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("its style sheet %q: %d", style, w.Code)
	}
}

// Who is asked to go says that it is not ready, and goes on serving.
func TestLeavingServes(t *testing.T) {
	t.Parallel()
	g := &gate{}
	g.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	if !g.leave() {
		t.Error("nobody is told")
	}
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/healthz": http.StatusNoContent, "/order": http.StatusNoContent} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || w.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}
