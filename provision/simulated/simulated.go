// Package simulated is the driver of a trial: nothing is done to any machine, and it takes a few seconds.
package simulated

import (
	"context"
	"sync"
	"time"

	"ironhold/provision/driver"
)

// steps of each kind; a machine takes as long for each.
var steps = map[driver.Kind][]string{
	driver.Install: {"power_on", "network_boot", "installing", "configuring", "first_boot"},
	driver.Wipe:    {"power_on", "erasing", "verifying"},
}

// Driver pretends. It is safe for concurrent use.
type Driver struct {
	step time.Duration

	mu    sync.Mutex
	begun map[string]time.Time // by service and kind
}

// New makes a driver whose steps take that long.
func New(step time.Duration) *Driver { return &Driver{step: step, begun: map[string]time.Time{}} }

// Name of the driver.
func (d *Driver) Name() string { return "simulated" }

// Begin notes the time; a task that was begun goes on.
func (d *Driver) Begin(_ context.Context, t driver.Task) (driver.Progress, error) {
	return d.progress(t), nil
}

// Look tells how far it would be. A task that another process began begins here anew.
func (d *Driver) Look(_ context.Context, t driver.Task) (driver.Progress, error) {
	return d.progress(t), nil
}

func (d *Driver) progress(t driver.Task) driver.Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	key, now := t.Service+string(t.Kind), time.Now() //nolint:forbidigo // of the pretended machine
	since, ok := d.begun[key]
	if !ok {
		since, d.begun[key] = now, now
	}
	list := steps[t.Kind]
	at := int(now.Sub(since) / d.step)
	if at >= len(list) {
		delete(d.begun, key)
		return driver.Progress{State: driver.Done, Percent: 100}
	}
	return driver.Progress{State: driver.Running, Step: list[at], Percent: 100 * at / len(list)}
}
