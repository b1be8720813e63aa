package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Times in a message do not depend on the zone of the process that relays it.
func TestBodyIsInUTC(t *testing.T) {
	t.Parallel()
	sequence, at := int64(1), time.Date(2026, 12, 1, 15, 5, 0, 0, time.FixedZone("", 3600))
	for _, kind := range []string{"hold", "service"} {
		m := message{ID: uuid.New(), Kind: kind, Event: "begun", At: at, Begun: &at, Facts: json.RawMessage("{}")}
		body, err := m.body("https://portal.example", &sequence)
		if err != nil || strings.Count(string(body), `"2026-12-01T14:05:00Z"`) != 2 {
			t.Errorf("%s, %v", body, err)
		}
		at = at.In(time.FixedZone("", 3600))
	}
}
