package bench

import (
	"slices"
	"time"
)

// Run is one round of one side.
type Run struct {
	Rate    float64 // claims per second in the middle of the round
	P50     time.Duration
	P99     time.Duration
	Claims  int            // that have a hold
	Asked   int            // that were sent
	Refused map[string]int // what the others were answered, and how often
}

// finished is the end of one claim, since the round began, and how long it took.
type finished struct{ at, took time.Duration }

// rated turns the ends of all claims into a Run. share is how many of them wrote a hold.
func rated(ends []finished, held int) Run {
	r := Run{Claims: held, Asked: len(ends)}
	if len(ends) < 10 {
		return r
	}
	slices.SortFunc(ends, func(a, b finished) int { return int(a.at - b.at) })
	from, to := len(ends)/5, len(ends)*9/10
	if span := ends[to].at - ends[from].at; span > 0 {
		r.Rate = float64(to-from) / span.Seconds() * float64(held) / float64(len(ends))
	}
	took := make([]time.Duration, 0, to-from)
	for _, e := range ends[from:to] {
		took = append(took, e.took)
	}
	slices.Sort(took)
	r.P50, r.P99 = took[len(took)/2], took[len(took)*99/100]
	return r
}

// Median gives the middle of values, the lowest and the highest.
func Median(values []float64) (median, low, high float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[len(v)/2], v[0], v[len(v)-1]
}
