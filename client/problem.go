package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Problem is a refusal of the API.
type Problem struct {
	Type      string `json:"type"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	RequestID string `json:"request_id"`
	Attempt   string `json:"attempt"`
	Errors    []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`

	Raw json.RawMessage `json:"-"` // the whole document
}

// Name is the last part of the type: none-left.
func (p *Problem) Name() string { return p.Type[strings.LastIndexByte(p.Type, '/')+1:] }

// Error is the refusal in one line, every fault included.
func (p *Problem) Error() string {
	text := p.Name() + ": " + p.Detail
	if len(p.Errors) > 1 {
		text = p.Name() + ":"
		for _, e := range p.Errors {
			text += fmt.Sprintf(" %s: %s;", e.Field, e.Message)
		}
		text = strings.TrimSuffix(text, ";")
	}
	if p.Attempt != "" {
		text += " (reference " + p.Attempt + ")"
	} else if p.Status >= 500 {
		text += " (request " + p.RequestID + ")"
	}
	return text
}

// passes tells that the same request, with the same key, may be answered otherwise in a moment.
func (p *Problem) passes() bool {
	return slices.Contains([]string{"busy", "checking", "try-again-shortly"}, p.Name())
}

// Exit codes besides 0 done, 1 error, 2 bad usage.
const (
	ExitNoAnswer = 3
	exitFirst    = 10
)

// Outcomes have the exit codes from 10 on, in this order: never change it, only add at the end.
var Outcomes = []string{
	"someone-was-faster", "none-left", "all-held", "try-again-shortly", "busy", "checking", "organisation-suspended",
	"limit-reached", "already-yours", "cool-down", "not-rolled-out", "hold-expired", "hold-cancelled", "hold-converted",
	"machine-withdrawn", "extension-used", "ceiling-reached", "key-reused", "invalid", "unauthenticated", "forbidden",
	"not-found", "too-many-requests", "not-withdrawn", "no-substitute", "internal", "service-ended",
}

// ExitCode of an outcome by its problem's name; 1 for one that is not known here.
func ExitCode(name string) int {
	if i := slices.Index(Outcomes, name); i >= 0 {
		return exitFirst + i
	}
	return 1
}
