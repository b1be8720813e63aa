package main

import (
	"context"
	"sync"
	"time"

	"ironhold/allocator"
)

// stop undoes the start in the other order, each step within its time. At first nothing changes but that
// the process says that it is not ready.
func (p *process) stop() {
	notice := time.Duration(0)
	if p.gate.leave() {
		notice = p.settings.StopNotice
		time.Sleep(notice)
	}
	if p.hush != nil {
		p.hush() // open streams would keep their connections busy
	}
	if p.halt != nil {
		p.halt()
	}
	if p.endVitals != nil {
		p.endVitals()
	}
	within(drainTime-notice, func(ctx context.Context) {
		var wg sync.WaitGroup
		for _, s := range p.servers {
			wg.Go(func() { drain(ctx, s) })
		}
		if p.workers != nil {
			wg.Go(func() {
				if err := p.workers.Stop(ctx); err != nil {
					p.log.Warn("jobs were still running", "error", err.Error())
				}
			})
		}
		wg.Wait()
	})
	within(flushTime, func(ctx context.Context) {
		var wg sync.WaitGroup
		for _, a := range []*allocator.Allocator{p.orders, p.matches} {
			if a != nil {
				wg.Go(func() { a.Close(ctx) })
			}
		}
		wg.Wait()
	})
	if p.closeCatcher != nil {
		p.closeCatcher()
	}
	if p.flags != nil {
		within(closeTime, func(ctx context.Context) { _ = p.flags.Close(ctx) })
	}
	if p.traces != nil {
		within(closeTime, func(ctx context.Context) { _ = p.traces.Shutdown(ctx) })
	}
	within(closeTime, func(context.Context) {
		for _, db := range p.pools {
			db.Close()
		}
	})
	if p.db != nil {
		within(serverTime, func(ctx context.Context) {
			if err := p.db.stop(ctx); err != nil {
				p.log.Error("embedded PostgreSQL", "error", err.Error())
			}
		})
	}
}

// within runs f and goes on when its time is up, whether or not it has returned.
func within(d time.Duration, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	select {
	case <-done:
	case <-time.After(d + 200*time.Millisecond):
	}
}
