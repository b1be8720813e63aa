package web

import (
	"net/http"
	"time"

	"ironhold/allocator"
	"ironhold/migrations/pg/vitals"
	"ironhold/notify"
	"ironhold/views"
)

// hour is what the charts show, a value a minute.
const hour = 60

// health shows the few figures that an operator looks at first.
func (s *server) health(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	tally, err := allocator.Tally(ctx, s.DB, hour)
	if err != nil {
		return err
	}
	overdue, err := s.Holds.OldestOverdue(ctx)
	if err != nil {
		return err
	}
	relay, err := notify.Lag(ctx, s.DB)
	if err != nil {
		return err
	}
	now, err := s.Allocator.Now(ctx)
	if err != nil {
		return err
	}
	m := views.HealthPage{AsOf: now, Charts: orderCharts(tally)}
	var last vitals.Reading
	var past []vitals.Reading
	if s.Vitals != nil {
		last, m.Watched = s.Vitals.Last()
		past = s.Vitals.Readings()
	}
	m.Hidden = m.Watched && !last.SeesAll
	m.Charts = append(m.Charts, vitalsCharts(past, now)...)
	m.Charts = append(m.Charts,
		views.Chart{Key: "overdue", Unit: "seconds", Values: []float64{overdue}, Alarm: overdue > 150},
		views.Chart{Key: "relay", Unit: "seconds", Values: []float64{relay}, Alarm: relay > 120})
	for _, b := range last.Blockers {
		m.Blockers = append(m.Blockers, views.BlockerRow{Application: b.Application, State: b.State, HoldsUp: b.HoldsUp,
			Open: time.Duration(b.TransactionS * float64(time.Second)).Round(time.Second)})
	}
	for _, t := range last.Tables {
		m.Tables = append(m.Tables, views.TableRow{Name: t.Name, Live: t.Live, Dead: t.Dead, Hot: int(100 * t.HotRatio), Vacuumed: t.LastAutovacuum})
	}
	for _, x := range last.Replicas {
		m.Replicas = append(m.Replicas, views.ReplicaRow{Name: x.Name, Sync: x.Sync, Lag: time.Duration(x.ReplayLagS * float64(time.Second)).Round(time.Second)})
	}
	return s.render(w, r, http.StatusOK, views.Health(m))
}

// orderCharts are of all processes: they come from the attempts.
func orderCharts(tally []allocator.Minute) []views.Chart {
	held, refused, undecided := views.Chart{Key: "held", Unit: "count"}, views.Chart{Key: "refused", Unit: "count"}, views.Chart{Key: "undecided", Unit: "count"}
	for _, t := range tally {
		held.Values = append(held.Values, float64(t.Held))
		refused.Values = append(refused.Values, float64(t.Refused))
		undecided.Values = append(undecided.Values, float64(t.Undecided))
	}
	if n := len(tally); n > 0 {
		t := tally[n-1]
		undecided.Alarm = t.Undecided > 0 && 20*t.Undecided > t.Held+t.Refused
	}
	return []views.Chart{held, refused, undecided}
}

// vitalsCharts put the highest reading of each minute into it.
func vitalsCharts(past []vitals.Reading, now time.Time) []views.Chart {
	charts := []struct {
		key, unit string
		value     func(vitals.Reading) float64
		alarm     float64
	}{
		{"locks", "count", func(r vitals.Reading) float64 { return float64(r.LockWaits) }, 5},
		{"transaction", "seconds", func(r vitals.Reading) float64 { return r.OldestTransaction.Seconds() }, 600},
		{"idle", "seconds", func(r vitals.Reading) float64 { return r.OldestIdle.Seconds() }, 30},
		{"jobs", "seconds", jobsAge, 300},
		{"connections", "count", func(r vitals.Reading) float64 { return float64(r.Connections) }, 0},
	}
	out := make([]views.Chart, 0, len(charts))
	for _, c := range charts {
		values := make([]float64, hour)
		for _, r := range past {
			if i := hour - 1 - int(now.Sub(r.At)/time.Minute); i >= 0 && i < hour {
				values[i] = max(values[i], c.value(r))
			}
		}
		chart := views.Chart{Key: c.key, Unit: c.unit, Values: values}
		if n := len(past); n > 0 {
			// The newest reading is the newest value, also just after the minute has changed.
			values[hour-1] = max(values[hour-1], c.value(past[n-1]))
			limit := c.alarm
			if c.key == "connections" {
				limit = .85 * float64(past[n-1].MaxConnections)
			}
			chart.Alarm = c.value(past[n-1]) > limit
		}
		out = append(out, chart)
	}
	return out
}

func jobsAge(r vitals.Reading) float64 {
	age := 0.0
	for _, q := range r.Queues {
		age = max(age, q.AgeS)
	}
	return age
}
