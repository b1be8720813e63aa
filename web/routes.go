package web

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"

	"ironhold/accounts"
	"ironhold/desk"
	"ironhold/notify"
	"ironhold/notify/outbound"
	"ironhold/provision"
	"ironhold/web/api"
)

// route is one line of the list of everything that can be asked of the server.
type route struct {
	method   string
	pattern  string            // chi's, from the root
	function accounts.Function // what the caller's role must include; "" with public
	or       accounts.Function // or this one; "" for none
	public   bool              // anyone, signed in or not
	begins   bool              // may begin a hold: throttled
	api      bool              // bearer token and JSON; otherwise session and pages
	enrol    bool              // open to staff who must set up a second factor first
	passive  bool              // asked by scripts on their own: keeps no session awake
	maxBody  int64             // bytes; 0 for the default
	handle   handler
}

// defaultMaxBody is as much as any form or document needs.
const defaultMaxBody = 1 << 20

// build checks the configuration and collects the routes.
func build(c Config) (*server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &server{Config: c}
	if s.Webhooks == nil {
		s.Webhooks = notify.NewWebhooks(c.DB, outbound.New(outbound.Options{}))
	}
	if s.Provision == nil {
		s.Provision = provision.NewStore(c.DB)
	}
	if s.ProvisionAlarm <= 0 {
		s.ProvisionAlarm = time.Hour
	}
	if s.Desk == nil {
		s.Desk = desk.New(c.DB, c.Allocator)
	}
	if c.OrderRate > 0 {
		s.orders = newThrottle(c.OrderRate, time.Minute)
	}
	s.guesses = httprate.NewRateLimiter(guessLimit, guessWindow)
	s.allGuesses = httprate.NewRateLimiter(allGuessLimit, guessWindow)
	var err error
	if s.protect, err = ownOrigin(c.BaseURL); err != nil {
		return nil, err
	}
	if err := s.initPages(); err != nil {
		return nil, err
	}
	s.routes = append(s.apiRoutes(), s.pageRoutes()...)
	return s, nil
}

func (s *server) apiRoutes() []route {
	a := api.New(api.Config{
		Accounts: s.Accounts, Rollout: s.Rollout, Allocator: s.Allocator, Holds: s.Holds, Fleet: s.Fleet, Provision: s.Provision,
		Invariants: s.Invariants, DB: s.DB,
	})
	var list []route
	for _, r := range a.Routes() {
		handle := handler(r.Handle)
		if r.Method != http.MethodGet && (r.Function == accounts.RolloutOrg || r.Function == accounts.RolloutLaunch) {
			handle = s.refreshingFlags(handle)
		}
		list = append(list, route{
			method: r.Method, pattern: r.Pattern, function: r.Function, or: r.Or, public: r.Public, begins: r.Begins,
			api: true, handle: handle,
		})
	}
	return list
}

// refreshingFlags lets pages show what the API has changed without waiting for the next look.
func (s *server) refreshingFlags(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		s.refreshFlags(r.Context())
		return err
	}
}

// handler mounts the routes and the middleware around them.
func (s *server) handler() (http.Handler, error) {
	mux := chi.NewRouter()
	mux.Use(s.identify, s.traced, s.accessLog, s.headers, s.recover, s.strictPath)
	seen := map[string]bool{}
	for _, rt := range s.routes {
		if err := rt.check(); err != nil {
			return nil, err
		}
		if seen[rt.method+" "+rt.pattern] {
			return nil, fmt.Errorf("web: two routes for %s %s", rt.method, rt.pattern)
		}
		seen[rt.method+" "+rt.pattern] = true
		h := s.adapt(rt)
		mux.Method(rt.method, rt.pattern, h)
		if rt.method == http.MethodGet {
			// The server leaves the body out by itself.
			mux.Method(http.MethodHead, rt.pattern, h)
		}
	}
	mux.NotFound(s.notFound)
	mux.MethodNotAllowed(s.methodNotAllowed(mux))
	return mux, nil
}

// check refuses routes that nobody decided who may use.
func (rt route) check() error {
	if rt.public == (rt.function != "") {
		return fmt.Errorf("web: %s %s is neither public nor bound to a function", rt.method, rt.pattern)
	}
	for _, f := range []accounts.Function{rt.function, rt.or} {
		if f != "" && f != signedIn && !slices.Contains(accounts.Functions(), f) {
			return fmt.Errorf("web: %s %s needs the unknown function %q", rt.method, rt.pattern, f)
		}
	}
	if rt.handle == nil {
		return fmt.Errorf("web: %s %s has no handler", rt.method, rt.pattern)
	}
	return nil
}

// signedIn as a route's function means any signed-in person, whatever the role.
const signedIn accounts.Function = "signed_in"

// allows reports whether the role may use the route.
func (rt route) allows(role accounts.Role) bool {
	return rt.public || rt.function == signedIn || accounts.Can(role, rt.function) || accounts.Can(role, rt.or)
}
