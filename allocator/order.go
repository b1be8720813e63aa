package allocator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// run is one order on its way.
type run struct {
	a       *Allocator
	o       Order
	body    []byte // the request as canonical JSON
	hash    []byte
	attempt uuid.UUID

	began   time.Time // this process's monotonic clock, for durations alone
	arrived time.Time // the database's clock
	orgSlug string
	machine *uuid.UUID // the machine that the request names

	caps     caps // of the organisation, read under its lock
	look     *looker
	deadline time.Time // monotonic: the end of the walk's budget
	seen     int       // candidates that some look saw
	walk     []Step
	waiting  []candidate // skipped, not waited for yet
	skipped  int
	lost     int
	changed  int
	bound    bool // the bound on time was reached

	shares    bool   // a look that is not the organisation's own can explain this order
	together  bool   // has asked together with others
	endTurn   func() // nil while it is not this order's turn
	simulated bool   // ends with a rollback where an order commits
}

// clock is the database's clock, carried on by this process's monotonic one.
func (r *run) clock() time.Time {
	if r.arrived.IsZero() {
		return r.began.UTC()
	}
	return r.arrived.Add(time.Since(r.began))
}

// maxRounds bounds how often an order walks again because the survey after the walk found
// something free.
const maxRounds = 4

// Order decides one order. The result says what became of it, refusals and "busy" included; an
// error is a fault of the system. Nothing is held unless the outcome is Held, Replayed, KeyReused
// or AlreadyYours.
func (a *Allocator) Order(ctx context.Context, o Order) (Result, error) {
	return a.run(ctx, &run{a: a, o: o, began: time.Now()})
}

// run decides an order, or what would become of it.
func (a *Allocator) run(ctx context.Context, r *run) (Result, error) {
	o := r.o
	if faults := r.prepare(); len(faults) > 0 {
		return Result{Outcome: Invalid, Faults: a.allFaults(ctx, &o.Request, faults)}, nil
	}
	var err error
	if r.attempt, err = uuid.NewV7(); err != nil {
		return Result{}, fmt.Errorf("attempt id: %w", err)
	}
	res, done, err := r.refuseTogether(ctx)
	if err == nil && !done {
		if err := r.takeTurn(ctx); err != nil {
			return r.finish(ctx, Result{Outcome: Busy, Detail: "the request ended while it waited for its turn"}), nil
		}
		defer r.leaveTurn()
		// Most of a crowd wait here while the last machines go: they ask together too.
		if !r.together {
			res, done, err = r.refuseTogether(ctx)
		}
	}
	if err == nil && !done {
		res, err = r.decide(ctx)
	}
	if unknown, ok := errors.AsType[*pg.CommitUnknown](err); ok {
		res, err = r.resolve(ctx, unknown)
	}
	if err != nil {
		if !pg.Busy(err) && ctx.Err() == nil {
			return Result{}, fmt.Errorf("order: %w", err)
		}
		a.opt.Logger.WarnContext(ctx, "order answered with busy", "error", err.Error(), "request_id", o.By.RequestID)
		res = Result{Outcome: Busy, Detail: err.Error()}
	}
	return r.finish(ctx, res), nil
}

// prepare validates what needs no database.
func (r *run) prepare() []Fault {
	faults := r.o.Request.Faults()
	if !ValidKey(r.o.Key) {
		faults = append(faults, Fault{Field: "Idempotency-Key", Message: "must be 1 to 255 visible ASCII characters"})
	}
	body, err := json.Marshal(r.o.Request)
	if err != nil {
		return append(faults, Fault{Message: "the request cannot be written as JSON"})
	}
	hash := sha256.Sum256(body)
	r.body, r.hash = body, hash[:]
	return faults
}

// takeTurn waits until this order may work on the database.
func (r *run) takeTurn(ctx context.Context) error {
	if r.endTurn != nil {
		return nil
	}
	end, err := r.a.turns.take(ctx, r.o.OrgID)
	if err != nil {
		return err
	}
	r.endTurn = end
	return nil
}

func (r *run) leaveTurn() {
	if r.endTurn != nil {
		r.endTurn()
		r.endTurn = nil
	}
}

// decide walks until there is a hold or a true refusal.
func (r *run) decide(ctx context.Context) (Result, error) {
	for round := 1; ; round++ {
		if err := r.takeTurn(ctx); err != nil {
			return Result{}, err
		}
		res, done, err := r.try(ctx)
		if err != nil || done {
			return res, err
		}
		// Nothing was to be had. Outside the locks: why not.
		s, err := r.explain(ctx)
		if err != nil {
			return Result{}, err
		}
		if s.Eligible > 0 && !r.bound && r.lost < r.a.opt.LostLimit {
			if round < maxRounds {
				continue
			}
			r.bound = true
		}
		return r.refuse(ctx, s)
	}
}

