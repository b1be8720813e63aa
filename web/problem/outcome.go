package problem

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
)

// Waits that are suggested when the refusal itself names none.
const (
	retryBusy     = 1 * time.Second
	retryChecking = 2 * time.Second
)

// Of is the problem of an order's result, or nil when the order has its hold.
func Of(r allocator.Result) *Problem {
	p := ofOutcome(r)
	if p == nil {
		return nil
	}
	if r.AttemptID != uuid.Nil && p.Name != Invalid {
		p.Extra.Attempt = r.AttemptID.String()
	}
	return p
}

func ofOutcome(r allocator.Result) *Problem {
	switch r.Outcome {
	case allocator.Held, allocator.Replayed:
		return nil
	case allocator.Invalid:
		return Faulty(r.Faults...)
	case allocator.KeyReused:
		p := New(KeyReused, "This Idempotency-Key was used for another order. Use a new key for a new order.")
		if r.Hold != nil {
			p.Extra.Hold = r.Hold.ID.String()
		}
		return p
	case allocator.NotRolledOut:
		return notRolledOut(r.Rollout)
	case allocator.Suspended:
		return New(OrganisationSuspended, "New holds are suspended for this organisation. Please contact sales.")
	case allocator.AlreadyYours:
		return alreadyYours(r)
	case allocator.LimitReached:
		return limitReached(r)
	case allocator.CoolDown:
		return coolDown(r)
	case allocator.SomeoneFaster:
		p := New(SomeoneWasFaster, "A matching machine was taken by another order a moment earlier. Nothing was held and nothing was charged.")
		p.Extra.Retryable = new(true)
		return p
	case allocator.TryAgain:
		p := New(TryAgainShortly, "Many orders want the same machines right now. Nothing was held; try again in a moment.")
		p.RetryAfter = cmp.Or(r.RetryAfter, retryBusy)
		return p
	case allocator.AllHeld:
		return allHeld(r)
	case allocator.NoneLeft:
		return noneLeft(r)
	case allocator.Busy:
		p := busy()
		p.RetryAfter = cmp.Or(r.RetryAfter, retryBusy)
		return p
	case allocator.Checking:
		p := checking()
		p.RetryAfter = cmp.Or(r.RetryAfter, retryChecking)
		return p
	}
	return unexpected(fmt.Errorf("order ended with unknown outcome %q", r.Outcome))
}

func notRolledOut(r *allocator.RolloutRefusal) *Problem {
	p := New(NotRolledOut, "Ordering is switched off for this organisation.")
	if r == nil {
		return p
	}
	p.Extra.Reason, p.Extra.WhoCanChange = r.Reason, r.WhoCanChange
	switch r.WhoCanChange {
	case "org-admin":
		p.Detail = "Ordering is switched off for this organisation; an administrator of the organisation can switch it on."
	case "operator":
		p.Detail = "Ordering has not been launched; only the operators of the portal can switch it on."
	}
	return p
}

func alreadyYours(r allocator.Result) *Problem {
	p := New(AlreadyYours, "This machine is already yours.")
	if r.Hold != nil {
		p.Detail = "Your organisation already holds this machine."
		p.Extra.Hold = r.Hold.ID.String()
	}
	if r.ServiceID != nil {
		p.Detail = "Your organisation already rents this machine."
		p.Extra.Service = r.ServiceID.String()
	}
	return p
}

func limitReached(r allocator.Result) *Problem {
	p := New(LimitReached, fmt.Sprintf("The organisation may have %d live holds at a time and has %d.", r.Limit, r.LiveHolds))
	if r.LimitName == "max_machines" {
		p.Detail = fmt.Sprintf("The organisation may have %d machines in all and has %d on hold and %d in service.",
			r.Limit, r.LiveHolds, r.Active)
	}
	p.Extra.LimitName = r.LimitName
	p.Extra.Limit, p.Extra.Held, p.Extra.Active = new(r.Limit), new(r.LiveHolds), new(r.Active)
	return p
}

func coolDown(r allocator.Result) *Problem {
	p := New(CoolDown, "This machine was held by your organisation again and again within 24 hours.")
	p.RetryAfter = r.RetryAfter
	if r.Until != nil {
		p.Extra.Until = new(r.Until.UTC())
		if p.RetryAfter <= 0 {
			p.RetryAfter = time.Until(*r.Until)
		}
		p.Detail += " It can be held again from " + r.Until.UTC().Format(time.RFC3339) + "."
	}
	p.RetryAfter = max(p.RetryAfter, time.Second)
	return p
}

func allHeld(r allocator.Result) *Problem {
	p := New(AllHeld, "Every matching machine is on hold at the moment. Nothing was held and nothing was charged.")
	p.Extra.NextFreeAt = &NullTime{At: r.NextFreeAt}
	p.Extra.Reasons, p.Extra.NearMisses = []allocator.Count{}, []allocator.NearMiss{}
	if r.Survey != nil {
		p.Extra.Reasons, p.Extra.NearMisses = list(r.Survey.Reasons), list(r.Survey.NearMisses)
		if r.NextFreeAt == nil {
			p.Extra.NextFreeAt.At = r.Survey.NextFreeAt
		}
	}
	if at := p.Extra.NextFreeAt.At; at != nil {
		p.Detail = "Every matching machine is on hold at the moment; the next may come free at " +
			at.UTC().Format(time.RFC3339) + ". Nothing was held and nothing was charged."
	}
	return p
}

func noneLeft(r allocator.Result) *Problem {
	p := New(NoneLeft, "No machine for sale matches these constraints. Nothing was held and nothing was charged.")
	p.Extra.Retryable = new(false)
	p.Extra.Reasons, p.Extra.NearMisses = []allocator.Count{}, []allocator.NearMiss{}
	if r.Survey != nil {
		p.Extra.Reasons, p.Extra.NearMisses = list(r.Survey.Reasons), list(r.Survey.NearMisses)
	}
	return p
}

// list makes a nil slice an empty one, so that it is written as [].
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
