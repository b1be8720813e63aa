// Package record keeps every request that a proof sends and every answer that it gets: in memory
// for the judgement, and as one JSON object a line for whoever reads a failed run.
package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Ask is what an order asks for; the zero value takes any machine.
type Ask struct {
	CPU      string `json:"cpu,omitempty"` // a part of its name
	MinRAMGB int    `json:"min_ram_gb,omitempty"`
	Machine  string `json:"machine,omitempty"` // this one
}

// The operations of an Entry.
const (
	Look    = "look"
	Order   = "order"
	See     = "see"
	Extend  = "extend"
	Cancel  = "cancel"
	Confirm = "confirm"
	End     = "end"
	Wipe    = "wipe"
)

// Entry is one request with its answer. Times are those of the driver's clock; Offset turns them
// into the database's.
type Entry struct {
	Phase   string    `json:"phase"`
	Actor   int       `json:"actor"`
	Op      string    `json:"op"`
	Form    bool      `json:"form,omitempty"` // by the page, not by the API
	Process string    `json:"process"`
	Org     string    `json:"org,omitempty"`
	Key     string    `json:"key,omitempty"`
	Ask     Ask       `json:"ask,omitzero"`
	Target  string    `json:"target,omitempty"` // the hold, service or machine in the address
	Sent    time.Time `json:"sent"`
	Got     time.Time `json:"got"` // or when it was given up

	Status   int       `json:"status"` // 0: no answer
	Problem  string    `json:"problem,omitempty"`
	Error    string    `json:"error,omitempty"` // why there is no answer
	Request  string    `json:"request,omitempty"`
	Hold     string    `json:"hold,omitempty"`
	Service  string    `json:"service,omitempty"`
	Machine  string    `json:"machine,omitempty"`
	State    string    `json:"state,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Replayed bool      `json:"replayed,omitempty"`
}

// OK reports whether the answer was a success.
func (e *Entry) OK() bool { return e.Status >= 200 && e.Status < 400 && e.Problem == "" }

// Unknown reports whether the answer leaves open what became of the request.
func (e *Entry) Unknown() bool {
	return e.Status == 0 || e.Status >= 500 && e.Problem != "try-again-shortly"
}

// Log collects entries. Safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	entries []*Entry
	w       *bufio.Writer
	err     error
}

// New makes a log that also writes to w.
func New(w io.Writer) *Log { return &Log{w: bufio.NewWriterSize(w, 1<<20)} }

// Add takes an entry over; nobody changes it any more.
func (l *Log) Add(e *Entry) {
	line, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if l.err == nil {
		l.err = err
	}
}

// Entries are all so far, in the order of their answers.
func (l *Log) Entries() []*Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Entry(nil), l.entries...)
}

// Len is how many there are.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Flush writes out what is buffered, and says whether all was written.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.w.Flush(); err != nil && l.err == nil {
		l.err = err
	}
	if l.err != nil {
		return fmt.Errorf("log of the requests: %w", l.err)
	}
	return nil
}
