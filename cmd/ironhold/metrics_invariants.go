package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"ironhold/holds/watch"
)

// invariantsCollector tells how the invariants stood when they were last asked, by whichever process.
// It is left out while the database is away.
type invariantsCollector struct {
	db      *pgxpool.Pool
	found   *prometheus.Desc
	checked *prometheus.Desc
}

func newInvariantsCollector(db *pgxpool.Pool) *invariantsCollector {
	labels := []string{"check"}
	return &invariantsCollector{
		db: db,
		found: prometheus.NewDesc("ironhold_invariant_violations",
			"Violations that the last check found; anything but 0 is an alarm.", labels, nil),
		checked: prometheus.NewDesc("ironhold_invariant_checked_timestamp_seconds",
			"When the invariant was last asked, by the database's clock.", labels, nil),
	}
}

func (c *invariantsCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.found
	ch <- c.checked
}

func (c *invariantsCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	states, err := watch.States(ctx, c.db)
	if err != nil {
		return
	}
	for _, s := range states {
		ch <- prometheus.MustNewConstMetric(c.found, prometheus.GaugeValue, float64(s.Violations), s.Name)
		ch <- prometheus.MustNewConstMetric(c.checked, prometheus.GaugeValue, float64(s.CheckedAt.UnixMilli())/1000, s.Name)
	}
}
