package live

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Reconnect is how long a browser waits before it opens a stream again that was cut.
const Reconnect = 3 * time.Second

// writeTime bounds one write to a page that may have gone.
const writeTime = 10 * time.Second

// Stream is one answer of server-sent events. It is used by one goroutine.
type Stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// Open begins the answer. The server's limits on time, which are made for answers that end, no
// longer apply to it; each write has its own.
func Open(w http.ResponseWriter) (*Stream, error) {
	s := &Stream{w: w, rc: http.NewResponseController(w)}
	if err := s.rc.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy is to pass each event on at once
	w.WriteHeader(http.StatusOK)
	return s, s.write(fmt.Sprintf("retry: %d\n\n", Reconnect.Milliseconds()))
}

// Send writes one event; data is one line.
func (s *Stream) Send(event, data string) error {
	return s.write("event: " + event + "\ndata: " + strings.NewReplacer("\n", " ", "\r", " ").Replace(data) + "\n\n")
}

// Beat writes a comment: it keeps proxies from closing the connection, and finds out that the page
// has gone.
func (s *Stream) Beat() error { return s.write(":\n\n") }

func (s *Stream) write(text string) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	return nil
}
