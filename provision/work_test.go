package provision_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/provision"
	"ironhold/provision/driver"
)

func (b *bench) sound() {
	b.t.Helper()
	results, err := invariants.New(b.app).Check(b.t.Context())
	if bad := invariants.Violated(results); err != nil || len(bad) > 0 {
		b.t.Errorf("violated: %+v %v", bad, err)
	}
}

// The whole life: sold, installed with what was chosen, ended, wiped, for sale again.
func TestInstallAndWipe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.machine()
	fixture.Exec(t, b.owner, "insert into machine_bmcs values ($1, '192.0.2.7', repeat('ab', 32))", m)
	v := b.sell(m, holds.Setup{OS: "freebsd-14", Keys: []string{"ssh-ed25519 AAAA"}})
	b.want(v.ID, driver.Install, provision.Queued)
	b.fake.says(running, running, done)
	if next := b.step(v.ID, driver.Install); next <= 0 {
		t.Errorf("after the beginning the next step is due in %s", next)
	}
	if p := b.want(v.ID, driver.Install, provision.Running); p.Step != "installing" || *p.Percent != 40 || p.Attempt != 1 {
		t.Errorf("%+v", p)
	}
	// Not before it is due.
	if next, err := b.works.Step(t.Context(), v.ID, driver.Install); err != nil || next <= 0 || len(b.fake.asked) != 1 {
		t.Errorf("%s %v %v", next, err, b.fake.asked)
	}
	b.step(v.ID, driver.Install)
	if next := b.step(v.ID, driver.Install); next != 0 {
		t.Errorf("after the end a step is due in %s", next)
	}
	b.want(v.ID, driver.Install, provision.Done)
	b.step(v.ID, driver.Install)
	if want := []string{"begin install 1", "look install 1", "look install 1"}; !slices.Equal(b.fake.asked, want) {
		t.Errorf("asked %v, want %v", b.fake.asked, want)
	}
	task := b.fake.tasks[0]
	if task.OS != "freebsd-14" || !slices.Equal(task.Keys, []string{"ssh-ed25519 AAAA"}) || task.Machine.Tag != "M1" || task.Machine.BMC.Address != "192.0.2.7" || task.Service != v.ID.String() {
		t.Errorf("%+v", task)
	}
	b.sound()

	b.end(v.ID)
	if got := b.status(m); got != "cleaning" {
		t.Errorf("after the end the machine is %s", got)
	}
	b.fake.says(running, done)
	b.step(v.ID, driver.Wipe)
	if got := b.status(m); got != "cleaning" {
		t.Errorf("while it is wiped the machine is %s", got)
	}
	if task := b.fake.tasks[0]; task.OS != "" || task.Keys != nil || task.Kind != driver.Wipe || task.Attempt != 1 {
		t.Errorf("%+v", task)
	}
	b.step(v.ID, driver.Wipe)
	b.want(v.ID, driver.Wipe, provision.Done)
	if got := b.status(m); got != "ready" {
		t.Errorf("after the wipe the machine is %s", got)
	}
	b.sound()
	b.sell(m, holds.Setup{})
}

// Whoever does not choose gets the first on offer; what is not offered is refused and changes nothing.
func TestChoice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if v := b.sell(b.machine(), holds.Setup{}); v.OS != "debian-13" || len(v.SSHKeys) != 0 {
		t.Errorf("%+v", v)
	}
	fixture.Exec(t, b.owner, "update operating_systems set active = false where code = 'freebsd-14'")
	m := b.machine()
	hold := fixture.Get[uuid.UUID](t, b.owner, `insert into holds (org_id, machine_id, idempotency_key, expires_at)
values ($1, $2, 'k', clock_timestamp() + interval '1 minute') returning id`, b.org, m)
	_, _, err := b.book.ConvertWith(t.Context(), actor, b.scope(), hold, holds.Setup{OS: "freebsd-14"})
	if r, ok := errors.AsType[*holds.Refused](err); !ok || r.Kind != holds.OSNotOffered {
		t.Errorf("%v", err)
	}
	if got := fixture.Get[string](t, b.owner, "select state from holds where id = $1", hold); got != "held" {
		t.Errorf("the hold is %s", got)
	}
}

