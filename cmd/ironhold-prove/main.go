//go:build linux

// Command ironhold-prove attacks a running Ironhold with people and faults and judges every
// answer: see the package prove. It prints the figures and its seed; exit code 1 when the promise
// was broken or the proof could not be carried out.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"ironhold/cmd/ironhold-prove/prove"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := prove.Full()
	short := flag.Bool("short", false, "the short form")
	seed := flag.Uint64("seed", 0, "decides what is done (default: drawn)")
	orders := flag.Int("orders", -1, "orders of the mixed load")
	scale := flag.Float64("scale", 1, "part of the figures of the full form")
	log := flag.String("log", "", "file for the requests, a JSON object a line")
	flag.Parse()
	if *short {
		o = prove.Short()
	}
	o = o.Scaled(*scale)
	if *orders >= 0 {
		o.Orders = *orders
	}
	o.Seed, o.LogFile = *seed, *log
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>16 + 1
	}
	fmt.Printf("seed %d\n", o.Seed)
	o.Progress = progress()
	report, err := prove.Run(ctx, o)
	if report != nil {
		show(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ironhold-prove:", err)
		os.Exit(1)
	}
	if len(report.Violations) > 0 {
		os.Exit(1)
	}
}

// progress rewrites one line on a terminal and writes lines elsewhere.
func progress() func(string) {
	began := time.Now()
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	last := time.Time{}
	return func(text string) {
		line := fmt.Sprintf("%6.1fs %s", time.Since(began).Seconds(), text)
		switch {
		case terminal:
			fmt.Printf("\r\x1b[K%s", line)
		case time.Since(last) > 5*time.Second || !strings.Contains(text, " of "):
			last = time.Now()
			fmt.Println(line)
		}
	}
}

func show(r *prove.Report) {
	fmt.Printf("\n\nseed %d, %s, %d requests\n\n", r.Seed, r.Took.Round(time.Second), r.Requests)
	for _, p := range r.Phases {
		fmt.Printf("%-14s %6s  %s\n", p.Name, p.Took.Round(time.Second), p.Text)
	}
	fmt.Println("\nfaults")
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Printf("  %-62s %d\n", name, r.Faults[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Printf("  %-62s left out: %s\n", name, r.LeftOut[name])
	}
	fmt.Printf("\njudged\n%s", r.Verdict.Summary())
	table("connections, how long each caller kept one", "pool", r.Hygiene)
	table("locks, how long each caller kept one", "lock", r.Locks)
	fmt.Printf("\nviolations: %d\n", len(r.Violations))
	for i, v := range r.Violations {
		if i == 50 {
			fmt.Printf("  and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Println("  " + v)
	}
	fmt.Println("requests in", r.LogFile)
}

func table(title, what string, rows []prove.HoldTime) {
	when := ""
	for _, h := range rows {
		if h.When != when {
			when = h.When
			fmt.Printf("\n%s: %s\n  %-12s %-44s %8s %9s %9s\n", title, when, what, "caller", "times", "mean ms", "99 % ms")
		}
		most := "more"
		if h.Most > 0 {
			most = fmt.Sprintf("< %g", h.Most*1000)
		}
		fmt.Printf("  %-12s %-44s %8d %9.2f %9s\n", h.What, h.Caller, h.Count, h.Mean*1000, most)
	}
}
