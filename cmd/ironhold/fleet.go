package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/fleet"
	bars "ironhold/progress"
)

func importFleet(ctx context.Context, c *call) error {
	format := c.flags.String("format", "", "`format` of the file: csv")
	dryRun := c.flags.Bool("dry-run", false, "say what would happen and write nothing")
	c.jsonFlag()
	args, err := c.parse("FILE")
	if err != nil {
		return err
	}
	if err := c.require("format"); err != nil {
		return err
	}
	if *format != "csv" {
		return usagef("--format: %q is not known, only csv is", *format)
	}
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return err
	} else if info.IsDir() {
		return fmt.Errorf("%s is a folder, not a file", args[0])
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		bar := bars.New(c.stderr, "import, rows", 0)
		report, err := fleet.New(db).Import(ctx, c.by(), file, fleet.ImportOptions{DryRun: *dryRun, Progress: bar.At})
		bar.Done()
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if report.Refused == nil {
			report.Refused = []fleet.Notice{}
		}
		if report.Warnings == nil {
			report.Warnings = []fleet.Notice{}
		}
		return c.print(report, reportText(report))
	})
}

func reportText(r fleet.Report) string {
	var b strings.Builder
	for _, n := range r.Refused {
		fmt.Fprintf(&b, "line %d refused: %s\n", n.Line, oneLine(n.Reason))
	}
	for _, n := range r.Warnings {
		fmt.Fprintf(&b, "line %d warning: %s\n", n.Line, oneLine(n.Reason))
	}
	if r.DryRun {
		b.WriteString("dry run, nothing was written: ")
	}
	fmt.Fprintf(&b, "added %d, changed %d, unchanged %d, refused %d", r.Added, r.Changed, r.Unchanged, len(r.Refused))
	return b.String()
}

func machineStatus(ctx context.Context, c *call) error {
	reason := c.flags.String("reason", "", "why, a `text` for the history")
	c.jsonFlag()
	args, err := c.parse("TAG", "STATUS")
	if err != nil {
		return err
	}
	status, err := fleet.ParseStatus(args[1])
	if err != nil {
		return usagef("%v", err)
	}
	if err := c.require("reason"); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		m, err := fleet.New(db).SetStatus(ctx, c.by(), args[0], status, *reason)
		if err != nil {
			return err
		}
		return c.printMachine(m)
	})
}

func machineWiped(ctx context.Context, c *call) error {
	reason := c.flags.String("reason", "", "why, a `text` for the history")
	c.jsonFlag()
	args, err := c.parse("TAG")
	if err != nil {
		return err
	}
	if err := c.require("reason"); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		m, err := fleet.New(db).Wiped(ctx, c.by(), args[0], *reason)
		if err != nil {
			return err
		}
		return c.printMachine(m)
	})
}

// machineRelease lets a machine that was set aside after failures come back on sale.
func machineRelease(ctx context.Context, c *call) error {
	reason := c.flags.String("reason", "", "why, a `text` for the history")
	c.jsonFlag()
	args, err := c.parse("TAG")
	if err != nil {
		return err
	}
	if err := c.require("reason"); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		m, err := fleet.New(db).Release(ctx, c.by(), args[0], *reason)
		if err != nil {
			return err
		}
		return c.printMachine(m)
	})
}

func (c *call) printMachine(m fleet.Machine) error {
	return c.print(struct {
		AssetTag     string     `json:"asset_tag"`
		Site         string     `json:"site"`
		Status       string     `json:"status"`
		StatusReason string     `json:"status_reason"`
		StatusAt     time.Time  `json:"status_at"`
		WipedAt      *time.Time `json:"wiped_at"`
	}{m.AssetTag, m.SiteCode, string(m.Status), m.StatusReason, m.StatusAt.UTC(), m.WipedAt},
		fmt.Sprintf("%s is %s", m.AssetTag, m.Status))
}

// noBMC is the address that forgets a BMC.
const noBMC = "none"

func machineBMC(ctx context.Context, c *call) error {
	fingerprint := c.flags.String("fingerprint", "", "`SHA-256` of the BMC's certificate, 64 hexadecimal digits; without it drivers refuse to connect")
	c.jsonFlag()
	args, err := c.parse("TAG", "ADDRESS")
	if err != nil {
		return err
	}
	address := strings.TrimSpace(args[1])
	switch address {
	case "":
		return usagef("ADDRESS is missing; none forgets it")
	case noBMC:
		address = ""
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		b, err := fleet.New(db).SetBMC(ctx, c.by(), args[0], address, *fingerprint)
		if err != nil {
			return err
		}
		text := args[0] + " has no BMC"
		if b.Address != "" {
			text = fmt.Sprintf("the BMC of %s is %s", args[0], b.Address)
			if b.Fingerprint == "" {
				text += ", without a fingerprint: drivers refuse to connect"
			}
		}
		return c.print(struct {
			AssetTag    string `json:"asset_tag"`
			Address     string `json:"address"`
			Fingerprint string `json:"fingerprint"`
		}{args[0], b.Address, b.Fingerprint}, text)
	})
}
