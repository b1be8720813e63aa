package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/provision/driver"
)

const (
	// callWait bounds one call of a driver that is not driver.Slow, together with the reading of the row
	// before it.
	callWait = 30 * time.Second
	// leaseBeyond is how much longer than the call nobody else works on a row that was taken.
	leaseBeyond = 15 * time.Second
	// orderWait is how long a row waits for an earlier one of its machine.
	orderWait = 2 * time.Second
	// lookTries are the errors in a row after which a task that was begun is begun anew.
	lookTries = 5
	// maxErrors in a row are about a day: then it is given up.
	maxErrors = 150

	firstBackoff = 5 * time.Second
	lastBackoff  = 10 * time.Minute
)

// by is who acts for jobs.
var by = pg.By{Actor: "provisioning"}

// Works takes the steps of jobs.
type Works struct {
	db       pg.DB
	book     *holds.Book
	drivers  map[string]driver.Driver
	driver   string // of what begins now
	poll     time.Duration
	onChange func()
	log      *slog.Logger
}

// Options of NewWorks.
type Options struct {
	// Driver is the name of the driver of what begins now: Manual, or one of Drivers.
	Driver string
	// Drivers are those that are set up, also those that finish what they had begun.
	Drivers []driver.Driver
	// Poll is the time between two looks at a task; 0: 5 s.
	Poll     time.Duration
	OnChange func()
	Logger   *slog.Logger
}

// NewWorks makes the steps over the pool of the workers.
func NewWorks(db pg.DB, book *holds.Book, o Options) (*Works, error) {
	w := &Works{db: db, book: book, drivers: map[string]driver.Driver{}, driver: o.Driver, poll: o.Poll, onChange: o.OnChange, log: o.Logger}
	for _, d := range o.Drivers {
		w.drivers[d.Name()] = d
	}
	if w.driver == "" {
		w.driver = Manual
	}
	if w.driver != Manual && w.drivers[w.driver] == nil {
		return nil, fmt.Errorf("provisioning: the driver %q is not set up", w.driver)
	}
	if w.poll <= 0 {
		w.poll = 5 * time.Second
	}
	if w.onChange == nil {
		w.onChange = func() {}
	}
	if w.log == nil {
		w.log = slog.Default()
	}
	return w, nil
}

// turn is what one step has to do.
type turn struct {
	service uuid.UUID
	kind    driver.Kind
	task    driver.Task
	driver  driver.Driver // nil: nothing to do now
	begun   bool
	errors  int
	wait    time.Duration // before the next step; 0: it is over, or a person's
}

// Step does what is next for one provisioning, and says after how long the next step is due; 0: never.
func (w *Works) Step(ctx context.Context, service uuid.UUID, kind driver.Kind) (next time.Duration, err error) {
	// The time runs from before the row is read: a process that was stopped between that and the call has
	// none left, and the machine may have another customer by then.
	begun := time.Now() //nolint:forbidigo // of this process
	reading, read := context.WithTimeout(ctx, callWait)
	defer read()
	t, err := w.take(reading, service, kind)
	if err != nil || t.driver == nil {
		return t.wait, err
	}
	call, cancel := context.WithDeadline(ctx, begun.Add(limit(t.driver)))
	defer cancel()
	p, err := w.call(call, t)
	if ctx.Err() != nil {
		return 0, ctx.Err() // this process stops: that says nothing about the task
	}
	return w.record(ctx, t, p, err)
}

// limit bounds one call of a driver.
func limit(d driver.Driver) time.Duration {
	if slow, ok := d.(driver.Slow); ok {
		return max(slow.CallLimit(), callWait)
	}
	return callWait
}

// slowest is the longest limit of the drivers.
func (w *Works) slowest() time.Duration {
	longest := callWait
	for _, d := range w.drivers {
		longest = max(longest, limit(d))
	}
	return longest
}

func (w *Works) call(ctx context.Context, t turn) (driver.Progress, error) {
	if deadline, _ := ctx.Deadline(); ctx.Err() != nil || !time.Now().Before(deadline) { //nolint:forbidigo // of this process
		return driver.Progress{}, context.DeadlineExceeded
	}
	ctx = driver.WithCheck(ctx, func(ctx context.Context) error { return w.current(ctx, t) })
	if t.begun {
		return t.driver.Look(ctx, t.task)
	}
	return t.driver.Begin(ctx, t.task)
}

