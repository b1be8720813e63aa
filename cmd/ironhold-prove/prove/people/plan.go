// Package people drives the program over HTTP like people would: they look, order, hesitate,
// extend, confirm, give back, forget, click twice, and send again what was not answered.
//
//	seed --PCG(seed, actor)--> Plan, Plan, ...      never depends on an answer
//	Plan + answers ----------> requests             each is recorded
package people

import (
	"math/rand/v2"
	"time"

	"ironhold/cmd/ironhold-prove/prove/record"
)

// The ends that a Plan may give to its hold.
const (
	Confirms = "confirms"
	Cancels  = "cancels"
	Forgets  = "forgets" // the deadline passes
)

// Plan is what a person decides before the first request of a purchase.
type Plan struct {
	Org       int
	Process   int // asked first
	Look      bool
	Ask       record.Ask
	Key       string
	Twice     bool          // sends the order twice at once
	Patience  time.Duration // before the first answer is given up
	Hesitates time.Duration
	See       bool
	Extends   bool
	End       string
	EndTwice  bool
	Returns   bool // ends the service after the confirmation
}

// Fleet is what plans choose from.
type Fleet struct {
	CPUs []string
	RAM  []int
	Tags []string
}

// Planner draws the plans of one actor. The same seed and actor give the same plans.
type Planner struct {
	r     *rand.Rand
	fleet Fleet
	orgs  int
}

// NewPlanner begins the plans of an actor.
func NewPlanner(seed uint64, actor int, fleet Fleet, orgs int) *Planner {
	return &Planner{r: rand.New(rand.NewPCG(seed, uint64(actor))), fleet: fleet, orgs: orgs} //nolint:gosec // not for secrets: replayed
}

func (p *Planner) chance(percent int) bool { return p.r.IntN(100) < percent }

// Next is the next purchase. It draws the same numbers whatever they decide.
func (p *Planner) Next() Plan {
	out := Plan{
		Org: p.r.IntN(p.orgs), Process: p.r.IntN(2), Look: p.chance(5), Key: p.key(), Twice: p.chance(10),
		Patience: 10 * time.Second, Hesitates: time.Duration(p.r.IntN(300)) * time.Millisecond,
		See: p.chance(15), Extends: p.chance(10), EndTwice: p.chance(10), Returns: !p.chance(5), End: Cancels,
	}
	if impatient, d := p.chance(5), time.Duration(20+p.r.IntN(400))*time.Millisecond; impatient {
		out.Patience = d
	}
	cpu, ram, tag := p.fleet.CPUs[p.r.IntN(len(p.fleet.CPUs))], p.fleet.RAM[p.r.IntN(len(p.fleet.RAM))], p.fleet.Tags[p.r.IntN(len(p.fleet.Tags))]
	switch n := p.r.IntN(100); {
	case n < 25:
	case n < 60:
		out.Ask.CPU = cpu
	case n < 80:
		out.Ask.MinRAMGB = ram
	case n < 90:
		out.Ask = record.Ask{CPU: cpu, MinRAMGB: ram}
	default:
		out.Ask.Machine = tag
	}
	switch n := p.r.IntN(100); {
	case n < 40:
		out.End = Confirms
	case n < 55:
		out.End = Forgets
	}
	return out
}

const keyAlphabet = "0123456789abcdefghijklmnopqrstuv"

func (p *Planner) key() string {
	var b [20]byte
	a, c := p.r.Uint64(), p.r.Uint64()
	for i := range b {
		if i == 10 {
			a = c
		}
		b[i] = keyAlphabet[a&31]
		a >>= 5
	}
	return string(b[:])
}
