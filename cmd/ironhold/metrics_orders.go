package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"ironhold/allocator"
)

// orderMetrics count what became of orders in this process.
type orderMetrics struct {
	orders *prometheus.CounterVec
	took   *prometheus.HistogramVec
	walked prometheus.Histogram
	steps  *prometheus.CounterVec
}

func newOrderMetrics(r *prometheus.Registry) *orderMetrics {
	m := &orderMetrics{
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ironhold_orders_total", Help: "Orders by outcome.",
		}, []string{"outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ironhold_order_seconds", Help: "How long an order took to be decided, by what it got: held, refused or undecided.",
			Buckets: []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
		}, []string{"kind"}),
		walked: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ironhold_order_walked_candidates", Help: "Candidates that an order walked.",
			Buckets: []float64{0, 1, 2, 4, 8, 16, 32, 64},
		}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ironhold_order_candidates_total", Help: "Candidates that did not become a hold: skipped (locked), lost (another's now), changed (no longer eligible).",
		}, []string{"step"}),
	}
	r.MustRegister(m.orders, m.took, m.walked, m.steps)
	for _, o := range allocator.Outcomes { // a rate needs the zero before the first
		m.orders.WithLabelValues(string(o))
	}
	return m
}

// decided is called once for each order.
func (m *orderMetrics) decided(d allocator.Decided) {
	m.orders.WithLabelValues(string(d.Outcome)).Inc()
	kind := "refused"
	switch d.Outcome {
	case allocator.Held, allocator.Replayed:
		kind = "held"
	case allocator.Busy, allocator.Checking:
		kind = "undecided"
	}
	m.took.WithLabelValues(kind).Observe(d.Took.Seconds())
	m.walked.Observe(float64(d.Walked))
	m.steps.WithLabelValues("skipped").Add(float64(d.Skipped))
	m.steps.WithLabelValues("lost").Add(float64(d.Lost))
	m.steps.WithLabelValues("changed").Add(float64(d.Changed))
}
