package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"ironhold/cmd/ironhold-bench/bench"
)

// The bounds of a page: so large, and so long to the last byte for 19 of 20.
const (
	pageBytes = 50_000
	pageTime  = 200 * time.Millisecond
)

// lookAtPages lets fifty people look at the pages of a portal with sample data that runs on this machine
// (ironhold serve --demo), and says how long each page took. False when a page is beyond a bound.
func lookAtPages(ctx context.Context, url string) (ok bool, err error) {
	l := bench.PagesLoad{URL: url, Users: 50, For: time.Minute, Think: 2 * time.Second, People: map[string]string{
		"ada@nordlys.example": "nordlys customer demo", "grace@nordlys.example": "nordlys admin demo",
		"sam@ironhold.example": "ironhold sales demo", "olga@ironhold.example": "ironhold operator demo",
	}}
	list, err := l.Run(ctx)
	if err != nil {
		return false, err
	}
	fmt.Printf("%d people for %v, thinking %v on the average\n\n", l.Users, l.For, l.Think)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "page\trequests\tkB\tp50 ms\tp95 ms\tp50 as /healthz\t\n")
	ok = true
	base := list[0].P50
	for _, p := range list {
		mark := ""
		if p.Bytes > pageBytes || p.P95 > pageTime {
			mark, ok = "beyond the bound", false
		}
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%s\n", p.Path, p.Requests, float64(p.Bytes)/1000, ms(p.P50), ms(p.P95), float64(p.P50)/float64(base), mark)
	}
	return ok, t.Flush()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
