package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// While the process starts, programs get a problem document like any other, people a line of text.
func TestStartingIsAProblemDocument(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api/v1/orders": "application/problem+json", "/": "text/plain; charset=utf-8", "/readyz": "text/plain; charset=utf-8",
	} {
		w := httptest.NewRecorder()
		(&gate{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}")))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != want || w.Header().Get("Retry-After") != "2" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if want != "application/problem+json" {
			continue
		}
		var doc struct {
			Type, Instance string
			Status         int
			RequestID      string `json:"request_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Type != "/problems/busy" || doc.Status != 503 ||
			doc.Instance != path || doc.RequestID == "" || doc.RequestID != w.Header().Get("X-Request-Id") {
			t.Errorf("%v: %s", err, w.Body)
		}
	}
}
