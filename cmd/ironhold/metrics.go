package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ironhold/holds"
	"ironhold/web/live"
)

// scrapeTimeout bounds the questions that one scrape asks the database.
const scrapeTimeout = 2 * time.Second

// newRegistry is a registry of our own: nothing that a library registers globally gets in.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// metricsHandler also tells how the process is, for workers, which listen nowhere else.
func (p *process) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !p.started.Load() || p.gate.leaving.Load() {
			http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), scrapeTimeout)
		defer cancel()
		if current, err := schemaCurrent(ctx, p.pools[0]); err != nil || !current {
			http.Error(w, "the database is away or its schema is older", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// holdsCollector asks for the sweep's lag at each scrape. When the database is away the lag is
// left out, so that an alarm on its absence works.
type holdsCollector struct {
	book *holds.Book
	age  *prometheus.Desc
	up   *prometheus.Desc
}

func newHoldsCollector(book *holds.Book) *holdsCollector {
	return &holdsCollector{
		book: book,
		age: prometheus.NewDesc("ironhold_overdue_hold_age_seconds",
			"Age of the oldest hold past its deadline that is not swept yet; 0 when there is none.", nil, nil),
		up: prometheus.NewDesc("ironhold_database_up", "Whether the database answered this scrape.", nil, nil),
	}
}

func (c *holdsCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.age
	ch <- c.up
}

func (c *holdsCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	age, err := c.book.OldestOverdue(ctx)
	if err != nil {
		ch <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, 1)
	ch <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, age)
}

// registerPool shows how a pool is used.
func registerPool(r *prometheus.Registry, name string, pool *pgxpool.Pool) {
	labels := prometheus.Labels{"pool": name}
	gauge := func(metric, help string, value func(*pgxpool.Stat) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric, Help: help, ConstLabels: labels},
			func() float64 { return value(pool.Stat()) }))
	}
	gauge("ironhold_pool_connections_in_use", "Connections in use.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	gauge("ironhold_pool_connections_max", "Connections at most.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) })
	gauge("ironhold_pool_waits", "Times that a connection had to be waited for since the start.",
		func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) })
}

// registerLive counts the pages that listen for changes and says whether they hear them at once.
func registerLive(r *prometheus.Registry, h *live.Hub) {
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ironhold_live_pages", Help: "Open pages that listen for changes.",
		}, func() float64 { return float64(h.Subscribers()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ironhold_live_connected", Help: "Whether changes are told at once (1) or looked for every few seconds (0).",
		}, func() float64 {
			if h.Live() {
				return 1
			}
			return 0
		}),
	)
}
