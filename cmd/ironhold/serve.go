package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pg/vitals"
	"ironhold/migrations/pgembed"
	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/provision"
	"ironhold/rollout"
	"ironhold/web"
	"ironhold/web/live"
)

// Parts of the time that a stop may take; together they stay under 10 s.
const (
	drainTime  = 4 * time.Second         // the notice, then requests and jobs, at the same time
	flushTime  = 1500 * time.Millisecond // attempts that are not written yet
	closeTime  = 800 * time.Millisecond  // pools
	serverTime = 2 * time.Second         // the embedded server
)

type serveOptions struct {
	web, work, migrate, demo bool
	anyRole                  bool // no --role given
}

func serve(ctx context.Context, c *call) error {
	role := c.flags.String("role", "", "run one `part` alone: web or worker")
	noMigrate := c.flags.Bool("no-migrate", false, "leave the schema alone and wait until it is current")
	withDemo := c.flags.Bool("demo", false, "load the sample into an empty database, print the sign-ins, log warnings only")
	if _, err := c.parse(); err != nil {
		return err
	}
	if *role != "" && *role != "web" && *role != "worker" {
		return usagef("--role: %q is not web or worker", *role)
	}
	s, err := c.load()
	if err != nil {
		return err
	}
	if text, _ := c.env("STAFF_SECOND_FACTOR"); *withDemo && strings.TrimSpace(text) == "" {
		s.StaffFactor = false // so that the printed sign-ins work as they are
	}
	if _, set := c.env("PROVISION_DRIVER"); *withDemo && !set {
		s.ProvisionDriver = simulatedDriver
	}
	if _, set := c.env("LOG_LEVEL"); *withDemo && !set {
		s.LogLevel = slog.LevelWarn // the terminal is for the sign-ins
	}
	log := slog.New(slog.NewJSONHandler(c.stderr, &slog.HandlerOptions{Level: s.LogLevel}))
	p := &process{call: c, settings: s, log: log, registry: newRegistry(), failed: make(chan error, 4), options: serveOptions{
		web: *role != "worker", work: *role != "web", migrate: !*noMigrate, demo: *withDemo, anyRole: *role == "",
	}}
	p.holdTimes, p.lockTimes = newHoldTimes(p.registry), newLockTimes(p.registry)
	if err = p.start(ctx); err == nil {
		select {
		case <-ctx.Done():
		case err = <-p.failed:
		}
		log.Info("stopping")
	}
	begun := time.Now()
	p.stop()
	if err == nil || ctx.Err() != nil {
		log.Info("stopped", "took", time.Since(begun).Round(time.Millisecond).String())
	}
	if ctx.Err() != nil {
		return nil // asked to stop, perhaps in the middle of the start
	}
	return err
}

// process is a running server.
type process struct {
	*call

	settings  settings
	options   serveOptions
	log       *slog.Logger
	registry  *prometheus.Registry
	holdTimes *prometheus.HistogramVec
	lockTimes *prometheus.HistogramVec
	gate      gate
	started   atomic.Bool
	failed    chan error

	servers      []*http.Server
	db           *database
	pools        []*pgxpool.Pool
	orders       *allocator.Allocator
	workers      *river.Client[pgx.Tx]
	matches      *allocator.Allocator // of the workers
	live         *live.Hub
	hush         func()                   // ends live
	traces       *sdktrace.TracerProvider // nil: not wanted
	vitals       *vitals.Keeper
	endVitals    func()
	halt         func()            // ends the relay
	catcher      *mailcatch.Server // of a trial's mails
	closeCatcher func()
	flags        *rollout.Flags
	jobs         http.Handler // their pages
}

