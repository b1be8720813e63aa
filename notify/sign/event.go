package sign

import (
	"encoding/json"
	"fmt"
	"time"
)

// ContentType is that of a message's body.
const ContentType = "application/cloudevents+json; charset=utf-8"

// Event is a message: a CloudEvent whose id is also the webhook-id. Sequence counts what happened to
// the subject, from 1; 0 leaves it out, as the zero Time does.
type Event struct {
	ID       string
	Source   string // a URI reference: who sends
	Type     string // such as ironhold.hold.expired
	Subject  string // such as holds/ID
	Time     time.Time
	Sequence int64
	Data     json.RawMessage
}

// envelope is the JSON format of CloudEvents 1.0 with its sequence extension, which is compared as text
// and so has a fixed length.
type envelope struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            string          `json:"time,omitempty"`
	Sequence        string          `json:"sequence,omitempty"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
}

// Body is the event as it is sent: the same bytes at each attempt.
func (e Event) Body() ([]byte, error) {
	v := envelope{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: e.Type, Subject: e.Subject,
		DataContentType: "application/json", Data: e.Data,
	}
	if !e.Time.IsZero() {
		v.Time = e.Time.UTC().Format(time.RFC3339Nano)
	}
	if e.Sequence > 0 {
		v.Sequence = fmt.Sprintf("%010d", e.Sequence)
	}
	if v.Data == nil {
		v.Data = json.RawMessage("{}")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return b, nil
}