// An error says nothing: it is tried again with a higher attempt when the task was not begun, and looked at
// again when it was, until that has failed too often.
func TestErrorsAreTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.sell(b.machine(), holds.Setup{})
	away := errors.New("no answer")
	b.fake.says(away, driver.Wait(away, time.Hour), running, away, away, away, away, away, running, done)
	first, second := b.step(v.ID, driver.Install), b.step(v.ID, driver.Install)
	if first < 5*time.Second || second != time.Hour {
		t.Errorf("tried again after %s and %s", first, second)
	}
	for range 8 {
		b.step(v.ID, driver.Install)
	}
	b.want(v.ID, driver.Install, provision.Done)
	want := []string{"begin install 1", "begin install 2", "begin install 3"}
	for range 5 {
		want = append(want, "look install 3")
	}
	want = append(want, "begin install 4", "look install 4")
	if !slices.Equal(b.fake.asked, want) {
		t.Errorf("asked %v, want %v", b.fake.asked, want)
	}
	// A day of errors is enough.
	v = b.sell(b.machine(), holds.Setup{})
	b.fake.says(away)
	b.step(v.ID, driver.Install)
	fixture.Exec(t, b.owner, "update provisionings set errors = 149 where service_id = $1", v.ID)
	b.step(v.ID, driver.Install)
	b.want(v.ID, driver.Install, provision.Failed)
	b.sound()
}

// A failure for good ends the service, keeps the machine off sale and says why; the second one within 30 days
// sets the machine aside, and it comes back by an operator's word alone.
func TestFailureForGood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.machine()
	for i, says := range []any{failed, driver.Permanent(errors.New("the disk is broken"))} {
		v := b.sell(m, holds.Setup{})
		b.fake.says(running, says)
		b.step(v.ID, driver.Install)
		b.step(v.ID, driver.Install)
		b.want(v.ID, driver.Install, provision.Failed)
		b.want(v.ID, driver.Wipe, provision.Queued)
		got, err := b.book.GetService(t.Context(), b.scope(), v.ID)
		if err != nil || got.EndedAt == nil || !strings.Contains(got.EndReason, "the disk is broken") {
			t.Errorf("%+v %v", got, err)
		}
		if got := b.status(m); got != "maintenance" {
			t.Errorf("the machine is %s", got)
		}
		if why := fixture.Get[string](t, b.owner, "select status_reason from machines where id = $1", m); !strings.Contains(why, "the disk is broken") {
			t.Errorf("its reason is %q", why)
		}
		b.fake.says(done)
		b.step(v.ID, driver.Wipe)
		b.want(v.ID, driver.Wipe, provision.Done)
		if got := b.status(m); got != "maintenance" {
			t.Errorf("a wipe brought it to %s", got)
		}
		b.sound()
		_, err = b.app.Exec(t.Context(), "set role ironhold_engine; update machines set status = 'ready', status_reason = 'looks fine' where id = '"+m.String()+"'; reset role")
		if (err != nil) != (i == 1) {
			t.Errorf("back on sale after failure %d: %v", i+1, err)
		}
	}
	if why := fixture.Get[string](t, b.owner, "select set_aside_reason from machines where id = $1", m); why == "" {
		t.Error("it is not set aside")
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from machine_events where event = 'set_aside'"); n != 1 {
		t.Errorf("%d entries in its history", n)
	}
}

// A wipe that fails keeps the machine off sale.
func TestFailedWipe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.machine()
	v := b.sell(m, holds.Setup{})
	b.end(v.ID)
	b.fake.says(failed)
	b.step(v.ID, driver.Wipe)
	b.want(v.ID, driver.Wipe, provision.Failed)
	if got := b.status(m); got != "maintenance" {
		t.Errorf("the machine is %s", got)
	}
	b.sound()
}

// A service that ends while it is set up is set up no further; its wipe follows.
func TestEndedWhileSetUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.sell(b.machine(), holds.Setup{})
	b.fake.says(running)
	b.step(v.ID, driver.Install)
	b.fake.answer = func(string, driver.Task) (driver.Progress, error) {
		b.end(v.ID) // right during the call
		return done, nil
	}
	if next := b.step(v.ID, driver.Install); next != 0 {
		t.Errorf("a further step is due in %s", next)
	}
	b.want(v.ID, driver.Install, provision.Dropped)
	b.want(v.ID, driver.Wipe, provision.Queued)
	b.fake.says(failed)
	if b.step(v.ID, driver.Install); len(b.fake.asked) != 0 {
		t.Errorf("asked %v", b.fake.asked)
	}
	b.sound()
}

