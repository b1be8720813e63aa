package redfish

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/stmcginnis/gofish/common"

	"ironhold/notify/outbound"
	"ironhold/provision/driver"
)

// maxText is how much of a BMC's own words is kept, in characters.
const maxText = 300

// BMCError is an answer that says no. What names the attempted thing for staff.
type BMCError struct {
	What   string
	Status int
	text   string
}

func (e *BMCError) Error() string {
	s := fmt.Sprintf("the BMC answered %d to the attempt to %s", e.Status, e.What)
	if e.text != "" {
		s += ": " + e.text
	}
	return s
}

// failed puts an error of gofish's into words, without our password and without the network inside.
// Permanent is what no further attempt changes: another certificate, or a BMC that lacks the function.
// All else, wrong credentials too, holds for a time or for every machine.
func (s *session) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if several, ok := errors.AsType[*common.CollectionError](err); ok {
		for _, one := range several.Failures { // they are of one kind; the first will do
			return s.failed(what, one)
		}
	}
	if bmc, ok := errors.AsType[*common.Error](err); ok {
		e := &BMCError{What: what, Status: bmc.HTTPReturnedStatusCode, text: s.words(bmc)}
		switch e.Status {
		case http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return driver.Permanent(e)
		}
		return e
	}
	if stranger, ok := errors.AsType[*StrangerError](err); ok {
		return driver.Permanent(stranger)
	}
	if said, ok := errors.AsType[*BMCError](err); ok {
		return said // a login inside another request
	}
	if stale, ok := errors.AsType[*staleError](err); ok {
		return stale.error
	}
	return &Unanswered{What: what, Why: outbound.Why(err), err: err}
}

// words are what the BMC says, preferably its messages.
func (s *session) words(e *common.Error) string {
	text := e.Message
	for _, i := range e.ExtendedInfos {
		if i.Message != "" {
			text = i.MessageID + " " + i.Message
			break
		}
	}
	// A BMC that repeats what it was sent must not bring it to a page.
	return clean(strings.ReplaceAll(text, s.cfg.Password, "***"))
}

// Unanswered says that a BMC could not be asked.
type Unanswered struct {
	What string
	Why  outbound.Reason
	err  error
}

func (e *Unanswered) Error() string {
	return fmt.Sprintf("the BMC gave no answer to the attempt to %s: %s", e.What, e.Why)
}

func (e *Unanswered) Unwrap() error { return e.err }

// clean makes one line of bounded length of a text from outside.
func clean(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if r := []rune(s); len(r) > maxText {
		s = string(r[:maxText-1]) + "…"
	}
	return s
}
