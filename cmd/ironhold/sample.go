package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/rollout"
)

// sampleOrgs are invented. Each shows another answer to an order.
var sampleOrgs = []struct {
	slug, name            string
	maxHolds, maxMachines int
}{
	{"nordlys", "Nordlys Analytics", 5, 50},
	{"fjord", "Fjord Freight", 5, 50},    // has switched ordering off for itself
	{"orchard", "Orchard Games", 3, 3},   // rents as many machines as it may
	{"quarry", "Quarry Media", 5, 50},    // is suspended
	{"meridian", "Meridian Maps", 2, 10}, // has no history yet
}

// signIn is a sample person. The passwords are public: the sample is for trying out.
type signIn struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Role     string `json:"role"`
	Org      string `json:"org,omitempty"`

	name, zone string
}

var samplePeople = []signIn{
	{"ada@nordlys.example", "nordlys customer demo", "customer", "nordlys", "Ada Lindqvist", "Europe/Stockholm"},
	{"grace@nordlys.example", "nordlys admin demo", "org-admin", "nordlys", "Grace Marlow", "Europe/Berlin"},
	{"nils@fjord.example", "fjord admin demo", "org-admin", "fjord", "Nils Haugen", "Europe/Oslo"},
	{"vera@orchard.example", "orchard customer demo", "customer", "orchard", "Vera Duarte", "Europe/Lisbon"},
	{"paul@quarry.example", "quarry customer demo", "customer", "quarry", "Paul Tremblay", "America/Toronto"},
	{"mina@meridian.example", "meridian customer demo", "customer", "meridian", "Mina Osei", "UTC"},
	{"sam@ironhold.example", "ironhold sales demo", "sales", "", "Sam Fischer", "Europe/Berlin"},
	{"olga@ironhold.example", "ironhold operator demo", "operator", "", "Olga Brandt", "Europe/Berlin"},
}

var sampleBy = pg.By{Actor: "command:demo"}

// notEmpty says that the sample was not loaded since the database is in use.
type notEmpty struct{}

func (*notEmpty) Error() string {
	return "the database is not empty: the sample goes into an empty one"
}

// demo loads the sample and prints the sign-ins.
func demo(ctx context.Context, c *call) error {
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(s settings, db *pgxpool.Pool) error {
		if err := loadSample(ctx, db, s); err != nil {
			return err
		}
		var text strings.Builder
		printSignIns(&text, samplePeople)
		return c.print(struct {
			People []signIn `json:"people"`
		}{samplePeople}, strings.TrimRight("The sample is loaded.\n\n"+text.String(), "\n"))
	})
}

// loadSample fills an empty database, or answers notEmpty.
func loadSample(ctx context.Context, db *pgxpool.Pool, s settings) error {
	empty, err := isEmpty(ctx, db)
	if err != nil {
		return err
	}
	if !empty {
		return &notEmpty{}
	}
	// In one transaction: killed half-way, it leaves an empty database.
	err = pg.Engine(ctx, db, sampleBy, func(tx pgx.Tx) error { return sampleBase(ctx, tx) })
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return sampleHistory(ctx, db, s)
}

// ensureSample loads the sample into an empty database, ends what an interrupted load has begun,
// and leaves any other database alone.
func ensureSample(ctx context.Context, db *pgxpool.Pool, s settings) error {
	err := loadSample(ctx, db, s)
	if _, ok := errors.AsType[*notEmpty](err); !ok {
		return err
	}
	org, err := accounts.New(db).OrgBySlug(ctx, sampleOrgs[0].slug)
	if _, ok := errors.AsType[*accounts.NotFound](err); ok {
		return nil
	} else if err != nil {
		return err
	}
	list, err := holds.New(db, s.policy()).List(ctx, holds.Filter{Scope: holds.Scope{OrgID: org.ID}, Limit: 500})
	if err != nil {
		return err
	}
	begun := slices.ContainsFunc(list, func(h holds.Hold) bool { return strings.HasPrefix(h.IdempotencyKey, samplePrefix) })
	done := slices.ContainsFunc(list, func(h holds.Hold) bool { return h.IdempotencyKey == sampleLast })
	if done || (len(list) > 0 && !begun) {
		return nil
	}
	return sampleHistory(ctx, db, s)
}

func isEmpty(ctx context.Context, db *pgxpool.Pool) (bool, error) {
	people := accounts.New(db)
	orgs, err := people.Orgs(ctx)
	if err != nil || len(orgs) > 0 {
		return false, err
	}
	staff, err := people.Users(ctx, uuid.Nil)
	if err != nil || len(staff) > 0 {
		return false, err
	}
	machines, err := fleet.New(db).Machines(ctx, fleet.Filter{Limit: 1})
	return len(machines) == 0, err
}

