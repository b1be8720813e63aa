//go:build linux

package prove

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ironhold/cmd/ironhold-prove/prove/fault"
	"ironhold/cmd/ironhold-prove/prove/people"
	"ironhold/cmd/ironhold-prove/prove/record"
	"ironhold/cmd/ironhold-prove/prove/world"
)

const (
	rushCPU   = "Rush 1"
	lastCPU   = "Last "
	nearCPU   = "Near 1"
	lastLanes = 4 // last machines that are contended for at the same time
	nearHold  = 3 * time.Second
)

// mixedFleet is what people in the mixed load ask for: a common kind, and scarce ones.
func (r *run) mixedFleet() ([]world.Machine, people.Fleet) {
	var all []world.Machine
	f := people.Fleet{CPUs: []string{"Common", "Rare", "Scarce"}, RAM: []int{16, 64, 256}}
	for i := range r.Machines {
		m := world.Machine{Tag: "mix-" + strconv.Itoa(i), CPU: "Common 16", RAMGB: []int{16, 64, 64, 128}[i%4]}
		switch {
		case i%40 == 0:
			m.CPU, m.RAMGB = "Scarce 8", 256
		case i%10 == 0:
			m.CPU = "Rare 32"
		}
		all = append(all, m)
		if i%(max(r.Machines/20, 1)) == 0 {
			f.Tags = append(f.Tags, m.Tag)
		}
	}
	return all, f
}

// equal are n machines for one phase, taken in when it begins: who takes any machine in the phases
// before must not get one.
func equal(n int, prefix, cpu string) []world.Machine {
	all := make([]world.Machine, n)
	for i := range all {
		all[i] = world.Machine{Tag: prefix + strconv.Itoa(i), CPU: cpu, RAMGB: 8}
	}
	return all
}

