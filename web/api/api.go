package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/provision"
	"ironhold/rollout"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// Config is what the API speaks to.
type Config struct {
	Accounts   *accounts.Directory
	Rollout    *rollout.Store
	Allocator  *allocator.Allocator
	Holds      *holds.Book
	Fleet      *fleet.Registry
	Provision  *provision.Store
	Invariants *invariants.Checker
	DB         *pgxpool.Pool // for readiness alone
}

// API answers the routes.
type API struct {
	Config
	ready readiness
	spec  func() ([]byte, error) // the description, made once
}

// New makes the API.
func New(c Config) *API {
	a := &API{Config: c}
	a.spec = sync.OnceValues(func() ([]byte, error) { return a.Spec(false) })
	return a
}

// Route is one operation: who may, and what it does. The caller has authenticated the request and
// checked the function before Handle runs; a returned error becomes a problem document.
type Route struct {
	Method, Pattern string
	Function        accounts.Function
	Or              accounts.Function // or this one; "" for none
	Public          bool              // anyone, without a token
	Begins          bool              // may begin a hold
	Handle          func(w http.ResponseWriter, r *http.Request) error
}

// Prefix is where the API lives.
const Prefix = "/api/v1"

// Routes lists every operation.
func (a *API) Routes() []Route {
	get, post, put := http.MethodGet, http.MethodPost, http.MethodPut
	return []Route{
		{Method: get, Pattern: "/healthz", Public: true, Handle: a.health},
		{Method: get, Pattern: "/readyz", Public: true, Handle: a.readyz},
		{Method: get, Pattern: SpecPath, Public: true, Handle: a.openAPI},

		{Method: get, Pattern: Prefix + "/offers", Function: accounts.SeeOffers, Handle: a.offers},
		{Method: post, Pattern: Prefix + "/surveys", Function: accounts.RunSurvey, Handle: a.survey},

		{Method: post, Pattern: Prefix + "/holds", Function: accounts.Order, Or: accounts.OrderOnBehalf, Begins: true, Handle: a.order},
		{Method: get, Pattern: Prefix + "/holds", Function: accounts.SeeHolds, Handle: a.listHolds},
		{Method: get, Pattern: Prefix + "/holds/{id}", Function: accounts.SeeHolds, Handle: a.getHold},
		{Method: post, Pattern: Prefix + "/holds/{id}/extend", Function: accounts.ExtendHold, Handle: a.extend},
		{Method: post, Pattern: Prefix + "/holds/{id}/cancel", Function: accounts.CancelHold, Handle: a.cancel},
		{Method: post, Pattern: Prefix + "/holds/{id}/convert", Function: accounts.ConvertHold, Handle: a.convert},
		{Method: post, Pattern: Prefix + "/holds/{id}/substitute", Function: accounts.SubstituteHold, Handle: a.substitute},

		{Method: get, Pattern: Prefix + "/services", Function: accounts.SeeServices, Handle: a.listServices},
		{Method: get, Pattern: Prefix + "/services/{id}", Function: accounts.SeeServices, Handle: a.getService},
		{Method: post, Pattern: Prefix + "/services/{id}/end", Function: accounts.EndService, Handle: a.endService},
		{Method: post, Pattern: Prefix + "/services/{id}/keep", Function: accounts.EndService, Handle: a.keepService},
		{Method: get, Pattern: Prefix + "/operating-systems", Function: accounts.SeeOffers, Handle: a.operatingSystems},

		{Method: get, Pattern: Prefix + "/machines", Function: accounts.SeeFleet, Handle: a.listMachines},
		{Method: get, Pattern: Prefix + "/machines/{tag}", Function: accounts.SeeFleet, Handle: a.getMachine},
		{Method: post, Pattern: Prefix + "/machines/{tag}/status", Function: accounts.FleetWrite, Handle: a.setStatus},
		{Method: post, Pattern: Prefix + "/machines/{tag}/wiped", Function: accounts.FleetWrite, Handle: a.wiped},

		{Method: get, Pattern: Prefix + "/attempts", Function: accounts.SeeAttempts, Handle: a.listAttempts},
		{Method: get, Pattern: Prefix + "/attempts/{id}", Function: accounts.SeeAttempts, Handle: a.getAttempt},

		{Method: get, Pattern: Prefix + "/orgs/{slug}/rollout", Function: accounts.SeeRollout, Handle: a.getRollout},
		{Method: put, Pattern: Prefix + "/orgs/{slug}/rollout", Function: accounts.RolloutOrg, Handle: a.putRollout},
		{Method: put, Pattern: Prefix + "/rollout", Function: accounts.RolloutLaunch, Handle: a.putLaunch},

		{Method: get, Pattern: Prefix + "/invariants", Function: accounts.Invariants, Handle: a.checkInvariants},
	}
}

// Challenge and InvalidToken are the WWW-Authenticate headers for a request without a token and
// for one whose token does not count.
const (
	Challenge    = `Bearer realm="ironhold"`
	InvalidToken = `Bearer realm="ironhold", error="invalid_token"`
)

// BearerToken returns the token of the Authorization header, and whether there is exactly one.
func BearerToken(r *http.Request) (string, bool) {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(all[0], " ")
	token = strings.TrimLeft(token, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// scope is what the actor may see. An actor of an organisation without one would see everything,
// so that is an error.
func scope(ctx context.Context) (holds.Scope, error) {
	a := request.Actor(ctx)
	if a.Role.Staff() {
		return holds.Scope{}, nil
	}
	if a.OrgID == uuid.Nil {
		return holds.Scope{}, errors.New("api: the actor belongs to no organisation")
	}
	return holds.Scope{OrgID: a.OrgID}, nil
}

// target reads the id of the address and the actor's scope. What is no id does not exist.
func target(r *http.Request) (uuid.UUID, holds.Scope, error) {
	id, ok := parseID(request.PathValue(r, "id"))
	if !ok {
		return uuid.Nil, holds.Scope{}, problem.NoSuch()
	}
	s, err := scope(r.Context())
	return id, s, err
}

func staff(ctx context.Context) bool { return request.Actor(ctx).Role.Staff() }

// write answers with a JSON document.
func write(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	// A client that went away is no fault of ours.
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// list is the answer of every list.
type list[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// page cuts rows, asked for with one more than limit, to the limit; the cursor is the last row's,
// and null when there is no further row.
func page[T any](rows []T, limit int, kind string, key func(T) string) ([]T, *string) {
	if len(rows) <= limit {
		return rows, nil
	}
	rows = rows[:limit]
	return rows, encodeCursor(kind, key(rows[limit-1]))
}
