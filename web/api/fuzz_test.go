package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
)

// FuzzQuery reads anything as the parameters of a list: what is taken is within its bounds, a cursor
// that is taken is one that we write, and every fault can be shown.
func FuzzQuery(f *testing.F) {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	for _, s := range []string{
		"", "limit=500&cursor=" + *encodeCursor(cursorMachines, "M-1"), "cursor=" + *encodeCursor(cursorHolds, id.String()), "limit=0", "limit=501", "limit=01",
		"cursor=bQ", "cursor=%00", "since=2026-01-31T12:00:00+01:00", "since=1969-01-01T00:00:00Z", "ecc=yes", "min=99999999999999999999", "a=1&a=2", "%zz", "text=%ff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = raw
		p := query(r)
		limit, after, whole, text := p.limit(), p.cursor(cursorMachines), p.whole("min"), p.text("text")
		_, _, _, at := p.texts("a"), p.flag("ecc"), p.oneOf("state", "held", "expired"), p.time("since")
		_ = p.done()
		if limit < 1 || limit > maxLimit || !utf8.ValidString(text) || len(p.faults) > maxFaults || !at.IsZero() && at.Year() < 1970 {
			t.Fatalf("%q: limit %d, text %q, %d faults, time %s", raw, limit, text, len(p.faults), at)
		}
		if after != "" && *encodeCursor(cursorMachines, after) != p.values.Get("cursor") {
			t.Fatalf("%q: the cursor is read as %q", raw, after)
		}
		for _, fault := range p.faults {
			if !utf8.ValidString(fault.Field) || !utf8.ValidString(fault.Message) {
				t.Fatalf("%q: a fault that cannot be shown: %+q", raw, fault.Field+" "+fault.Message)
			}
		}
		_ = whole
		_ = query(r).idCursor(cursorHolds)
	})
}

// FuzzIdempotencyKey: exactly 1 to 255 visible ASCII characters are a key, as they are.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"", "k", `"quoted"`, " ", "a b", "é", "\x00", "\x7f", "~!", "0123456789012345678901234567890123456789"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header[keyHeader] = []string{text}
		key, faults, err := idempotencyKey(r, true)
		good := len(text) >= 1 && len(text) <= 255
		for i := range len(text) {
			good = good && text[i] > ' ' && text[i] < 0x7f
		}
		if good != (err == nil && len(faults) == 0) || good && key != text {
			t.Fatalf("%q: %q, %v, %v", text, key, faults, err)
		}
	})
}

// FuzzHeaders: what a client says that it takes, and who it is, is read without a fault of ours.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"", "*/*", "application/json;q=0", "text/html, application/*;q=0.5", "a/b;q=x", ",,;", "Bearer x", "bearer  y", "Basic x", `W/"a", "b"`, "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, name := range []string{"Accept", "Authorization", "If-None-Match", "If-Match"} {
			r.Header[name] = []string{text}
		}
		_ = Acceptable(r)
		if token, ok := BearerToken(r); ok && (token == "" || token[0] == ' ') {
			t.Fatalf("%q is read as the token %q", text, token)
		}
	})
}