// start brings everything up and returns when it serves, or with the reason why it cannot. While
// the database is away it keeps trying and answers that it is not ready.
func (p *process) start(ctx context.Context) error {
	site, err := p.listeners(ctx)
	if err != nil {
		return err
	}
	if err := p.startTracing(ctx); err != nil {
		return err
	}
	if p.db, err = p.database(ctx); err != nil {
		return err
	}
	if err := p.schema(ctx); err != nil {
		return err
	}
	interactive, err := p.pool(ctx, "interactive", pg.PoolOptions{MaxConns: int32(p.settings.PoolInteractive)}) //nolint:gosec // at most 1000
	if err != nil {
		return err
	}
	if p.options.demo {
		if err := ensureSample(ctx, interactive, p.settings); err != nil {
			return err
		}
	}
	p.registry.MustRegister(newHoldsCollector(holds.New(interactive, p.settings.policy())))
	p.registry.MustRegister(newRelayCollector(interactive))
	p.registry.MustRegister(newInvariantsCollector(interactive))
	if err := p.startVitals(ctx); err != nil {
		return err
	}
	p.startLive(ctx, interactive)
	if err := p.startCatcher(ctx); err != nil {
		return err
	}
	if p.options.web {
		if err := p.startFlags(ctx, interactive); err != nil {
			return err
		}
		if p.jobs, err = p.jobsPages(ctx); err != nil {
			return err
		}
		if err := p.openSite(interactive); err != nil {
			return err
		}
	}
	if p.options.work {
		if err := p.startWorkers(ctx); err != nil {
			return err
		}
	}
	attrs := []any{"web", p.options.web, "workers", p.options.work, "base_url", p.settings.BaseURL}
	if site != nil {
		attrs = append(attrs, "listen", site.Addr().String())
	}
	p.started.Store(true)
	p.log.Info("ready", attrs...)
	if p.options.demo {
		p.banner(ctx, interactive)
	}
	return nil
}

// listeners takes the addresses first: that one is in use should not wait for the database.
func (p *process) listeners(ctx context.Context) (site net.Listener, err error) {
	if p.options.web {
		if site, err = listen(ctx, "LISTEN_ADDR", p.settings.ListenAddr); err != nil {
			return nil, err
		}
		if p.settings.BaseURL == "" {
			p.settings.BaseURL = "http://" + visible(site.Addr())
		}
		p.gate.starting = web.Starting(p.log, p.settings.secure())
		p.serveOn(site, &p.gate)
		if host, ok := site.Addr().(*net.TCPAddr); ok && !host.IP.IsLoopback() && !p.settings.secure() {
			p.log.Warn("people outside this machine would send passwords unprotected: put https in front and set BASE_URL", "listen", site.Addr().String())
		}
	}
	if p.settings.MetricsAddr != "" {
		l, err := listen(ctx, "METRICS_ADDR", p.settings.MetricsAddr)
		if err != nil {
			return nil, err
		}
		p.serveOn(l, p.metricsHandler())
	}
	return site, nil
}

