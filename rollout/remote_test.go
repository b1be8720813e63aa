package rollout_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"ironhold/rollout"
)

// flagServer answers as an OFREP server does.
func flagServer(t *testing.T, answer func(w http.ResponseWriter, flag string, context map[string]any)) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ofrep/v1/evaluate/flags/{key}", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Context map[string]any `json:"context"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		answer(w, r.PathValue("key"), body.Context)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func remoteFlags(t *testing.T, base string) *rollout.Flags {
	t.Helper()
	provider, err := rollout.NewRemote(base)
	if err != nil {
		t.Fatal(err)
	}
	f := rollout.NewFlags(t.Context(), provider, nil, nil)
	t.Cleanup(func() { _ = f.Close(t.Context()) })
	return f
}

func TestRemoteProvider(t *testing.T) {
	t.Parallel()
	in, out := uuid.New(), uuid.New()
	var role atomic.Value
	f := remoteFlags(t, flagServer(t, func(w http.ResponseWriter, flag string, context map[string]any) {
		if flag != rollout.FlagOrdering {
			t.Errorf("asked for %q", flag)
		}
		role.Store(context["role"])
		on := context["targetingKey"] == in.String() && context["organisation"] == in.String()
		variant := "not_opted_in"
		if on {
			variant = "org_on"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"key": flag, "value": on, "variant": variant, "reason": "TARGETING_MATCH"})
	}))
	if o := f.Ordering(t.Context(), in, "sales"); !o.On || !o.Known || o.Reason != "org_on" || o.Stale {
		t.Errorf("in: %+v", o)
	}
	if role.Load() != "sales" {
		t.Errorf("the role was told as %v", role.Load())
	}
	if o := f.Ordering(t.Context(), out, "customer"); o.On || !o.Known || o.Reason != "not_opted_in" {
		t.Errorf("out: %+v", o)
	}
	if f.Provider() == rollout.ProviderName || f.State() != "READY" {
		t.Errorf("%s is %s", f.Provider(), f.State())
	}
	f.Refresh(t.Context()) // nothing of ours to read
}

// What cannot be asked, or answers nonsense, is off and not known.
func TestRemoteProviderAway(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"error": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"no flag": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"key":"ordering","errorCode":"FLAG_NOT_FOUND"}`))
		},
		"text": func(w http.ResponseWriter) { _, _ = w.Write([]byte("on")) },
		"no bool": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"key":"ordering","value":"true","reason":"STATIC"}`))
		},
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		f := remoteFlags(t, flagServer(t, func(w http.ResponseWriter, _ string, _ map[string]any) { answer(w) }))
		if o := f.Ordering(t.Context(), uuid.New(), "customer"); o.On || o.Known {
			t.Errorf("%s: %+v", name, o)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if o := remoteFlags(t, gone.URL).Ordering(t.Context(), uuid.New(), "customer"); o.On || o.Known {
		t.Errorf("away: %+v", o)
	}
}

func TestRemoteAddress(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "flags.example", "ftp://flags.example", "https://", "https://a:b@flags.example", "https://flags.example?x=1"} {
		if _, err := rollout.NewRemote(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
