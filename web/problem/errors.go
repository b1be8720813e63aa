package problem

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/notify"
)

// From is the problem of any error that a handler returns. Errors outside the closed list become
// "busy" or "internal" and keep their cause for the log.
func From(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if r, ok := errors.AsType[*holds.Refused](err); ok {
		return ofRefused(r)
	}
	if m, ok := errors.AsType[*fleet.IllegalMove](err); ok {
		return ofMove(m)
	}
	if _, ok := errors.AsType[*fleet.NotFound](err); ok {
		return NoSuch()
	}
	if _, ok := errors.AsType[*allocator.NotFound](err); ok {
		return NoSuch()
	}
	if _, ok := errors.AsType[*accounts.NotFound](err); ok {
		return NoSuch()
	}
	if _, ok := errors.AsType[*notify.NotFound](err); ok {
		return NoSuch()
	}
	if e, ok := errors.AsType[*accounts.Invalid](err); ok {
		return Faulty(allocator.Fault{Field: e.Field, Message: e.Message})
	}
	if e, ok := errors.AsType[*fleet.Invalid](err); ok {
		return Faulty(allocator.Fault{Field: e.Field, Message: e.Message})
	}
	if _, ok := errors.AsType[*accounts.Unauthenticated](err); ok {
		return Stranger("")
	}
	if e, ok := errors.AsType[*fleet.FileError](err); ok {
		return Faulty(allocator.Fault{Field: "file", Message: e.Reason})
	}
	if e, ok := errors.AsType[*fleet.ImportBusy](err); ok {
		p := New(Busy, "Another import is running. Try again when it has ended.")
		p.RetryAfter, p.cause = retryBusy, e
		return p
	}
	if e, ok := errors.AsType[*allocator.WaitingFull](err); ok {
		p := New(WaitingListFull, fmt.Sprintf("At most %d entries of an organisation wait at once.", e.Limit))
		p.Extra.Limit = new(e.Limit)
		return p
	}
	if _, ok := errors.AsType[*pg.CommitUnknown](err); ok {
		p := checking()
		p.cause = err
		return p
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return New(TooLarge, fmt.Sprintf("The body is larger than the %d bytes that this address takes.", e.Limit))
	}
	// Cancelled is what a client that went away leaves, or the end of the process: no fault of either.
	if pg.Busy(err) || errors.Is(err, context.Canceled) {
		p := busy()
		p.cause = err
		return p
	}
	return unexpected(err)
}

func busy() *Problem {
	p := New(Busy, "The request could not be served in time. Send it again, with the same key if it has one.")
	p.RetryAfter = retryBusy
	return p
}

func checking() *Problem {
	p := New(Checking, "The decision was made but its answer was lost on the way. Send the same request again to see it.")
	p.RetryAfter = retryChecking
	return p
}

func unexpected(err error) *Problem {
	p := New(Internal, "An unexpected fault, which has been recorded under this request's id.")
	p.cause = err
	return p
}

// ofRefused maps a refused step on a hold or service. The refusal's own detail may quote the
// database, so the words here are written anew.
func ofRefused(r *holds.Refused) *Problem {
	name := Name(r.Kind)
	switch r.Kind {
	case holds.NotFound:
		return NoSuch()
	case holds.Busy:
		return busy()
	case holds.Checking:
		return checking()
	}
	switch r.Kind {
	case holds.OSNotOffered:
		return Faulty(allocator.Fault{Field: "os", Message: "is not offered any more; see the list of operating systems"})
	case holds.EndInPast:
		return Faulty(allocator.Fault{Field: "at", Message: "must be in the future; leave it out to end at once"})
	}
	p := New(name, refusedDetail(r))
	if string(p.Name) != string(r.Kind) {
		return unexpected(r)
	}
	if r.Hold.Overdue || r.Hold.State != "" {
		p.Extra.State = string(r.Hold.Shown())
		p.Extra.Hold = r.Hold.ID.String()
	}
	switch r.Kind {
	case holds.HoldExpired:
		if !r.Hold.ExpiresAt.IsZero() {
			p.Extra.ExpiresAt = new(r.Hold.ExpiresAt.UTC())
		}
	case holds.HoldConverted:
		if id := r.ServiceID; id != nil {
			p.Extra.Service = id.String()
		} else if id := r.Hold.ServiceID; id != nil {
			p.Extra.Service = id.String()
		}
	case holds.MachineWithdrawn, holds.NoSubstitute:
		p.Extra.SubstituteAvailable = new(r.Substitute)
	case holds.CeilingReached:
		if r.Until != nil {
			p.Extra.Until = new(r.Until.UTC())
		}
	case holds.Faster:
		p.Extra.Retryable = new(true)
	}
	return p
}

func refusedDetail(r *holds.Refused) string {
	switch r.Kind {
	case holds.HoldExpired:
		return "The deadline of this hold has passed. Nothing was charged; order the machine again if it is still free."
	case holds.HoldCancelled:
		return "This hold was given back. Nothing was charged."
	case holds.HoldConverted:
		return "This hold has become a service."
	case holds.MachineWithdrawn:
		if r.Substitute {
			return "The machine was withdrawn from sale. An equal machine is free: ask for the substitute."
		}
		return "The machine was withdrawn from sale, and no equal machine is free at the moment."
	case holds.NotWithdrawn:
		return "The machine of this hold is still for sale to you: there is nothing to substitute."
	case holds.NoSubstitute:
		return "No equal machine is free at the moment. The hold stays until its deadline."
	case holds.ExtensionUsed:
		return "This hold was extended before; that is possible once."
	case holds.CeilingReached:
		return "The time that your organisation may hold this machine within 24 hours is used up."
	case holds.ServiceEnded:
		return "This service has ended: its end can be neither planned nor withdrawn."
	case holds.Faster:
		return "The machine was taken by another order a moment earlier. Nothing was charged."
	}
	return ""
}

func ofMove(m *fleet.IllegalMove) *Problem {
	p := New(IllegalMove, fmt.Sprintf("The machine cannot go from %s to %s.", m.From, m.To))
	if m.Why != "" {
		p.Detail = fmt.Sprintf("The machine cannot go from %s to %s: %s.", m.From, m.To, m.Why)
	}
	p.Extra.From = string(m.From)
	p.Extra.Legal = make([]string, 0, len(m.Legal))
	for _, s := range m.Legal {
		p.Extra.Legal = append(p.Extra.Legal, string(s))
	}
	return p
}