// row is a provisioning with what its step asks, read under its lock.
type row struct {
	State    State    `db:"state"`
	Driver   string   `db:"driver"`
	Attempt  int      `db:"attempt"`
	Begun    bool     `db:"begun"`
	Errors   int      `db:"errors"`
	DueIn    float64  `db:"due_in"` // seconds
	Ended    bool     `db:"ended"`
	Occupied bool     `db:"occupied"` // the machine has an active service that is not this one
	Earlier  bool     `db:"earlier"`  // something else is to be done to the machine first
	OS       string   `db:"os"`
	Keys     []string `db:"ssh_keys"`
	Tag      string   `db:"asset_tag"`
	Site     string   `db:"site_code"`
	Serial   string   `db:"serial"`
	Rack     string   `db:"rack"`
	Address  string   `db:"address"`
	Print    string   `db:"fingerprint"`
}

const selectRow = `
select p.state, p.driver, p.attempt, p.begun, p.errors, extract(epoch from p.due_at - clock_timestamp())::float8 as due_in,
       s.ended_at is not null as ended,
       exists (select from services o where o.machine_id = p.machine_id and o.ended_at is null and o.id <> s.id) as occupied,
       exists (select from provisionings q where q.machine_id = p.machine_id and q.state in ('queued', 'running')
                  and (q.created_at, q.service_id) < (p.created_at, p.service_id)) as earlier,
       s.os, s.ssh_keys, m.asset_tag, m.site_code, m.serial, m.rack,
       coalesce(b.address, '') as address, coalesce(b.fingerprint, '') as fingerprint
  from provisionings p
  join services s on s.id = p.service_id
  join machines m on m.id = p.machine_id
  left join machine_bmcs b on b.machine_id = m.id
 where p.service_id = $1 and p.kind = $2`

// take reads the row and commits what the driver is asked next.
func (w *Works) take(ctx context.Context, service uuid.UUID, kind driver.Kind) (t turn, err error) {
	t = turn{service: service, kind: kind}
	err = pg.Engine(ctx, w.db, by, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, service, kind); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		}
		rows, err := tx.Query(ctx, selectRow, service, kind)
		if err != nil {
			return err
		}
		r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[row])
		if err != nil {
			return err
		}
		return w.decide(ctx, tx, &t, r)
	})
	if err != nil {
		return turn{}, fmt.Errorf("%s of service %s: %w", kind, service, err)
	}
	return t, nil
}

func lock(ctx context.Context, tx pgx.Tx, service uuid.UUID, kind driver.Kind) error {
	var one int
	return tx.QueryRow(ctx, "select 1 from provisionings where service_id = $1 and kind = $2 for no key update", service, kind).Scan(&one)
}

func (w *Works) decide(ctx context.Context, tx pgx.Tx, t *turn, r row) error {
	name := r.Driver
	if name == "" {
		name = w.driver
	}
	switch {
	case !r.State.Open(), name == Manual && r.Driver == Manual:
		return nil
	case r.Ended != (t.kind == driver.Wipe), r.Occupied:
		// The triggers do not let it come to this.
		return fmt.Errorf("the service ended: %v, the machine is another's: %v", r.Ended, r.Occupied)
	case r.DueIn > 0:
		t.wait = min(time.Duration(r.DueIn*float64(time.Second))+time.Millisecond, lastBackoff)
		return nil
	case r.Earlier:
		t.wait = orderWait
		return nil
	}
	if name == Manual {
		_, err := tx.Exec(ctx, `update provisionings set driver = 'manual', state = 'running', step = 'by_hand', begun = true,
 started_at = coalesce(started_at, clock_timestamp()) where service_id = $1 and kind = $2`, t.service, t.kind)
		return err
	}
	d := w.drivers[name]
	if d == nil {
		t.wait = time.Minute
		_, err := tx.Exec(ctx, `update provisionings set error = $3, due_at = clock_timestamp() + interval '1 minute'
 where service_id = $1 and kind = $2`, t.service, t.kind, "the driver "+name+" is not set up")
		return err
	}
	t.begun, t.errors = r.Begun && r.Errors < lookTries, r.Errors
	t.task = driver.Task{
		Service: t.service.String(), Kind: t.kind, Attempt: r.Attempt,
		Machine: driver.Machine{Tag: r.Tag, Site: r.Site, Serial: r.Serial, Rack: r.Rack, BMC: driver.BMC{Address: r.Address, Fingerprint: r.Print}},
	}
	if t.kind == driver.Install {
		t.task.OS, t.task.Keys = r.OS, r.Keys
	}
	if !t.begun {
		t.task.Attempt++
	}
	t.driver = d
	_, err := tx.Exec(ctx, `update provisionings set driver = $3, state = 'running', attempt = $4, begun = $5,
 started_at = coalesce(started_at, clock_timestamp()), due_at = clock_timestamp() + $6::interval where service_id = $1 and kind = $2`,
		t.service, t.kind, name, t.task.Attempt, t.begun, limit(d)+leaseBeyond)
	return err
}