// try is one transaction. done is false when it ended without a hold and without a refusal that
// holds whatever the fleet looks like.
func (r *run) try(ctx context.Context) (res Result, done bool, err error) {
	if err := r.a.loaded(ctx); err != nil {
		return Result{}, false, err
	}
	var q *opening
	tx, err := pg.Open(ctx, r.a.db, r.o.By, func() *pgx.Batch {
		q = r.opening()
		return &q.batch
	})
	if err != nil {
		return Result{}, false, err
	}
	committed := false
	defer func() {
		_, unknown := errors.AsType[*pg.CommitUnknown](err)
		if !committed && !unknown {
			_ = tx.Rollback(context.WithoutCancel(ctx))
		}
	}()
	first, res, done, err := r.opened(ctx, tx, q)
	if err != nil || done {
		return res, done, err
	}
	hold, err := r.walkCandidates(ctx, tx, first)
	if err != nil {
		return Result{}, false, err
	}
	if hold == nil {
		return r.walkedInVain(ctx, tx)
	}
	if hold.replayed != nil {
		return r.replay(*hold.replayed), true, nil
	}
	if hold.refused != nil {
		return *hold.refused, true, nil
	}
	if r.simulated {
		return r.endSimulated(ctx, tx, hold.hold)
	}
	committed = true // with the insert
	return Result{Outcome: Held, Hold: hold.hold, Walk: r.walk}, true, nil
}

// walkedInVain asks what comes before "nothing was to be had". Asked a third time for the key:
// whoever could lock nothing never came to the insert, while a sibling with the same key may have
// committed.
func (r *run) walkedInVain(ctx context.Context, tx pgx.Tx) (Result, bool, error) {
	var prior uuid.UUID
	var c counts
	b := &pgx.Batch{}
	r.queueKey(b, &prior)
	r.queueCounts(b, &c)
	cooling := r.queueCooling(b)
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		return Result{}, false, err
	}
	if prior != uuid.Nil {
		h, found, err := holds.FindByKey(ctx, tx, r.o.OrgID, r.o.Key)
		if err != nil || found {
			return r.replay(h), found, err
		}
	}
	if limit := r.caps.reached(c); limit != nil {
		return *limit, true, nil
	}
	r.shares = r.o.Request.Machine == "" && !*cooling
	return Result{}, false, nil
}

// opening is the first batch of an order, and its answers.
type opening struct {
	batch   pgx.Batch
	version int64 // of the catalogue
	prior   uuid.UUID
	classID int
	faults  func() []Fault
	cat     *catalogue // that the look in the batch was made by; nil when there is none
	look    func() []candidate
	gate    *gate
}

// opening queues what an order asks: whether its key has a hold, what its words mean, what is free,
// and then, behind the organisation's lock, what may refuse it. Without a machine's name the class
// is no question, and all of it goes in one batch: the look by the classes in memory, which are
// right if the version is.
func (r *run) opening() *opening {
	q := &opening{}
	sent := time.Now()
	q.batch.Queue("select clock_timestamp(), version from catalogue_version").QueryRow(func(row pgx.Row) error {
		var now time.Time
		if err := row.Scan(&now, &q.version); err != nil {
			return err
		}
		r.a.clock.read(now, sent, time.Now())
		if r.arrived.IsZero() {
			r.arrived = r.a.clock.when(r.began)
		}
		return nil
	})
	q.faults = queueUnknown(&q.batch, &r.o.Request)
	if r.o.Request.Machine != "" {
		r.queueKey(&q.batch, &q.prior)
		q.batch.Queue("select id, class_id from machines where asset_tag = $1", r.o.Request.Machine).QueryRow(func(row pgx.Row) error {
			var id uuid.UUID
			err := optional(&id, &q.classID)(row)
			if id != uuid.Nil {
				r.machine = &id
			}
			return err
		})
		return q
	}
	q.cat = r.a.classes.Load()
	r.newLook(rankClasses(&r.o.Request, q.cat))
	q.look = r.look.queueFirst(&q.batch, firstLook)
	q.gate = r.queueGate(&q.batch)
	return q
}

func (r *run) newLook(fit *ranking) {
	r.look = r.a.newLooker(r.o.OrgID, fit, r.machine)
	r.look.policy.ceiling = r.policy().Ceiling
}

