package allocator

import (
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// Version is frozen into each decision.
const Version = "1"

// Precondition queues plain reads on the batch that has locked the organisation's row; after the
// batch has run, read gives the refusal, or nil when orders may begin.
type Precondition func(b *pgx.Batch, org uuid.UUID) (read func() *RolloutRefusal)

// Options configure an Allocator; zero values take the defaults named beside them.
type Options struct {
	Policy       holds.Policy  // holds.DefaultPolicy()
	WalkLimit    int           // 25: candidates of one look
	LostLimit    int           // 5: lost candidates of one order
	Budget       time.Duration // 500 ms for the walk, from the organisation's lock on
	Concurrency  int           // eight times the cores: allocations running at once, a quarter of them for one organisation
	Precondition Precondition  // none
	Logger       *slog.Logger
	OnChange     func()        // called after each commit that others may see, never inside a transaction; must not block
	OnDecided    func(Decided) // called once for each order, simulated and invalid ones apart, when its answer is known; must not block
}

// Decided is what metrics tell of an order.
type Decided struct {
	Outcome                        Outcome
	Took                           time.Duration // by the process's clock, the wait for its turn included
	Walked, Skipped, Lost, Changed int           // candidates
}

// firstLook is how many candidates the first look takes: nearly every order needs one.
const firstLook = 4

// Allocator decides orders. It is safe for concurrent use.
type Allocator struct {
	db       pg.DB
	opt      Options
	turns    *turns
	looks    *pg.Together[ask, *fleetLook]
	refused  refusedLately
	lastLook atomic.Pointer[datedLook]
	classes  atomic.Pointer[catalogue]
	reload   chan struct{} // who renews classes
	log      *attemptLog
	clock    serverClock
}

// New makes an Allocator over a pool, or over a transaction in tests. Close it.
func New(db pg.DB, o Options) *Allocator {
	if o.Policy.Duration == 0 {
		o.Policy = holds.DefaultPolicy()
	}
	if o.WalkLimit == 0 {
		o.WalkLimit = 25
	}
	if o.LostLimit == 0 {
		o.LostLimit = 5
	}
	if o.Budget == 0 {
		o.Budget = 500 * time.Millisecond
	}
	if o.Concurrency == 0 {
		// More than the cores, so that those who wait for the log's flush share it.
		o.Concurrency = 8 * runtime.GOMAXPROCS(0)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	if o.OnDecided == nil {
		o.OnDecided = func(Decided) {}
	}
	a := &Allocator{db: db, opt: o, turns: newTurns(o.Concurrency), looks: pg.NewTogether[ask, *fleetLook](), log: newAttemptLog(db, o.Logger), reload: make(chan struct{}, 1)}
	a.classes.Store(&catalogue{version: -1})
	return a
}