// Two jobs for one row, and a job that comes back late: the row is worked on by one, and what a former
// attempt brings does not count.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.sell(b.machine(), holds.Setup{})
	b.fake.answer = func(string, driver.Task) (driver.Progress, error) {
		b.fake.says(running)
		if next, err := b.works.Step(t.Context(), v.ID, driver.Install); err != nil || next <= 0 || len(b.fake.asked) != 0 {
			t.Errorf("the second: %s %v, asked %v", next, err, b.fake.asked)
		}
		// Its lease has run out: another takes over.
		b.step(v.ID, driver.Install)
		return failed, nil
	}
	b.step(v.ID, driver.Install)
	if p := b.want(v.ID, driver.Install, provision.Running); p.Attempt != 2 {
		t.Errorf("%+v", p)
	}
	// And between two requests of one call it finds out.
	b.fake.answer = nil
	v2 := b.sell(b.machine(), holds.Setup{})
	slow := &slow{before: func() { b.end(v2.ID) }}
	w, err := provision.NewWorks(b.app, b.book, provision.Options{Driver: "slow", Drivers: []driver.Driver{slow}})
	if err != nil {
		t.Fatal(err)
	}
	if next, err := w.Step(t.Context(), v2.ID, driver.Install); next != 0 || err != nil || slow.went {
		t.Errorf("%s %v, went on: %v", next, err, slow.went)
	}
}

// slow asks between two requests.
type slow struct {
	before func()
	went   bool
}

func (*slow) Name() string { return "slow" }

func (s *slow) Begin(ctx context.Context, _ driver.Task) (driver.Progress, error) {
	s.before()
	if err := driver.Check(ctx); err != nil {
		return driver.Progress{}, fmt.Errorf("stopped: %w", err)
	}
	s.went = true
	return done, nil
}

func (s *slow) Look(ctx context.Context, t driver.Task) (driver.Progress, error) {
	return s.Begin(ctx, t)
}

// A person does what the driver manual has: nothing is asked outside.
func TestByHand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.works = b.worksOf(provision.Manual)
	m := b.machine()
	v := b.sell(m, holds.Setup{})
	if next := b.step(v.ID, driver.Install); next != 0 {
		t.Errorf("a further step is due in %s", next)
	}
	board, err := b.store.Board(t.Context())
	if err != nil || len(board) != 1 || !board[0].ByHand() || board[0].Step != "by_hand" || board[0].Org != "acme" {
		t.Errorf("%+v %v", board, err)
	}
	if err := b.store.HandDone(t.Context(), actor, v.ID, driver.Install); err != nil {
		t.Error(err)
	}
	b.want(v.ID, driver.Install, provision.Done)
	if err := b.store.HandDone(t.Context(), actor, v.ID, driver.Install); refused(err) != provision.Over {
		t.Errorf("again: %v", err)
	}
	if err := b.store.HandDone(t.Context(), actor, uuid.New(), driver.Wipe); refused(err) != provision.NotFound {
		t.Errorf("unknown: %v", err)
	}
	b.end(v.ID)
	if err := b.store.HandFailed(t.Context(), actor, b.book, v.ID, driver.Wipe, " "); err == nil {
		t.Error("failed without a reason")
	}
	if err := b.store.HandDone(t.Context(), actor, v.ID, driver.Wipe); err != nil {
		t.Error(err)
	}
	if got := b.status(m); got != "ready" {
		t.Errorf("the machine is %s", got)
	}
	// What a driver has a person takes over first.
	b.works = b.worksOf("fake")
	v = b.sell(m, holds.Setup{})
	b.fake.says(running)
	b.step(v.ID, driver.Install)
	if err := b.store.HandDone(t.Context(), actor, v.ID, driver.Install); refused(err) != provision.NotByHand {
		t.Errorf("%v", err)
	}
	b.fake.answer = func(string, driver.Task) (driver.Progress, error) {
		if err := b.store.TakeOver(t.Context(), actor, v.ID, driver.Install); err != nil {
			t.Error(err)
		}
		return done, nil
	}
	b.step(v.ID, driver.Install)
	b.want(v.ID, driver.Install, provision.Running)
	if err := b.store.HandFailed(t.Context(), actor, b.book, v.ID, driver.Install, "does not start"); err != nil {
		t.Error(err)
	}
	b.want(v.ID, driver.Install, provision.Failed)
	b.want(v.ID, driver.Wipe, provision.Queued)
	b.sound()
}

func refused(err error) provision.RefusedKind {
	if r, ok := errors.AsType[*provision.Refused](err); ok {
		return r.Kind
	}
	return ""
}
