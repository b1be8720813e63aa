package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"ironhold/client"
)

// words collects a flag that may be repeated.
type words struct{ to *[]string }

func (w words) String() string { return "" }

func (w words) Set(s string) error {
	*w.to = append(*w.to, s)
	return nil
}

// orderFlags registers the constraints of an order. What they may be is the server's to say.
func orderFlags(c *call) *client.Order {
	o := &client.Order{}
	c.flags.Var(words{&o.Sites}, "site", "site `code`; repeat for any of several")
	c.flags.Var(words{&o.Vendors}, "vendor", "`vendor`; repeat for any of several")
	c.flags.Var(words{&o.Features}, "feature", "`feature`; repeat for all of several")
	c.flags.StringVar(&o.CPU, "cpu", "", "part of the processor's `name`")
	c.flags.StringVar(&o.Currency, "currency", "", "of the limit, as `EUR`; needed where prices are in several")
	c.flags.StringVar(&o.Machine, "machine", "", "exactly this machine, by its asset `tag`")
	c.flags.StringVar(&o.Org, "org", "", "for the organisation with this `slug`; staff alone")
	for name, to := range map[string]**int64{
		"min-cores": &o.MinCores, "min-threads": &o.MinThreads, "min-ram-gb": &o.MinRAMGB, "min-nvme-gb": &o.MinNVMeGB, "min-ssd-gb": &o.MinSSDGB,
		"min-hdd-gb": &o.MinHDDGB, "min-nic-mbps": &o.MinNICMbps, "max-price-month-minor": &o.MaxPriceMonthMinor,
	} {
		c.flags.Func(name, "whole `number`", func(s string) error {
			n, err := strconv.ParseInt(s, 10, 64)
			*to = &n
			return err
		})
	}
	c.flags.BoolFunc("ecc", "memory with error correction", flagValue(&o.ECC))
	c.flags.BoolFunc("gpu", "with a graphics card", flagValue(&o.GPU))
	return o
}

func flagValue(to **bool) func(string) error {
	return func(s string) error {
		v, err := strconv.ParseBool(s)
		*to = &v
		return err
	}
}

func holdOrder(ctx context.Context, c *call) error {
	o := orderFlags(c)
	key := c.flags.String("key", "", "idempotency `key`; one is made and printed when it is left out")
	watch := c.flags.Bool("watch", false, "then show the time left until the hold ends")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if *watch && c.json {
		return usagef("--watch and --json exclude each other")
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	h, err := api.Hold(ctx, *o, c.key(*key))
	if err != nil {
		return c.refused(err)
	}
	if err := printHold(c, h); err != nil || !*watch {
		return err
	}
	return watchHold(ctx, c, api, h)
}

func holdWatch(ctx context.Context, c *call) error {
	ids, err := c.parse("ID")
	if err != nil {
		return err
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	h, err := api.GetHold(ctx, ids[0])
	if err != nil {
		return err
	}
	return watchHold(ctx, c, api, h)
}

// askEvery is how often the server is asked while a hold is watched: it may be confirmed, extended
// or given back by somebody else.
const askEvery = 5 * time.Second

// watchHold shows the time left until the hold ends: on a terminal in one line that changes, else
// in a line for each minute and change. The server's clock counts; this one only measures since its
// last answer.
func watchHold(ctx context.Context, c *call, api *client.Client, h client.Hold) error {
	asked, terminal, shown := time.Now(), isTerminal(c), ""
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		seconds := max(0, h.SecondsLeft-int(time.Since(asked).Seconds()))
		if h.State != "held" {
			if terminal {
				fmt.Fprintln(c.stdout)
			}
			fmt.Fprintln(c.stdout, printable("hold "+h.ID+" "+h.State))
			if h.State == "converted" {
				return nil
			}
			return &client.Problem{Type: "/problems/hold-" + h.State, Detail: "the hold ended"}
		}
		line := "minutes left: " + strconv.Itoa((seconds+59)/60) + ", until " + h.ExpiresAt.Format(time.RFC3339)
		switch {
		case terminal:
			fmt.Fprintf(c.stdout, "\r%s left of hold %s ", left(seconds), printable(h.ID))
		case line != shown:
			fmt.Fprintln(c.stdout, line)
			shown = line
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if time.Since(asked) >= askEvery || seconds == 0 {
			next, err := api.GetHold(ctx, h.ID)
			if err != nil {
				return err
			}
			h, asked = next, time.Now()
		}
	}
}

func isTerminal(c *call) bool {
	f, ok := c.stdout.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	term, _ := c.env("TERM")
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !strings.EqualFold(term, "dumb")
}