// sampleBase is everything but the orders.
func sampleBase(ctx context.Context, tx pgx.Tx) error {
	people, switches := accounts.New(tx), rollout.New(tx)
	for _, o := range sampleOrgs {
		if _, err := people.AddOrg(ctx, sampleBy, o.slug, o.name, o.maxHolds, o.maxMachines); err != nil {
			return err
		}
	}
	for _, p := range samplePeople {
		_, err := people.AddUser(ctx, sampleBy, accounts.NewUser{
			Email: p.Email, Name: p.name, Role: accounts.Role(p.Role), OrgSlug: p.Org, Password: p.Password, TimeZone: p.zone,
		})
		if err != nil {
			return err
		}
	}
	if err := fleet.New(tx).Sample(ctx, sampleBy); err != nil {
		return err
	}
	if _, err := people.Suspend(ctx, sampleBy, "quarry", "Two invoices are open."); err != nil {
		return err
	}
	if _, err := switches.SetLaunch(ctx, sampleBy, rollout.LaunchOn); err != nil {
		return err
	}
	_, err := switches.SetOrg(ctx, sampleBy, "fjord", rollout.Off)
	return err
}

// Keys of the sample's orders: a repeat finds the hold of the first, so an interrupted load goes on.
const (
	samplePrefix = "sample-"
	sampleLast   = samplePrefix + "live"
)

// story is what becomes of a sample order.
type story int

const (
	stays story = iota
	confirmed
	ended
	givenBack
	lapses
)

// sampleHistory lets the sample's people order, confirm, give back and let lapse, by the same
// steps as anybody.
func sampleHistory(ctx context.Context, db *pgxpool.Pool, s settings) error {
	h := &historian{db: db, settings: s, book: holds.New(db, s.policy())}
	for _, o := range []struct {
		key     string
		person  int // of samplePeople
		request allocator.Request
		story   story
	}{
		{"web", 0, allocator.Request{MinCores: 8, MinRAMGB: 64}, confirmed},
		{"database", 1, allocator.Request{MinRAMGB: 128, MinNVMeGB: 1000}, confirmed},
		{"old", 0, allocator.Request{MinCores: 4}, ended},
		{"mistake", 0, allocator.Request{MinCores: 16}, givenBack},
		{"lunch", 1, allocator.Request{}, lapses},
		{"game-1", 3, allocator.Request{}, confirmed},
		{"game-2", 3, allocator.Request{}, confirmed},
		{"game-3", 3, allocator.Request{}, confirmed},
		{"live", 0, allocator.Request{MinCores: 8}, stays}, // the last, see sampleLast
	} {
		if err := h.tell(ctx, samplePrefix+o.key, samplePeople[o.person].Email, samplePeople[o.person].Password, o.request, o.story); err != nil {
			return fmt.Errorf("sample order %s: %w", o.key, err)
		}
	}
	_, err := h.book.Sweep(ctx)
	return err
}

type historian struct {
	db       *pgxpool.Pool
	settings settings
	book     *holds.Book
}

func (h *historian) tell(ctx context.Context, key, email, password string, request allocator.Request, what story) error {
	actor, _, err := accounts.New(h.db).SignIn(ctx, email, password)
	if err != nil {
		return err
	}
	by, scope := actor.By(""), holds.Scope{OrgID: actor.OrgID}
	policy := h.settings.policy()
	if what == lapses {
		policy.Duration = 100 * time.Millisecond
	}
	orders := allocator.New(h.db, allocator.Options{Policy: policy, Precondition: rollout.New(h.db).Precondition()})
	result, err := orders.Order(ctx, allocator.Order{OrgID: actor.OrgID, By: by, Key: key, Request: request})
	orders.Close(ctx)
	if err != nil {
		return err
	}
	if result.Outcome != allocator.Held && result.Outcome != allocator.Replayed {
		return fmt.Errorf("answered %s", result.Outcome)
	}
	id := result.Hold.ID
	switch what {
	case stays:
	case confirmed, ended:
		service, _, err := h.book.Convert(ctx, by, scope, id)
		if err != nil || what == confirmed {
			return err
		}
		_, err = h.book.EndService(ctx, by, scope, service.ID, "The project is over.")
		return err
	case givenBack:
		_, err = h.book.Cancel(ctx, by, scope, id, "Ordered by mistake.")
		return err
	case lapses:
		time.Sleep(2 * policy.Duration)
	}
	return nil
}

// workingSignIns are the sample people whose sample password still works here.
func workingSignIns(ctx context.Context, db *pgxpool.Pool) []signIn {
	people := accounts.New(db)
	return slices.DeleteFunc(slices.Clone(samplePeople), func(p signIn) bool {
		_, _, err := people.SignIn(ctx, p.Email, p.Password)
		return err != nil
	})
}

func printSignIns(w io.Writer, people []signIn) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(t, "  Sign in as\tpassword\trole\torganisation\n")
	for _, p := range people {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", p.Email, p.Password, p.Role, p.Org)
	}
	_ = t.Flush()
}

// banner tells the person at the terminal where to go.
func (p *process) banner(ctx context.Context, db *pgxpool.Pool) {
	fmt.Fprintf(p.stdout, "\n  Ironhold is running at %s\n\n", p.settings.BaseURL)
	if people := workingSignIns(ctx, db); len(people) > 0 {
		printSignIns(p.stdout, people)
		fmt.Fprintln(p.stdout)
	}
	if p.db.embed != nil {
		fmt.Fprintf(p.stdout, "  Data are kept in %s\n", p.db.embed.Dir())
	}
	fmt.Fprintf(p.stdout, "  Ctrl-C stops it.\n\n")
}
