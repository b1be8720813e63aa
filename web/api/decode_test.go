package api

import (
	"encoding/json"
	"strings"
	"testing"

	"ironhold/allocator"
)

// Whatever is sent, reading it neither fails nor disagrees with encoding/json about what is JSON,
// and what is read without fault is what encoding/json reads.
func FuzzOrder(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"sites":["A"],"min_ram_gb":64,"ecc":true,"max_price_month_minor":5}`, `{"a":1,"a":2}`, `[]`, `{"min_cores":1e5}`,
		`{"cpu":"\ud800"}`, `{"cpu":null}`, "\xff", `{"machine":"x"} {}`, `{"features":["a","b"]}`, `{"vendors":[[[[]]]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := parse(body)
		if err != nil {
			if len(body) < 1000 && json.Valid(body) && !strings.Contains(err.Error(), "UTF-8") && !strings.Contains(err.Error(), "nested") {
				t.Errorf("refused JSON %q: %v", body, err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted %q", body)
		}
		var got, want allocator.Request
		if len(readObject(v, orderFields(&got))) > 0 {
			return
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("read %s, want %s", a, b)
		}
	})
}

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"A-1", "odd/tag%2f", strings.Repeat("~", 64)} {
		p := &params{values: map[string][]string{"cursor": {*encodeCursor(cursorMachines, tag)}}}
		if got := p.cursor(cursorMachines); got != tag || len(p.faults) > 0 {
			t.Errorf("%q: %q %v", tag, got, p.faults)
		}
	}
}
