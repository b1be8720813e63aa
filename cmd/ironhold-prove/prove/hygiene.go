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

// HoldTime is how long callers of one kind kept a connection or a lock, over the processes that were there
// at the end of a phase: those that a fault ended take their figures with them.
type HoldTime struct {
	When   string // the phases, those with faults apart
	What   string // of connections the pool, of locks which
	Caller string
	Count  int
	Mean   float64 // seconds
	Most   float64 // seconds that 99 of 100 stayed below, a bound of the histogram; 0: above all bounds
}

type caller struct{ when, what, name string }

// hygiene adds up what the processes measured.
type hygiene struct {
	count, sum map[caller]float64
	below      map[caller]map[float64]float64 // by bound
}

var (
	connectionLine = regexp.MustCompile(`^ironhold_connection_hold_seconds_(bucket|count|sum)\{caller="(?P<caller>[^"]*)",pool="(?P<what>[^"]*)"(?:,le="(?P<le>[^"]*)")?\} (?P<value>\S+)`)
	lockLine       = regexp.MustCompile(`^ironhold_lock_hold_seconds_(bucket|count|sum)\{caller="(?P<caller>[^"]*)",lock="(?P<what>[^"]*)"(?:,le="(?P<le>[^"]*)")?\} (?P<value>\S+)`)
)

// measure adds the metrics of the processes, which count since their start: once in the life of each,
// before it is stopped.
func (r *run) measure(ctx context.Context) {
	for _, p := range r.world.Processes {
		ask, done := context.WithTimeout(ctx, 10*time.Second)
		req, _ := http.NewRequestWithContext(ask, http.MethodGet, "http://"+p.Metrics+"/metrics", nil)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				r.connections.read(connectionLine, r.when, lines.Text())
				r.locks.read(lockLine, r.when, lines.Text())
			}
			_ = resp.Body.Close()
		}
		done()
	}
	r.when = ""
}

func (h *hygiene) read(form *regexp.Regexp, when, line string) {
	m := form.FindStringSubmatch(line)
	if m == nil {
		return
	}
	if h.count == nil {
		*h = hygiene{map[caller]float64{}, map[caller]float64{}, map[caller]map[float64]float64{}}
	}
	v, _ := strconv.ParseFloat(m[form.SubexpIndex("value")], 64)
	c := caller{when, m[form.SubexpIndex("what")], m[form.SubexpIndex("caller")]}
	switch m[1] {
	case "count":
		h.count[c] += v
	case "sum":
		h.sum[c] += v
	default:
		if h.below[c] == nil {
			h.below[c] = map[float64]float64{}
		}
		bound, _ := strconv.ParseFloat(m[form.SubexpIndex("le")], 64)
		h.below[c][bound] += v
	}
}

// table lists the callers by phase, those first who kept most in all.
func (h *hygiene) table() []HoldTime {
	var out []HoldTime
	for c, n := range h.count {
		if n == 0 {
			continue
		}
		t := HoldTime{When: c.when, What: c.what, Caller: c.name, Count: int(n), Mean: h.sum[c] / n}
		for bound, below := range h.below[c] {
			if below >= 0.99*n && bound < 1e9 && (t.Most == 0 || bound < t.Most) {
				t.Most = bound
			}
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b HoldTime) int {
		return cmp.Or(cmp.Compare(a.When, b.When), cmp.Compare(b.Mean*float64(b.Count), a.Mean*float64(a.Count)), cmp.Compare(a.What+a.Caller, b.What+b.Caller))
	})
	return out
}
