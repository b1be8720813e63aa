//go:build linux

package prove

import (
	"bufio"
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// HoldTime is how long callers of one kind kept a connection, over the processes that were there at the
// end of a phase: those that a fault ended take their figures with them.
type HoldTime struct {
	Pool, Caller string
	Count        int
	Mean         float64 // seconds
	Under20ms    float64 // part of the times
}

type caller struct{ pool, name string }

// hygiene adds up what the processes measured.
type hygiene struct{ count, sum, quick map[caller]float64 }

var holdLine = regexp.MustCompile(`^ironhold_connection_hold_seconds_(bucket|count|sum)\{caller="([^"]*)"(?:,le="([^"]*)")?,pool="([^"]*)"(?:,le="([^"]*)")?\} (\S+)`)

// measure adds the metrics of the processes, which count since their start: once in the life of each,
// before it is stopped.
func (r *run) measure(ctx context.Context) {
	if r.times.count == nil {
		r.times = hygiene{map[caller]float64{}, map[caller]float64{}, map[caller]float64{}}
	}
	for _, p := range r.world.Processes {
		ask, done := context.WithTimeout(ctx, 10*time.Second)
		req, _ := http.NewRequestWithContext(ask, http.MethodGet, "http://"+p.Metrics+"/metrics", nil)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				r.times.read(lines.Text())
			}
			_ = resp.Body.Close()
		}
		done()
	}
}

func (h *hygiene) read(line string) {
	m := holdLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	v, _ := strconv.ParseFloat(m[6], 64)
	c := caller{m[4], m[2]}
	switch {
	case m[1] == "count":
		h.count[c] += v
	case m[1] == "sum":
		h.sum[c] += v
	case m[3] == "0.02" || m[5] == "0.02":
		h.quick[c] += v
	}
}

// table lists the callers, those first who kept connections longest in all.
func (h *hygiene) table() []HoldTime {
	var out []HoldTime
	for c, n := range h.count {
		if n > 0 {
			out = append(out, HoldTime{Pool: c.pool, Caller: c.name, Count: int(n), Mean: h.sum[c] / n, Under20ms: h.quick[c] / n})
		}
	}
	slices.SortFunc(out, func(a, b HoldTime) int {
		return cmp.Or(cmp.Compare(b.Mean*float64(b.Count), a.Mean*float64(a.Count)), cmp.Compare(a.Caller, b.Caller))
	})
	return out
}