// opened reads the answers, asks what is left to ask, and gives the first candidates.
func (r *run) opened(ctx context.Context, tx pgx.Tx, q *opening) (first []candidate, res Result, done bool, err error) {
	if q.gate != nil {
		q.prior = q.gate.prior
	}
	if q.prior != uuid.Nil {
		h, found, err := holds.FindByKey(ctx, tx, r.o.OrgID, r.o.Key)
		if err != nil || found {
			return nil, r.replay(h), found, err
		}
	}
	if faults := q.faults(); len(faults) > 0 {
		return nil, Result{Outcome: Invalid, Faults: faults}, true, nil
	}
	cat, err := r.a.at(ctx, tx, q.version)
	if err != nil {
		return nil, Result{}, false, err
	}
	if faults := unsaid(&r.o.Request, cat); len(faults) > 0 {
		return nil, Result{Outcome: Invalid, Faults: faults}, true, nil
	}
	if q.gate == nil {
		fit := &ranking{request: &r.o.Request, cat: cat}
		if cat.class(q.classID) != nil {
			fit.rest = []int32{int32(q.classID)} //nolint:gosec // the column's type
		}
		r.newLook(fit)
		b := &pgx.Batch{}
		q.look = r.look.queueFirst(b, firstLook)
		q.gate = r.queueGate(b)
		if err := pg.Pipeline(ctx, tx, b); err != nil {
			return nil, Result{}, false, err
		}
	}
	if res, done, err = r.passed(ctx, tx, q.gate); err != nil || done {
		return nil, res, done, err
	}
	if q.cat != nil && q.cat.version != q.version {
		r.newLook(rankClasses(&r.o.Request, cat)) // a class may be new
		first, err = r.look.look(ctx, tx, firstLook)
		return first, Result{}, false, err
	}
	if first = q.look(); len(first) == 0 {
		first, err = r.look.more(ctx, tx, firstLook)
	}
	return first, Result{}, false, err
}

func (r *run) queueKey(b *pgx.Batch, prior *uuid.UUID) {
	b.Queue("select id from holds where org_id = $1 and idempotency_key = $2", r.o.OrgID, r.o.Key).QueryRow(optional(prior))
}

// optional scans a row that may be missing.
func optional(dest ...any) func(row pgx.Row) error {
	return func(row pgx.Row) error {
		if err := row.Scan(dest...); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil
	}
}

// replay answers a key that has its hold already.
func (r *run) replay(h holds.Hold) Result {
	if h.ID == uuid.Nil {
		return Result{}
	}
	if string(h.RequestHash) != string(r.hash) {
		return Result{Outcome: KeyReused, Hold: &h}
	}
	return Result{Outcome: Replayed, Hold: &h}
}

// resolve finds out what became of a commit whose answer was lost: behind the organisation's lock,
// which the lost transaction held, its hold is there or never will be.
func (r *run) resolve(ctx context.Context, lost error) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*time.Second)
	defer cancel()
	for {
		var res Result
		err := pg.Engine(ctx, r.a.db, r.o.By, func(tx pgx.Tx) error {
			if err := holds.LockOrg(ctx, tx, r.o.OrgID); err != nil {
				return err
			}
			h, found, err := holds.FindByKey(ctx, tx, r.o.OrgID, r.o.Key)
			switch {
			case err != nil:
				return err
			case !found:
				res = Result{Outcome: Busy, Detail: "the order did not happen"}
			case string(h.RequestHash) != string(r.hash):
				res = Result{Outcome: KeyReused, Hold: &h}
			default:
				res = Result{Outcome: Held, Hold: &h, Walk: r.walk}
			}
			return nil
		})
		if err == nil {
			return res, nil
		}
		select {
		case <-ctx.Done():
			return Result{Outcome: Checking, Detail: lost.Error()}, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// finish completes the result and logs the attempt, unless the claim has logged it.
func (r *run) finish(ctx context.Context, res Result) Result {
	if res.Outcome == Invalid {
		return res
	}
	if r.simulated {
		return r.finishSimulated(res)
	}
	res.AttemptID = r.attempt
	r.a.opt.OnDecided(Decided{Outcome: res.Outcome, Took: time.Since(r.began), Walked: len(r.walk), Skipped: r.skipped, Lost: r.lost, Changed: r.changed})
	if res.Outcome == Held {
		r.a.opt.OnChange()
		if res.Hold.AttemptID != nil {
			res.AttemptID = *res.Hold.AttemptID
		}
		return res
	}
	if res.Walk == nil {
		res.Walk = r.walk
	}
	row := attemptRow{ID: r.attempt, At: r.clock(), OrgID: r.o.OrgID, Actor: r.o.By.Actor, RequestID: r.o.By.RequestID,
		Key: r.o.Key, Outcome: res.Outcome, Request: r.body, Survey: res.Survey, Walk: r.walk,
		Skipped: r.skipped, Lost: r.lost, Changed: r.changed, ArrivedAt: r.arrived, TookMicros: time.Since(r.began).Microseconds()}
	row.Detail = r.detail(res.Detail)
	r.a.log.add(ctx, row)
	return res
}
