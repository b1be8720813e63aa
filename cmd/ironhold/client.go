package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"ironhold/client"
)

// clientCommands speak to a server by its API; they never look at the database.
func clientCommands() []*command {
	return []*command{
		{name: "hold", args: "[constraints] [--key K] [--watch] [--json]",
			short: "Order: hold a machine that meets the constraints. None given takes any machine.", run: holdOrder, more: clientHelp},
		{name: "hold show", args: "ID [--json]", short: "Show a hold.", run: holdShow, more: clientHelp},
		{name: "hold watch", args: "ID", short: "Show the time left until the hold ends; 0 when it was confirmed.", run: holdWatch, more: clientHelp},
		{name: "hold confirm", args: "ID [--os CODE] [--ssh-key FILE] [--json]", short: "Rent the machine: the hold becomes a service.", run: holdConfirm, more: clientHelp},
		{name: "hold cancel", args: "ID [--reason R] [--json]", short: "Give the machine back.", run: holdCancel, more: clientHelp},
		{name: "hold extend", args: "ID [--key K] [--json]", short: "Put the deadline off, once.", run: holdExtend, more: clientHelp},
		{name: "holds", args: "[--state S] [--limit 50] [--json]", short: "List holds, newest first.", run: holdsList, more: clientHelp},
		{name: "services", args: "[--limit 50] [--json]", short: "List services, newest first.", run: servicesList, more: clientHelp},
		{name: "services show", args: "ID [--json]", short: "Show a service.", run: servicesShow, more: clientHelp},
		{name: "services watch", args: "ID", short: "Show how the machine is set up; 0 when it is ready.", run: servicesWatch, more: clientHelp},
		{name: "services end", args: "ID [--at TIME] [--reason R] [--json]", short: "End a service, at once or at a time.", run: servicesEnd, more: clientHelp},
		{name: "services keep", args: "ID [--json]", short: "Withdraw a planned end.", run: servicesKeep, more: clientHelp},
	}
}

func clientHelp(w io.Writer) {
	fmt.Fprint(w, "\nThe server is IRONHOLD_URL (default http://127.0.0.1:8080), the token IRONHOLD_TOKEN.\n"+
		"What gets no answer is sent again, with the same key.\n\nExit codes: 0 done, 1 error, 2 bad usage, 3 no answer")
	for _, name := range client.Outcomes {
		fmt.Fprintf(w, ", %d %s", client.ExitCode(name), name)
	}
	fmt.Fprintln(w, ".")
}

// api makes the client of the environment. A request that is sent again is told on stderr.
func (c *call) api() (*client.Client, error) {
	address, _ := c.env("IRONHOLD_URL")
	if address == "" {
		address = "http://127.0.0.1:8080"
	}
	token, _ := c.env("IRONHOLD_TOKEN")
	if token == "" {
		return nil, usagef("IRONHOLD_TOKEN is not set")
	}
	api, err := client.New(address, token)
	if err != nil {
		return nil, usagef("IRONHOLD_URL: %s", err)
	}
	api.Notice = func(s string) { fmt.Fprintln(c.stderr, oneLine(s)) }
	return api, nil
}

// refused prints the problem as the JSON object of a refused command.
func (c *call) refused(err error) error {
	if p, ok := errors.AsType[*client.Problem](err); ok && c.json {
		fmt.Fprintln(c.stdout, oneLine(string(p.Raw)))
	}
	return err
}

// exitCode is the client's for its errors, else 1.
func exitCode(err error) int {
	if p, ok := errors.AsType[*client.Problem](err); ok {
		return client.ExitCode(p.Name())
	}
	if _, ok := errors.AsType[*client.NoAnswer](err); ok {
		return client.ExitNoAnswer
	}
	return exitError
}

