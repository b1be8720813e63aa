package problem

import (
	"time"

	"ironhold/allocator"
)

// Problem is one refusal or failure as it is told to whoever made the request. It is an error, so
// that handlers can return it.
type Problem struct {
	Kind
	Detail     string        // one or two sentences about this case, safe to show
	RetryAfter time.Duration // > 0: when to try again
	Allow      []string      // method-not-allowed
	Challenge  string        // unauthenticated: the WWW-Authenticate header
	Extra      Extra
	cause      error // for the log alone
}

// Extra holds the members that a type adds to the document. A nil slice or pointer is left out, an
// empty one is written. Times are UTC.
type Extra struct {
	Retryable  *bool                `json:"retryable,omitzero"`
	Attempt    string               `json:"attempt,omitzero"` // the reference number
	Reasons    []allocator.Count    `json:"reasons,omitzero"`
	NearMisses []allocator.NearMiss `json:"near_misses,omitzero"`
	NextFreeAt *NullTime            `json:"next_free_at,omitzero"`

	LimitName string `json:"limit_name,omitzero"`
	Limit     *int   `json:"limit,omitzero"`
	Held      *int   `json:"held,omitzero"`
	Active    *int   `json:"active,omitzero"`

	Hold    string `json:"hold,omitzero"`
	Service string `json:"service,omitzero"`
	State   string `json:"state,omitzero"`

	Until        *time.Time `json:"until,omitzero"`
	ExpiresAt    *time.Time `json:"expires_at,omitzero"`
	Reason       string     `json:"reason,omitzero"`
	WhoCanChange string     `json:"who_can_change,omitzero"`

	SubstituteAvailable *bool `json:"substitute_available,omitzero"`

	From  string   `json:"from,omitzero"`
	Legal []string `json:"legal,omitzero"`

	Errors []allocator.Fault `json:"errors,omitzero"`
}

// NullTime is a time that is written as null when it is not known.
type NullTime struct{ At *time.Time }

// MarshalJSON writes the time in UTC, or null.
func (t NullTime) MarshalJSON() ([]byte, error) {
	if t.At == nil {
		return []byte("null"), nil
	}
	return t.At.UTC().MarshalJSON()
}

// Error names the problem; for an unexpected failure it includes the cause, so it is for the log.
func (p *Problem) Error() string {
	s := string(p.Name)
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	if p.cause != nil {
		s += ": " + p.cause.Error()
	}
	return s
}

// Unwrap returns the unexpected error behind the problem, or nil.
func (p *Problem) Unwrap() error { return p.cause }

// New makes a problem of the closed list; an unknown name is a programming error and gives
// "internal".
func New(name Name, detail string) *Problem {
	k, ok := Lookup(string(name))
	if !ok {
		k, _ = Lookup(string(Internal))
	}
	return &Problem{Kind: k, Detail: detail}
}

// Faulty is a request with faults by field (422).
func Faulty(faults ...allocator.Fault) *Problem {
	p := New(Invalid, "The request has faults; errors lists each with its field.")
	if len(faults) == 1 {
		p.Detail = faults[0].Field + ": " + faults[0].Message
	}
	p.Extra.Errors = faults
	return p
}

// Unreadable is a body that cannot be read as JSON (400).
func Unreadable(detail string) *Problem {
	p := New(Invalid, detail)
	p.Status = 400
	p.Extra.Errors = []allocator.Fault{{Field: "body", Message: detail}}
	return p
}

// NoSuch is the answer for what does not exist and for what is not theirs: the two do not differ.
func NoSuch() *Problem { return New(NotFound, "There is nothing here, or nothing that you may see.") }

// Stranger is the answer to a request that must say who makes it and does not, or not validly.
// challenge is the WWW-Authenticate header for programs, "" for pages.
func Stranger(challenge string) *Problem {
	p := New(Unauthenticated, "Nobody is signed in, or the token is unknown or revoked.")
	p.Challenge = challenge
	return p
}
