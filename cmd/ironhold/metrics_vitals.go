package main

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pg/vitals"
)

// startVitals begins to watch the server, on a pool of its own: the figures matter most when the
// others are exhausted.
func (p *process) startVitals(ctx context.Context) error {
	db, err := p.pool(ctx, "vitals", pg.PoolOptions{MaxConns: 2, Role: migrations.RoleEngine})
	if err != nil {
		return fmt.Errorf("vitals: %w", err)
	}
	p.vitals = vitals.NewKeeper(db, p.log)
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	p.endVitals = end
	go p.vitals.Run(watching)
	p.registry.MustRegister(newVitalsCollector(p.vitals))
	return nil
}

// vitalsCollector tells the newest reading. A scrape asks the database nothing; while the server
// does not answer the figures are left out, so that an alarm on their absence works.
type vitalsCollector struct {
	last  func() (vitals.Reading, bool)
	descs map[string]*prometheus.Desc
}

// vitalsMetrics are the names, what they say, and their labels.
var vitalsMetrics = []struct {
	name, help string
	labels     []string
}{
	{"ironhold_database_read_timestamp_seconds", "When the state of the server was last read, by its own clock.", nil},
	{"ironhold_database_sees_all_sessions", "Whether other logins' sessions are among the figures (1) or hidden (0).", nil},
	{"ironhold_database_connections", "Connections to this database.", nil},
	{"ironhold_database_connections_max", "Connections that the server allows.", nil},
	{"ironhold_database_size_bytes", "Size of this database.", nil},
	{"ironhold_lock_waits", "Sessions that wait for a lock now.", nil},
	{"ironhold_lock_wait_longest_seconds", "How long the first of them has waited.", nil},
	{"ironhold_transaction_oldest_seconds", "Age of the oldest open transaction.", nil},
	{"ironhold_idle_in_transaction", "Sessions with a transaction open that do nothing.", nil},
	{"ironhold_idle_in_transaction_oldest_seconds", "How long the first of them has done nothing.", nil},
	{"ironhold_blocked_sessions", "Sessions that wait for this one, asked once somebody has waited for a second.", []string{"application", "state"}},
	{"ironhold_table_live_rows", "Rows of a table that orders change.", []string{"table"}},
	{"ironhold_table_dead_rows", "Row versions that autovacuum has to remove.", []string{"table"}},
	{"ironhold_table_hot_ratio", "Part of the updates that touched no index, 0 to 1.", []string{"table"}},
	{"ironhold_table_autovacuum_timestamp_seconds", "When autovacuum last finished the table.", []string{"table"}},
	{"ironhold_replica_lag_seconds", "How far a standby's replay is behind.", []string{"replica", "sync"}},
	{"ironhold_replica_lag_bytes", "How much a standby has yet to replay.", []string{"replica", "sync"}},
	{"ironhold_slot_status", "1 for the state a replication slot is in: reserved, extended, unreserved or lost.", []string{"slot", "status"}},
	{"ironhold_slot_safe_bytes", "How much may be written before the slot is lost; absent without a bound.", []string{"slot"}},
	{"ironhold_jobs_waiting", "Jobs that are due and not begun.", []string{"queue"}},
	{"ironhold_jobs_age_seconds", "How long the first of them is due.", []string{"queue"}},
}

func newVitalsCollector(k *vitals.Keeper) *vitalsCollector {
	c := &vitalsCollector{last: k.Last, descs: map[string]*prometheus.Desc{}}
	for _, m := range vitalsMetrics {
		c.descs[m.name] = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	}
	return c
}

// Describe names the metrics.
func (c *vitalsCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect tells the newest reading.
func (c *vitalsCollector) Collect(ch chan<- prometheus.Metric) {
	r, ok := c.last()
	if !ok {
		return
	}
	gauge := func(name string, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(c.descs["ironhold_"+name], prometheus.GaugeValue, v, labels...)
	}
	gauge("database_read_timestamp_seconds", float64(r.At.UnixMilli())/1000)
	gauge("database_sees_all_sessions", oneIf(r.SeesAll))
	gauge("database_connections", float64(r.Connections))
	gauge("database_connections_max", float64(r.MaxConnections))
	gauge("database_size_bytes", float64(r.DatabaseBytes))
	gauge("lock_waits", float64(r.LockWaits))
	gauge("lock_wait_longest_seconds", r.LongestLockWait.Seconds())
	gauge("transaction_oldest_seconds", r.OldestTransaction.Seconds())
	gauge("idle_in_transaction", float64(r.IdleInTransaction))
	gauge("idle_in_transaction_oldest_seconds", r.OldestIdle.Seconds())
	blocked := map[[2]string]int{} // two sessions of one application are one series
	for _, b := range r.Blockers {
		blocked[[2]string{b.Application, b.State}] += b.HoldsUp
	}
	for who, n := range blocked {
		gauge("blocked_sessions", float64(n), who[0], who[1])
	}
	for _, t := range r.Tables {
		gauge("table_live_rows", float64(t.Live), t.Name)
		gauge("table_dead_rows", float64(t.Dead), t.Name)
		gauge("table_hot_ratio", t.HotRatio, t.Name)
		if t.LastAutovacuum != nil {
			gauge("table_autovacuum_timestamp_seconds", float64(t.LastAutovacuum.UnixMilli())/1000, t.Name)
		}
	}
	told := map[[2]string]bool{}
	for _, s := range r.Replicas {
		if key := [2]string{s.Name, s.Sync}; !told[key] { // two standbys may have one name
			told[key] = true
			gauge("replica_lag_seconds", s.ReplayLagS, s.Name, s.Sync)
			gauge("replica_lag_bytes", float64(s.BehindBytes), s.Name, s.Sync)
		}
	}
	for _, s := range r.Slots {
		gauge("slot_status", 1, s.Name, s.Status)
		if s.SafeBytes != nil {
			gauge("slot_safe_bytes", float64(*s.SafeBytes), s.Name)
		}
	}
	for _, q := range r.Queues {
		gauge("jobs_waiting", float64(q.Waiting), q.Name)
		gauge("jobs_age_seconds", q.AgeS, q.Name)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