// phases runs everything that people do.
func (r *run) phases(ctx context.Context) (*fault.Saboteur, error) {
	machines, fleet := r.mixedFleet()
	var lanes []world.Machine
	for lane := range lastLanes {
		lanes = append(lanes, equal(1, "last-"+strconv.Itoa(lane)+"-", lastCPU+strconv.Itoa(lane))...)
	}
	s := &fault.Saboteur{World: r.world, Plan: r.Faults, Seed: r.Seed, Log: r.say}
	for _, p := range []struct {
		name string
		more []world.Machine
		env  map[string]string
		run  func(ctx context.Context) (string, error)
	}{
		{"mixed load", machines, map[string]string{"HOLD_DURATION": "4s", "HOLD_EXTENSION": "4s", "POOL_INTERACTIVE": "12"},
			func(ctx context.Context) (string, error) { return r.mixed(ctx, s, fleet) }},
		{"rush", equal(r.ForSale, "rush-", rushCPU), map[string]string{"HOLD_DURATION": "30m", "HOLD_EXTENSION": "4s", "POOL_INTERACTIVE": "30"}, r.rush},
		{"last machine", lanes, nil, r.last},
		{"deadlines", equal(2*r.Deadlines, "near-", nearCPU), map[string]string{"HOLD_DURATION": nearHold.String(), "HOLD_EXTENSION": "4s", "POOL_INTERACTIVE": "30"}, r.near},
	} {
		began := time.Now()
		if err := r.world.Import(ctx, p.more); err != nil {
			return s, err
		}
		if p.env != nil {
			if err := r.restart(ctx, p.env); err != nil {
				return s, err
			}
		}
		if err := r.clock(ctx); err != nil {
			return s, err
		}
		r.say("%s", p.name)
		r.when = strings.TrimPrefix(r.when+", "+p.name, ", ")
		text, err := p.run(ctx)
		if err != nil {
			return s, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := r.resolve(ctx); err != nil {
			return s, err
		}
		took := time.Since(began)
		r.report.Phases = append(r.report.Phases, Phase{p.name, took, text})
		r.say("%s: %s (%s)", p.name, text, took.Round(time.Second))
	}
	return s, nil
}

// restart starts both processes with other settings.
func (r *run) restart(ctx context.Context, env map[string]string) error {
	r.measure(ctx)
	if err := r.world.StopAll(); err != nil {
		return err
	}
	r.world.Env = map[string]string{"HOLD_CEILING": "336h", "SWEEP_INTERVAL": "5s"}
	for k, v := range env {
		r.world.Env[k] = v
	}
	return r.world.StartAll(ctx)
}

// mixed lets people live until all faults have happened and enough was ordered.
func (r *run) mixed(ctx context.Context, s *fault.Saboteur, fleet people.Fleet) (string, error) {
	live, enough := context.WithCancel(ctx)
	defer enough()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range r.Actors {
		a, form := r.town.NewActor("mixed", i), i < len(r.world.Forms)
		if form {
			a = r.town.NewFormActor("mixed", i, i, r.world.Forms[i].Email, r.world.Forms[i].Password)
		}
		planner := people.NewPlanner(r.Seed, i, fleet, len(r.world.Orgs))
		wg.Go(func() {
			if form {
				a.SignIn(live)
			}
			for !stop.Load() && live.Err() == nil {
				a.Live(live, planner.Next())
			}
		})
	}
	wiper := people.Wiper{Town: r.town, Phase: "mixed", Token: r.world.Wiper}
	wg.Go(func() {
		for n := 0; !stop.Load() && live.Err() == nil; n++ {
			wiper.Round(live, n%2)
			_ = world.Sleep(live, 300*time.Millisecond)
		}
	})
	err := s.Run(ctx)
	for err == nil && int(r.town.Orders.Load()) < r.Orders {
		r.say("mixed load: %d of %d orders", r.town.Orders.Load(), r.Orders)
		err = world.Sleep(ctx, time.Second)
	}
	stop.Store(true)
	if err != nil {
		enough()
	}
	wg.Wait()
	return fmt.Sprintf("%d orders by %d people", r.town.Orders.Load(), r.Actors), err
}

// rush lets many buyers order a few machines at once; who gets one confirms.
func (r *run) rush(ctx context.Context) (string, error) {
	var sold atomic.Int64
	err := r.parallel(r.Buyers, r.Parallel, func(i int) {
		a := r.town.NewActor("rush", i)
		e := a.Order(ctx, r.simple("rush", i, i%len(r.world.Orgs), record.Ask{CPU: rushCPU}))
		if e.OK() && a.Confirm(ctx, i%len(r.world.Orgs), i%2, e.Hold, 20*time.Second).OK() {
			sold.Add(1)
		}
		r.tell("rush", i, r.Buyers)
	})
	if n := sold.Load(); n != int64(r.ForSale) {
		r.wrong("%d machines were sold in a rush for %d", n, r.ForSale)
	}
	return fmt.Sprintf("%d buyers for %d machines: %d sold", r.Buyers, r.ForSale, sold.Load()), err
}

// last lets contenders order the only machine that fits, all at once, again and again.
func (r *run) last(ctx context.Context) (string, error) {
	var won, wrong atomic.Int64
	var done atomic.Int64
	err := r.parallel(lastLanes, lastLanes, func(lane int) {
		for round := lane; round < r.Rounds && ctx.Err() == nil; round += lastLanes {
			var mu sync.Mutex
			var winners []*record.Entry
			var wg sync.WaitGroup
			for c := range r.Contenders {
				id := round*r.Contenders + c
				wg.Go(func() {
					org := id % len(r.world.Orgs)
					e := r.town.NewActor("last", id).Order(ctx, r.simple("last", id, org, record.Ask{CPU: lastCPU + strconv.Itoa(lane)}))
					if e.OK() {
						mu.Lock()
						winners = append(winners, e)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			won.Add(int64(len(winners)))
			if len(winners) != 1 {
				wrong.Add(1)
			}
			for _, e := range winners {
				for org, slug := range r.town.Slugs {
					if slug == e.Org {
						r.town.NewActor("last", round).Cancel(ctx, org, round%2, e.Hold)
					}
				}
			}
			r.tell("last machine, round", int(done.Add(1)), r.Rounds)
		}
	})
	if n := wrong.Load(); n > 0 {
		r.wrong("%d rounds of the last machine had another number of winners than one", n)
	}
	return fmt.Sprintf("%d rounds of %d contenders: %d winners", r.Rounds, r.Contenders, won.Load()), err
}

// simple is a purchase without ado.
func (r *run) simple(phase string, i, org int, ask record.Ask) people.Plan {
	return people.Plan{Org: org, Process: i % 2, Ask: ask, Key: fmt.Sprintf("%s-%d-%d", phase, r.Seed, i), Patience: 20 * time.Second}
}

func (r *run) tell(what string, i, n int) {
	if i > 0 && i%max(n/20, 1) == 0 {
		r.say("%s: %d of %d", what, i, n)
	}
}

// parallel calls f for 0 to n-1, so many at once.
func (r *run) parallel(n, at int, f func(i int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, at) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
	return nil
}

// resolve sends every order again that has an open answer and no success, with its key, until
// the answer is definite.
func (r *run) resolve(ctx context.Context) error {
	type open struct {
		e  *record.Entry
		ok bool
		un bool
	}
	keys := map[string]*open{}
	for _, e := range r.town.Log.Entries() {
		if e.Op != record.Order {
			continue
		}
		k := keys[e.Org+" "+e.Key]
		if k == nil {
			k = &open{e: e}
			keys[e.Org+" "+e.Key] = k
		}
		k.ok, k.un = k.ok || e.OK(), k.un || e.Unknown()
	}
	orgs := map[string]int{}
	for i, slug := range r.town.Slugs {
		orgs[slug] = i
	}
	n := 0
	for name, k := range keys {
		if k.ok || !k.un || r.resolved[name] {
			continue
		}
		n++
		r.resolved[name] = true
		a := r.town.NewActor(k.e.Phase, k.e.Actor)
		e := a.Order(ctx, people.Plan{Org: orgs[k.e.Org], Ask: k.e.Ask, Key: k.e.Key, Patience: 20 * time.Second})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e.Unknown() {
			return errors.New("an order could not be resolved although nothing is broken any more: " + e.Key)
		}
	}
	r.say("%d orders with an open answer resolved", n)
	return nil
}