// visible is an address that a browser on this machine can use, with a name where it has one: passkeys
// are bound to a name.
func visible(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && (tcp.IP.IsUnspecified() || tcp.IP.IsLoopback()) {
		return fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return a.String()
}

func (p *process) serveOn(l net.Listener, h http.Handler) {
	server := newServer(h, p.log)
	p.servers = append(p.servers, server)
	serveOn(server, l, p.failed)
}

// database is the one of the address, or the embedded one, which this process starts. Processes of
// one role share the server of whichever came first.
func (p *process) database(ctx context.Context) (*database, error) {
	if p.settings.DatabaseURL != "" {
		return external(p.settings), nil
	}
	start := pgembed.StartOrAttach
	if p.options.anyRole {
		start = pgembed.Start
	}
	server, err := start(ctx, embedOptions(p.settings, p.log))
	if err != nil {
		return nil, err
	}
	return embedded(server), nil
}

func (p *process) pool(ctx context.Context, name string, o pg.PoolOptions) (*pgxpool.Pool, error) {
	o.Name, o.LockTimeout = name, p.settings.LockTimeout
	o.Tracer = p.tracerOf(name)
	db, err := pg.Connect(ctx, p.db.url, o)
	if err != nil {
		return nil, err
	}
	p.pools = append(p.pools, db)
	registerPool(p.registry, name, db)
	return db, nil
}

// startLive starts what tells open pages of changes. Workers change things too, so they announce
// them; only who shows pages listens. It ends by hush, not by a signal: pages are told until the
// site closes.
func (p *process) startLive(ctx context.Context, db *pgxpool.Pool) {
	url := ""
	if p.options.web {
		url = p.db.listen
	}
	p.live = live.New(db, url, p.log)
	if p.options.web {
		registerLive(p.registry, p.live)
	}
	ctx, p.hush = context.WithCancel(context.WithoutCancel(ctx))
	go p.live.Run(ctx)
}

// openSite builds the web server and lets requests in.
func (p *process) openSite(db *pgxpool.Pool) error {
	touch := p.live.Touch
	people := accounts.New(db).Breached(p.settings.PasswordList)
	mail, err := p.mailer(db)
	if err != nil {
		return err
	}
	if mail != nil {
		people.OnLink(mail.Link)
	}
	switches := rollout.New(db).OnChange(touch)
	p.orders = allocator.New(db, allocator.Options{
		Policy: p.settings.policy(), WalkLimit: p.settings.WalkLimit, LostLimit: p.settings.LostLimit,
		Precondition: switches.Precondition(), Logger: p.log, OnChange: touch, OnDecided: newOrderMetrics(p.registry).decided,
	})
	jobs, err := inserter(db)
	if err != nil {
		return err
	}
	site, err := web.New(web.Config{
		Accounts: people, Mail: mail, Caught: p.catcher, Rollout: switches, Allocator: p.orders, Holds: holds.New(db, p.settings.policy()).OnChange(touch).Jobs(jobs),
		Provision: provision.NewStore(db).OnChange(touch), ProvisionAlarm: p.settings.ProvisionAlarm,
		Fleet: fleet.New(db).OnChange(touch), Invariants: checker(db, p.settings), DB: db, Logger: p.log, Live: p.live, Flags: p.flags, Jobs: p.jobs, Tracer: p.tracer(), Vitals: p.vitals,
		Webhooks: notify.NewWebhooks(db, p.settings.outbound()),
		Secure:   p.settings.secure(), OrderRate: p.settings.OrderRate, StaffFactor: p.settings.StaffFactor, Company: p.settings.Company.site(), BaseURL: p.settings.BaseURL, TrustedProxies: p.settings.TrustedProxies,
	})
	if err != nil {
		return err
	}
	p.gate.open(site)
	return nil
}

// startWorkers starts River; it refuses to start while the database is away, so it is tried again.
func (p *process) startWorkers(ctx context.Context) error {
	db, err := p.pool(ctx, "background", pg.PoolOptions{MaxConns: int32(p.settings.PoolBackground), Role: migrations.RoleEngine}) //nolint:gosec // at most 1000
	if err != nil {
		return err
	}
	book := holds.New(db, p.settings.policy()).OnChange(p.live.Touch)
	p.matches = allocator.New(db, allocator.Options{Policy: p.settings.policy(), Logger: p.log, OnChange: p.live.Touch})
	mail, err := p.mailer(db)
	if err != nil {
		return err
	}
	jobs, err := inserter(db)
	if err != nil {
		return err
	}
	works, err := p.works(db, book.Jobs(jobs))
	if err != nil {
		return err
	}
	if p.workers, err = newRiver(db, p.settings, book, p.matches, mail, works, p.live.Touch, p.traceJobs(), p.log); err != nil {
		return err
	}
	for {
		// Its life ends by Stop, not by this context, which a signal ends at once.
		err := p.workers.Start(context.WithoutCancel(ctx))
		if err == nil {
			relaying, halt := context.WithCancel(context.WithoutCancel(ctx))
			p.halt = halt
			go notify.NewRelay(db, p.workers, p.settings.BaseURL, mail, p.log).Run(relaying)
			return nil
		}
		if !startsLater(err) {
			return fmt.Errorf("workers: %w", err)
		}
		p.log.Warn("the database is away, the workers wait", "error", oneLine(err.Error()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// startsLater reports whether workers that could not start may be able to in a moment. What the server
// says is final unless it says that it is going away; what River says by itself, such as that its
// listener did not come up in time, comes of a database that stands still.
func startsLater(err error) bool { return pg.Code(err) == "" || pg.Busy(err) }
