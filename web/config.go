package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-chi/httprate"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/desk"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/migrations/pg/vitals"
	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/provision"
	"ironhold/rollout"
	"ironhold/web/live"
)

// Config is what the server is built from. The fields up to Logger are required.
type Config struct {
	Accounts   *accounts.Directory
	Rollout    *rollout.Store
	Allocator  *allocator.Allocator
	Holds      *holds.Book
	Fleet      *fleet.Registry
	Invariants *invariants.Checker
	DB         *pgxpool.Pool // for readiness and sessions
	Logger     *slog.Logger

	// Provision is what is done to machines; nil: made here. What is open for longer than ProvisionAlarm is
	// an alarm; 0: an hour.
	Provision      *provision.Store
	ProvisionAlarm time.Duration

	Desk      *desk.Desk        // notes and purchase requests; nil: made here
	Webhooks  *notify.Webhooks  // of organisations; nil: they may not be sent anywhere but to the public
	Mail      *notify.Mailer    // nil: no mail is sent
	Caught    *mailcatch.Server // where a trial's mails are; nil: they are sent
	Jobs      http.Handler      // the pages of the jobs, mounted at JobsPrefix; nil: none
	Flags     *rollout.Flags    // what pages show as on; nil: they ask the rows
	Live      *live.Hub         // tells open pages of changes; nil: they poll
	Vitals    *vitals.Keeper    // reads how the database server is; nil: nobody does
	Tracer    trace.Tracer      // makes a span of each request; nil: no traces
	Company   *Company          // the company's own sign-in for staff; nil: none
	Secure    bool              // https in front: Secure cookies and HSTS
	OrderRate int               // orders per token or person and minute; 0 for no throttle
	BaseURL   string            // https://portal.example, for absolute links; "" for none

	// StaffFactor makes staff have more than a password before they can do anything.
	StaffFactor bool

	// TrustedProxies are the networks whose X-Forwarded-For is believed; none by default.
	TrustedProxies []netip.Prefix
}

func (c Config) check() error {
	switch {
	case c.Accounts == nil, c.Rollout == nil, c.Allocator == nil, c.Holds == nil, c.Fleet == nil,
		c.Invariants == nil, c.DB == nil, c.Logger == nil:
		return errors.New("web: the configuration is incomplete")
	case c.OrderRate < 0:
		return errors.New("web: the order rate is negative")
	}
	return nil
}

// server is the built web server.
type server struct {
	Config

	orders     *throttle             // nil for no throttle
	guesses    *httprate.RateLimiter // failed sign-ins by network
	allGuesses *httprate.RateLimiter // and of all together
	protect    *http.CrossOriginProtection
	routes     []route
	pages      *pages // set by initPages

	behindProxy atomic.Bool // a request said so, and no proxy is trusted
}

// ownOrigin makes the protection against other sites' forms. Our own public address is no other
// site, also behind a proxy that changes the Host header.
func ownOrigin(base string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	if base == "" {
		return p, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("web: the base URL %q must be like https://portal.example", base)
	}
	if err := p.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
		return nil, fmt.Errorf("web: the base URL: %w", err)
	}
	return p, nil
}

// New builds the handler of the whole site.
func New(c Config) (http.Handler, error) {
	s, err := build(c)
	if err != nil {
		return nil, err
	}
	return s.handler()
}
