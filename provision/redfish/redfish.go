package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	gofish "github.com/stmcginnis/gofish/redfish"

	"ironhold/provision/driver"
)

// Steps of a task, for pages.
const (
	StepBooting    = "booting"     // started; the boot from the network is still to come
	StepStarted    = "started"     // booted from the network; how far it is inside, the BMC cannot say
	StepPoweredOff = "powered_off" // switched off after it was started
)

// Targets of the next start.
const (
	Pxe      = string(gofish.PxeBootSourceOverrideTarget)
	UefiHTTP = string(gofish.UefiHTTPBootSourceOverrideTarget)
)

// Config is what all BMCs have in common. Zero values take the defaults named beside them.
type Config struct {
	User     string
	Password string
	Boot     string         // Pxe (default) or UefiHTTP
	Allow    []netip.Prefix // networks that BMCs may be in although they are not public
	// Provisioner is told before the machine starts, and says when it is done; nil: a person says it.
	Provisioner driver.Driver
	Timeout     time.Duration // 30 s for one request: BMCs are slow
	Limit       time.Duration // 4 min for one call of the driver
	Patience    time.Duration // 60 s until a change is to be seen
	Poll        time.Duration // 2 s between looks
}

// Driver starts machines. It is safe for concurrent use.
type Driver struct{ cfg Config }

// New checks the configuration.
func New(c Config) (*Driver, error) {
	if c.Boot == "" {
		c.Boot = Pxe
	}
	switch {
	case c.User == "" || c.Password == "":
		return nil, errors.New("user and password of the BMCs are needed")
	case c.Boot != Pxe && c.Boot != UefiHTTP:
		return nil, fmt.Errorf("%q is not %s or %s", c.Boot, Pxe, UefiHTTP)
	}
	c.Timeout = orDefault(c.Timeout, 30*time.Second)
	c.Limit = orDefault(c.Limit, 4*time.Minute)
	c.Patience = orDefault(c.Patience, time.Minute)
	c.Poll = orDefault(c.Poll, 2*time.Second)
	return &Driver{c}, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Name of the driver.
func (d *Driver) Name() string { return "redfish" }

// CallLimit is the time of a call and of the provisioner's inside it.
func (d *Driver) CallLimit() time.Duration {
	if slow, ok := d.cfg.Provisioner.(driver.Slow); ok {
		return d.cfg.Limit + slow.CallLimit()
	}
	return d.cfg.Limit
}

// Begin starts the machine from the network. What the provisioner says to be over is not started again.
func (d *Driver) Begin(ctx context.Context, t driver.Task) (p driver.Progress, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Limit)
	defer cancel()
	s, err := d.open(ctx, t)
	if err != nil {
		return p, err
	}
	defer s.close()
	if err := s.find(t.Machine.Serial); err != nil {
		return p, err
	}
	if d.cfg.Provisioner != nil {
		if err := driver.Check(ctx); err != nil {
			return p, err
		}
		if p, err = d.cfg.Provisioner.Begin(ctx, t); err != nil || p.State != driver.Running {
			return p, err
		}
	}
	if err := s.bootOnce(); err != nil {
		return driver.Progress{}, err
	}
	if err := s.start(); err != nil {
		return driver.Progress{}, err
	}
	return driver.Progress{State: driver.Running, Step: StepBooting, Percent: -1, Detail: s.told()}, nil
}

// Look asks the provisioner; without one it tells what the BMC sees, which is never the end.
func (d *Driver) Look(ctx context.Context, t driver.Task) (driver.Progress, error) {
	if d.cfg.Provisioner != nil {
		return d.cfg.Provisioner.Look(ctx, t)
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Limit)
	defer cancel()
	s, err := d.open(ctx, t)
	if err != nil {
		return driver.Progress{}, err
	}
	defer s.close()
	if err := s.find(t.Machine.Serial); err != nil {
		return driver.Progress{}, err
	}
	p := driver.Progress{State: driver.Running, Step: StepStarted, Percent: -1, Detail: s.told()}
	switch {
	case s.system.PowerState == gofish.OffPowerState:
		p.Step = StepPoweredOff
	case s.bootIsSet():
		p.Step = StepBooting // the order to start once from the network has not been used up
	}
	return p, nil
}
