package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ironhold/client"
)

// maxKeyFile bounds a file of public keys, in bytes.
const maxKeyFile = 64 << 10

func holdConfirm(ctx context.Context, c *call) error {
	var setup client.Setup
	c.flags.StringVar(&setup.OS, "os", "", "`code` of the operating system; the first on offer when it is left out")
	c.flags.Func("ssh-key", "`file` of public SSH keys, such as ~/.ssh/id_ed25519.pub; repeat for several", func(name string) error {
		keys, err := keysOf(name)
		setup.SSHKeys = append(setup.SSHKeys, keys...)
		return err
	})
	return one(c, func(a *client.Client, id string) (client.Service, error) { return a.Confirm(ctx, id, setup) }, printService)
}

// keysOf reads the lines of a file with public keys. A private key is not sent anywhere.
func keysOf(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || info.Size() > maxKeyFile {
		return nil, fmt.Errorf("%s is no file of public keys", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(text), "PRIVATE KEY") {
		return nil, fmt.Errorf("%s is a private key; the file beside it that ends in .pub is meant", name)
	}
	var keys []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key", name)
	}
	return keys, nil
}

func servicesEnd(ctx context.Context, c *call) error {
	reason := c.flags.String("reason", "", "`text` that is kept in the history")
	at := c.flags.String("at", "", "end it at this `time`, such as 2026-12-24T18:00:00Z; at once when it is left out")
	return one(c, func(a *client.Client, id string) (client.Service, error) { return a.End(ctx, id, *reason, *at) }, printService)
}

func servicesKeep(ctx context.Context, c *call) error {
	return one(c, func(a *client.Client, id string) (client.Service, error) { return a.Keep(ctx, id) }, printService)
}

// lookEvery is how often the server is asked while a service is watched.
const lookEvery = 2 * time.Second

// servicesWatch shows how the machine is set up, a line for each change, until it is ready.
func servicesWatch(ctx context.Context, c *call) error {
	ids, err := c.parse("ID")
	if err != nil {
		return err
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	shown := ""
	for {
		s, err := api.GetService(ctx, ids[0])
		if err != nil {
			return err
		}
		switch p := s.Provisioning; {
		case s.EndedAt != nil:
			return errors.New(oneLine(printable("service " + s.ID + " has ended: " + s.EndReason)))
		case p == nil || p.State == "done":
			fmt.Fprintln(c.stdout, printable("service "+s.ID+" is ready"))
			return nil
		case progress(p) != shown:
			shown = progress(p)
			fmt.Fprintln(c.stdout, printable(p.Kind+" "+shown))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// progress is how far the machine is, in words.
func progress(p *client.Provisioning) string {
	text := p.State
	if p.Step != "" {
		text += ", " + p.Step
	}
	if p.Percent != nil && p.State == "running" {
		text += fmt.Sprintf(", %d %%", *p.Percent)
	}
	return text
}