// one runs a command on one object by its id.
func one[T any](c *call, do func(*client.Client, string) (T, error), show func(*call, T) error) error {
	c.jsonFlag()
	ids, err := c.parse("ID")
	if err != nil {
		return err
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	v, err := do(api, ids[0])
	if err != nil {
		return c.refused(err)
	}
	return show(c, v)
}

func holdShow(ctx context.Context, c *call) error {
	return one(c, func(a *client.Client, id string) (client.Hold, error) { return a.GetHold(ctx, id) }, printHold)
}

func holdCancel(ctx context.Context, c *call) error {
	reason := c.flags.String("reason", "", "`text` that is kept in the history")
	return one(c, func(a *client.Client, id string) (client.Hold, error) { return a.Cancel(ctx, id, *reason) }, printHold)
}

func holdExtend(ctx context.Context, c *call) error {
	key := c.flags.String("key", "", "idempotency `key`; one is made and printed when it is left out")
	return one(c, func(a *client.Client, id string) (client.Hold, error) { return a.Extend(ctx, id, c.key(*key)) }, printHold)
}

func servicesShow(ctx context.Context, c *call) error {
	return one(c, func(a *client.Client, id string) (client.Service, error) { return a.GetService(ctx, id) }, printService)
}

// key gives the key, or makes one and prints it before it is used: with it, whoever lost the answer
// can ask again.
func (c *call) key(given string) string {
	if given != "" {
		return given
	}
	key := client.NewKey()
	fmt.Fprintln(c.stderr, "key "+key)
	return key
}

func holdsList(ctx context.Context, c *call) error {
	state := c.flags.String("state", "", "held, converted, expired or cancelled")
	return listed(c, func(a *client.Client, most int) ([]client.Hold, error) { return a.Holds(ctx, *state, most) },
		func(h client.Hold) json.RawMessage { return h.Raw }, "ID\tSTATE\tMACHINE\tSITE\tPRICE/MONTH\tLEFT",
		func(h client.Hold) []string {
			return []string{h.ID, h.State, h.Machine.AssetTag, h.Machine.Site, price(h.PriceMonth), left(h.SecondsLeft)}
		})
}

func servicesList(ctx context.Context, c *call) error {
	return listed(c, func(a *client.Client, most int) ([]client.Service, error) { return a.Services(ctx, most) },
		func(s client.Service) json.RawMessage { return s.Raw }, "ID\tSTATE\tMACHINE\tSITE\tPRICE/MONTH\tSINCE",
		func(s client.Service) []string {
			return []string{s.ID, s.State, s.Machine.AssetTag, s.Machine.Site, price(s.PriceMonth), s.StartedAt.Format(time.RFC3339)}
		})
}

// listed prints a list as a table or as one JSON object.
func listed[T any](c *call, get func(*client.Client, int) ([]T, error), raw func(T) json.RawMessage, head string, row func(T) []string) error {
	most := c.flags.Int("limit", 50, "at most so many")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if *most < 1 {
		return usagef("--limit must be at least 1")
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	rows, err := get(api, *most)
	if err != nil {
		return c.refused(err)
	}
	if c.json {
		items := make([]json.RawMessage, len(rows))
		for i, r := range rows {
			items[i] = raw(r)
		}
		return c.print(map[string]any{"items": items}, "")
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, r := range rows {
		fmt.Fprintln(w, printable(strings.Join(row(r), "\t")))
	}
	return w.Flush()
}

func printHold(c *call, h client.Hold) error {
	if c.json {
		return c.print(h.Raw, "")
	}
	lines := [][2]string{
		{"hold", h.ID}, {"state", h.State}, {"machine", described(h.Machine)}, {"price", price(h.PriceMonth) + " per month"},
		{"until", h.ExpiresAt.Format(time.RFC3339) + ", " + left(h.SecondsLeft) + " left"},
	}
	if h.State != "held" {
		lines = lines[:4]
	}
	if h.Service != "" {
		lines = append(lines, [2]string{"service", h.Service})
	}
	return c.lines(lines)
}

func printService(c *call, s client.Service) error {
	if c.json {
		return c.print(s.Raw, "")
	}
	lines := [][2]string{
		{"service", s.ID}, {"state", s.State}, {"machine", described(s.Machine)}, {"price", price(s.PriceMonth) + " per month"},
		{"since", s.StartedAt.Format(time.RFC3339)},
	}
	if s.OS != "" {
		lines = append(lines, [2]string{"system", s.OS})
	}
	if p := s.Provisioning; p != nil {
		lines = append(lines, [2]string{p.Kind, progress(p)})
	}
	if s.EndAt != nil {
		lines = append(lines, [2]string{"ends", s.EndAt.Format(time.RFC3339)})
	}
	if s.EndedAt != nil {
		lines = append(lines, [2]string{"ended", s.EndedAt.Format(time.RFC3339)})
	}
	return c.lines(lines)
}

func (c *call) lines(rows [][2]string) error {
	for _, r := range rows {
		if _, err := fmt.Fprintf(c.stdout, "%-8s %s\n", r[0], printable(r[1])); err != nil {
			return err
		}
	}
	return nil
}

func described(m client.Machine) string {
	return fmt.Sprintf("%s at %s, %s, %d cores, %d GB", m.AssetTag, m.Site, m.CPU, m.Cores, m.RAMGB)
}

func price(m client.Money) string {
	return fmt.Sprintf("%d.%02d %s", m.AmountMinor/100, m.AmountMinor%100, m.Currency)
}

func left(seconds int) string {
	if seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// printable keeps a server's words from moving the cursor of a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
