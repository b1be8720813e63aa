package views

import (
	"context"
	"strconv"
	"time"

	"ironhold/views/i18n"
)

// HealthPage is how the system is, for operators.
type HealthPage struct {
	AsOf     time.Time
	Watched  bool // this process has read the server's state
	Hidden   bool // other logins' sessions are not among the figures
	Charts   []Chart
	Blockers []BlockerRow
	Tables   []TableRow
	Replicas []ReplicaRow
}

// Chart is a figure of the last hour: a value for each minute, the newest last.
type Chart struct {
	Key    string // of the texts chart.KEY.title, .what and .help
	Unit   string // seconds or count
	Values []float64
	Alarm  bool // the newest value needs somebody
}

// BlockerRow is a session that others wait for.
type BlockerRow struct {
	Application, State string
	Open               time.Duration
	HoldsUp            int
}

// TableRow is a table's work for autovacuum.
type TableRow struct {
	Name       string
	Live, Dead int64
	Hot        int // percent
	Vacuumed   *time.Time
}

// ReplicaRow is a standby.
type ReplicaRow struct {
	Name, Sync string
	Lag        time.Duration
}

// chart's coordinates.
const (
	chartWide = 240
	chartHigh = 48
)

func (c Chart) now() float64 {
	if len(c.Values) == 0 {
		return 0
	}
	return c.Values[len(c.Values)-1]
}

func (c Chart) most() float64 {
	most := 0.0
	for _, v := range c.Values {
		most = max(most, v)
	}
	return most
}

// said is a value with its unit.
func (c Chart) said(ctx context.Context, v float64) string {
	if c.Unit == "seconds" {
		if v > 0 && v < 1 {
			return t(ctx, "chart.below_second")
		}
		return i18n.Span(ctx, time.Duration(v*float64(time.Second)).Round(time.Second))
	}
	return i18n.Int(ctx, int64(v+.5))
}

// bar is one column of a chart.
type bar struct{ X, Y, Wide, High string }

// bars draws each value as a column; what is not nothing is seen.
func (c Chart) bars() []bar {
	most := c.most()
	if most == 0 {
		return nil
	}
	step := float64(chartWide) / float64(len(c.Values))
	var out []bar
	for i, v := range c.Values {
		if v <= 0 {
			continue
		}
		high := max(1.5, v/most*chartHigh)
		out = append(out, bar{X: decimal(float64(i) * step), Y: decimal(chartHigh - high), Wide: decimal(step * .8), High: decimal(high)})
	}
	return out
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
