package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations/pg"
	"ironhold/progress"
)

// requests are what is asked of a large fleet, the picky ones included.
func requests() allocator.Request {
	price := int64(15_000)
	switch rand.IntN(5) {
	case 0:
		return allocator.Request{MinRAMGB: 32, MinCores: 8}
	case 1:
		return allocator.Request{MinRAMGB: 256, MaxPriceMonthMinor: &price}
	case 2:
		return allocator.Request{MinCores: 64, MinNVMeGB: 2000}
	case 3:
		return allocator.Request{MinRAMGB: 512, MinNICMbps: 25_000}
	}
	return allocator.Request{}
}

// scaleOrders is how many orders each fleet gets, the first hundred not counted.
const scaleOrders = 600

// scale measures one client's orders on fleets of growing size and of both kinds.
func (m *measure) scale(ctx context.Context, sizes []int) (*table, bool, error) {
	t := &table{title: "Orders of one client by the size of the fleet", head: []string{"fleet", "machines", "classes", "first order ms",
		"order p50 ms", "p99 ms", "without commit p50 ms", "p99 ms", "heap MB", "catalogue ms", "survey ms", "first page ms"}}
	ok := true
	bar := progress.New(os.Stderr, "scale, orders", 2*len(sizes)*scaleOrders)
	defer bar.Done()
	for i, auction := range []bool{false, true} {
		for j, n := range sizes {
			m.ordered = func(done int) { bar.At((i*len(sizes)+j)*scaleOrders + done) }
			if err := m.scaleOne(ctx, t, n, auction, &ok); err != nil {
				return nil, false, err
			}
		}
	}
	t.note("heap is that of the process after a collection, with the classes in memory; an order without its commit is a simulation")
	return t, ok, nil
}

func (m *measure) scaleOne(ctx context.Context, t *table, n int, auction bool, ok *bool) error {
	began := time.Now()
	st, err := m.stage(ctx, fmt.Sprintf("scale_%d_%v", n, auction))
	if err != nil {
		return err
	}
	defer st.close()
	kind, classes := "few classes", 200
	if auction {
		kind, classes = "auction", n
	}
	f, err := bench.FillKinds(ctx, st.owner, n, classes, 16)
	if err != nil {
		return err
	}
	fmt.Printf("%s of %d machines: filled in %s\n", kind, n, time.Since(began).Round(time.Millisecond))
	a := allocator.New(st.pool, allocator.Options{})
	defer a.Close(context.WithoutCancel(ctx))
	timed := func(f func() error) (time.Duration, error) {
		start := time.Now()
		err := f()
		return time.Since(start), err
	}
	order := func() error {
		res, err := a.Order(ctx, allocator.Order{OrgID: f.Orgs[rand.IntN(len(f.Orgs))], By: pg.By{Actor: "bench"}, Key: uuid.NewString(), Request: requests()})
		*ok = *ok && (err != nil || res.Outcome == allocator.Held)
		return err
	}
	first, err := timed(order)
	if err != nil {
		return err
	}
	var orders, simulated []time.Duration
	for i := range scaleOrders {
		m.ordered(i)
		d, err := timed(order)
		if err != nil {
			return err
		}
		s, err := timed(func() error {
			_, err := a.Simulate(ctx, allocator.Order{OrgID: f.Orgs[0], By: pg.By{Actor: "bench"}, Request: requests()})
			return err
		})
		if err != nil {
			return err
		}
		if i >= 100 {
			orders, simulated = append(orders, d), append(simulated, s)
		}
	}
	slices.Sort(orders)
	slices.Sort(simulated)
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	best := func(f func() error) (time.Duration, error) {
		out := time.Hour
		for range 3 {
			d, err := timed(f)
			if err != nil {
				return 0, err
			}
			out = min(out, d)
		}
		return out, nil
	}
	catalogue, err := best(func() error {
		_, err := a.Offers(ctx, allocator.OfferQuery{Request: allocator.Request{MinRAMGB: 256}})
		return err
	})
	if err != nil {
		return err
	}
	survey, err := best(func() error {
		_, _, err := a.Survey(ctx, f.Orgs[0], allocator.Request{MinRAMGB: 256})
		return err
	})
	if err != nil {
		return err
	}
	page, err := best(func() error {
		_, _, err := a.SurveyBy(ctx, f.Orgs[0], allocator.Request{MinRAMGB: 256}, allocator.TooLittleRAM, "", 50)
		return err
	})
	if err != nil {
		return err
	}
	t.add(kind, n, classes, first, quantile(orders, .5), quantile(orders, .99), quantile(simulated, .5), quantile(simulated, .99),
		mem.HeapAlloc>>20, catalogue, survey, page)
	return nil
}