// errStale says that the attempt is not the row's any more.
var errStale = errors.New("this attempt does not count any more")

// current is asked by drivers between two requests of one call.
func (w *Works) current(ctx context.Context, t turn) error {
	return pg.Engine(ctx, w.db, by, func(tx pgx.Tx) error {
		var yes bool
		err := tx.QueryRow(ctx, `
select exists (select from provisionings p join services s on s.id = p.service_id
  where p.service_id = $1 and p.kind = $2 and p.attempt = $3 and p.driver = $4 and p.state = 'running'
    and (s.ended_at is null) = (p.kind = 'install')
    and not exists (select from services o where o.machine_id = p.machine_id and o.ended_at is null and o.id <> s.id))`,
			t.service, t.kind, t.task.Attempt, t.driver.Name()).Scan(&yes)
		if err == nil && !yes {
			return errStale
		}
		return err
	})
}

// mine is the condition under which a step may write: the attempt is still the row's.
const mine = ` where service_id = $1 and kind = $2 and attempt = $3 and driver = $4 and state = 'running'`

// record writes what the driver said, if it still counts.
func (w *Works) record(ctx context.Context, t turn, p driver.Progress, failure error) (next time.Duration, err error) {
	switch {
	case errors.Is(failure, errStale):
		return 0, nil
	case driver.IsPermanent(failure), failure != nil && t.errors+1 >= maxErrors:
		return 0, w.fail(ctx, t, failure.Error())
	case failure != nil:
		next = max(backoff(t.errors), driver.Waits(failure))
		err = w.write(ctx, t, `error = $5, errors = errors + 1, due_at = clock_timestamp() + $6::interval`, clip(failure.Error(), maxText), next)
	case p.State == driver.Done:
		return 0, w.done(ctx, t)
	case p.State == driver.Failed:
		return 0, w.fail(ctx, t, p.Detail)
	default:
		var percent *int
		if p.Percent >= 0 && p.Percent <= 100 {
			percent = &p.Percent
		}
		next = w.poll
		err = w.write(ctx, t, `step = $5, percent = $6, detail = $7, error = '', errors = 0, begun = true, due_at = clock_timestamp() + $8::interval`,
			step(p.Step), percent, clip(p.Detail, maxText), next)
	}
	if errors.Is(err, errStale) {
		return 0, nil
	}
	if err == nil {
		w.onChange()
	}
	return next, err
}

// write sets columns of the row, or is errStale.
func (w *Works) write(ctx context.Context, t turn, set string, args ...any) error {
	return pg.Engine(ctx, w.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "update provisionings set "+set+mine,
			append([]any{t.service, t.kind, t.task.Attempt, t.driver.Name()}, args...)...)
		if err == nil && tag.RowsAffected() == 0 {
			return errStale
		}
		return err
	})
}

// backoff doubles from 5 s to 10 min.
func backoff(before int) time.Duration {
	return min(firstBackoff<<min(before, 10), lastBackoff)
}

// maxText is how many characters of a driver's text are kept.
const maxText = 500

// step is a code as the table takes it.
func step(code string) string {
	for i, r := range code {
		if r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '_') {
			continue
		}
		return ""
	}
	if len(code) > 40 {
		return ""
	}
	return code
}
