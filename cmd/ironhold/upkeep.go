package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/holds"
	"ironhold/holds/invariants"
)

// migrate brings the schema up. On the embedded server every command does so by itself.
func migrate(ctx context.Context, c *call) (err error) {
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	s, err := c.load()
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop(context.WithoutCancel(ctx))) }()
	if err := d.migrate(ctx); err != nil {
		return err
	}
	return c.print(struct {
		Current bool `json:"current"`
	}{true}, "the schema is current")
}

func sweep(ctx context.Context, c *call) error {
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(s settings, db *pgxpool.Pool) error {
		n, err := holds.New(db, s.policy()).Sweep(ctx)
		if err != nil {
			return err
		}
		return c.print(struct {
			Expired int `json:"expired"`
		}{n}, strconv.Itoa(n))
	})
}

// doctor checks every invariant and repairs nothing.
func doctor(ctx context.Context, c *call) error {
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(s settings, db *pgxpool.Pool) error {
		results, err := checker(db, s).Check(ctx)
		if err != nil {
			return err
		}
		type line struct {
			Name        string   `json:"name"`
			Description string   `json:"description"`
			Violations  int      `json:"violations"`
			Examples    []string `json:"examples"`
		}
		var violated []string
		lines := make([]line, 0, len(results))
		var text strings.Builder
		for _, r := range results {
			lines = append(lines, line{r.Name, r.Description, r.Violations, append([]string{}, r.Examples...)})
			fmt.Fprintf(&text, "%6d  %-32s %s\n", r.Violations, r.Name, r.Description)
			for _, e := range r.Examples {
				fmt.Fprintf(&text, "        e.g. %s\n", oneLine(e))
			}
			if r.Violations > 0 {
				violated = append(violated, r.Name)
			}
		}
		err = c.print(struct {
			OK         bool   `json:"ok"`
			Invariants []line `json:"invariants"`
		}{len(violated) == 0, lines}, strings.TrimSuffix(text.String(), "\n"))
		if err == nil && len(violated) > 0 {
			err = fmt.Errorf("violated: %s", strings.Join(violated, ", "))
		}
		return err
	})
}

func checker(db *pgxpool.Pool, s settings) *invariants.Checker {
	return invariants.New(db).WithSweepInterval(s.SweepInterval)
}
