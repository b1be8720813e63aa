package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ContentType of a problem document.
const ContentType = "application/problem+json"

type document struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance"`
	RequestID string `json:"request_id"`
	Extra
}

// Write answers with the problem as an RFC 9457 document.
func Write(w http.ResponseWriter, r *http.Request, p *Problem, requestID string) {
	body, err := json.Marshal(document{
		Type: p.Type(), Title: p.Title, Status: p.Status, Detail: p.Detail,
		Instance: r.URL.EscapedPath(), RequestID: requestID, Extra: p.Extra,
	})
	if err != nil {
		// Only a value of a near miss could do this; the document is complete without extras.
		body, _ = json.Marshal(document{
			Type: p.Type(), Title: p.Title, Status: p.Status, Detail: p.Detail,
			Instance: r.URL.EscapedPath(), RequestID: requestID,
		})
	}
	Headers(w, p)
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

// Headers sets the headers that a problem brings, whatever its body: Retry-After, Allow,
// WWW-Authenticate.
func Headers(w http.ResponseWriter, p *Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(p.RetryAfter)))
	}
	if p.Allow != nil {
		w.Header().Set("Allow", strings.Join(p.Allow, ", "))
	}
	if p.Challenge != "" {
		w.Header().Set("WWW-Authenticate", p.Challenge)
	}
}

// seconds rounds up, so that nobody comes back too early.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
