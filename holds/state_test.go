package holds_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// TestHoldLife plays random lives of holds on three equal machines against the database and, beside
// it, against a model that knows the rules alone. Every answer and, after every step, every state
// must agree.
func TestHoldLife(t *testing.T) {
	t.Parallel()
	fewer(t)
	b := setup(t, 4)
	b.book = holds.New(b.app, holds.Policy{Duration: 15 * time.Minute, Extension: 15 * time.Minute, Ceiling: 1e4 * time.Hour, Window: 24 * time.Hour})
	for range 3 {
		b.machine()
	}
	rapid.Check(t, func(rt *rapid.T) {
		l := newLife(b)
		rt.Repeat(map[string]func(*rapid.T){
			"":           l.compare,
			"hold":       l.hold,
			"extend":     l.extend,
			"cancel":     l.cancel,
			"convert":    l.convert,
			"substitute": l.substitute,
			"pass":       l.pass,
			"sweep":      l.sweep,
			"move":       l.move,
			"wipe":       l.wipe,
			"end":        l.end,
		})
	})
}

// fewer makes less of rapid's default, since each step is several transactions.
func fewer(t *testing.T) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			t.Fatal(err)
		}
	}
}

// life is the model.
type life struct {
	b        *bench
	machines []*lifeMachine
	holds    []*lifeHold
}

type lifeMachine struct {
	id      uuid.UUID
	status  string
	unwiped bool
}

type lifeHold struct {
	id         uuid.UUID
	on         *lifeMachine
	state      holds.State
	passed     bool // its deadline
	extended   bool
	key        string // of the extension
	service    uuid.UUID
	ended      bool // the service
	substitute *lifeHold
}

func newLife(b *bench) *life {
	b.force("delete from services")
	b.force("delete from holds")
	b.force("update machines set status = 'ready', wiped_at = null")
	l := &life{b: b}
	for _, id := range fixture.Get[[]uuid.UUID](b.t, b.owner, "select array_agg(id order by asset_tag) from machines") {
		l.machines = append(l.machines, &lifeMachine{id: id, status: "ready"})
	}
	return l
}

func (l *life) draw(t *rapid.T) *lifeHold {
	if len(l.holds) == 0 {
		t.Skip("no hold yet")
	}
	return l.holds[rapid.IntRange(max(0, len(l.holds)-4), len(l.holds)-1).Draw(t, "hold")]
}

func (l *life) drawMachine(t *rapid.T) *lifeMachine {
	return rapid.SampledFrom(l.machines).Draw(t, "machine")
}

func (h *lifeHold) live() bool { return h.state == holds.Held && !h.passed }

// notLive is the answer to a step on a hold that is live no more.
func (h *lifeHold) notLive() holds.RefusedKind {
	switch {
	case h.state == holds.Held && h.passed, h.state == holds.Expired:
		return holds.HoldExpired
	case h.state == holds.Cancelled:
		return holds.HoldCancelled
	case h.state == holds.Converted:
		return holds.HoldConverted
	}
	return ""
}

func (l *life) occupied(m *lifeMachine) (live, service bool) {
	for _, h := range l.holds {
		live = live || h.on == m && h.live()
		service = service || h.on == m && h.service != uuid.Nil && !h.ended
	}
	return live, service
}

func (l *life) free(m *lifeMachine) bool {
	live, service := l.occupied(m)
	return m.status == "ready" && !live && !service
}

// freeOverdue is what an insertion does first.
func (l *life) freeOverdue(m *lifeMachine) {
	for _, h := range l.holds {
		if h.on == m && h.state == holds.Held && h.passed {
			h.state = holds.Expired
		}
	}
}

// agree compares an answer with the model's.
func agree(t *rapid.T, step string, got, want holds.RefusedKind) {
	if got != want {
		t.Fatalf("%s answered %q, the model says %q", step, got, want)
	}
}

func (l *life) answer(t *rapid.T, err error) holds.RefusedKind {
	if r, ok := errors.AsType[*holds.Refused](err); ok {
		return r.Kind
	}
	if err != nil {
		t.Fatalf("a fault, not an answer: %v", err)
	}
	return ""
}

func (l *life) scope() holds.Scope { return holds.Scope{OrgID: l.b.org} }

func (l *life) hold(t *rapid.T) {
	m := l.drawMachine(t)
	id := uuid.Must(uuid.NewV7())
	ctx := context.Background()
	err := pg.Engine(ctx, l.b.app, actor, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		holds.QueueExpireOverdue(batch, m.id, func(uuid.UUID) {})
		holds.QueueInsert(batch, holds.NewHold{ID: id, OrgID: l.b.org, MachineID: m.id, IdempotencyKey: id.String(), RequestHash: []byte{},
			Request: []byte("{}"), Decision: []byte("{}"), Currency: "EUR", Duration: 15 * time.Minute}, "test", func(_, _ time.Time) {})
		return pg.Pipeline(ctx, tx, batch)
	})
	live, service := l.occupied(m)
	want := ""
	switch {
	case m.status != "ready":
		want = "machines_ready_to_occupy"
	case service:
		want = "machines_one_occupant"
	case live:
		want = "holds_one_held_per_machine"
	}
	if got := pg.Constraint(err); got != want || err != nil && want == "" {
		t.Fatalf("hold: %v, the model says %q", err, want)
	}
	if err == nil {
		l.freeOverdue(m)
		l.holds = append(l.holds, &lifeHold{id: id, on: m, state: holds.Held})
	}
}

func (l *life) extend(t *rapid.T) {
	h, key := l.draw(t), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
	got, err := l.b.book.Extend(context.Background(), actor, l.scope(), h.id, key)
	answer := l.answer(t, err)
	switch {
	case key != "" && key == h.key:
		agree(t, "repeated extension", answer, "")
	case !h.live():
		agree(t, "extension", answer, h.notLive())
	case h.extended:
		agree(t, "second extension", answer, holds.ExtensionUsed)
	default:
		agree(t, "extension", answer, "")
		h.extended, h.key = true, key
		if got.ExtendedAt == nil || got.SecondsLeft() < 15*60 {
			t.Fatalf("extended, but %d seconds are left", got.SecondsLeft())
		}
	}
}

func (l *life) cancel(t *rapid.T) {
	h := l.draw(t)
	got, err := l.b.book.Cancel(context.Background(), actor, l.scope(), h.id, "test")
	answer := l.answer(t, err)
	if h.state != holds.Cancelled {
		agree(t, "cancel", answer, h.notLive())
	}
	if answer == "" {
		h.state = holds.Cancelled
		if got.State != holds.Cancelled {
			t.Fatalf("cancelled, but the answer shows %s", got.State)
		}
	}
}

func (l *life) convert(t *rapid.T) {
	h := l.draw(t)
	got, created, err := l.b.book.Convert(context.Background(), actor, l.scope(), h.id)
	answer := l.answer(t, err)
	switch {
	case h.state == holds.Converted:
		if agree(t, "repeated conversion", answer, ""); created || got.ID != h.service {
			t.Fatalf("converted again: created %v, another service %v", created, got.ID != h.service)
		}
	case !h.live():
		agree(t, "conversion", answer, h.notLive())
	case h.on.status != "ready":
		agree(t, "conversion", answer, holds.MachineWithdrawn)
	default:
		if agree(t, "conversion", answer, ""); !created {
			t.Fatal("converted, but not created")
		}
		h.state, h.service, h.on.status = holds.Converted, got.ID, "in_service"
	}
}

func (l *life) substitute(t *rapid.T) {
	h := l.draw(t)
	got, err := l.b.book.Substitute(context.Background(), actor, l.scope(), h.id)
	answer := l.answer(t, err)
	switch {
	case h.substitute != nil:
		if agree(t, "repeated substitution", answer, ""); got.ID != h.substitute.id {
			t.Fatal("two substitutes of one hold")
		}
	case !h.live():
		agree(t, "substitution", answer, h.notLive())
	case h.on.status == "ready":
		agree(t, "substitution", answer, holds.NotWithdrawn)
	case !slices.ContainsFunc(l.machines, l.free):
		agree(t, "substitution", answer, holds.NoSubstitute)
	default:
		agree(t, "substitution", answer, "")
		at := slices.IndexFunc(l.machines, func(m *lifeMachine) bool { return m.id == got.MachineID })
		if m := l.machines[at]; !l.free(m) {
			t.Fatal("the substitute was not free")
		} else {
			l.freeOverdue(m)
			h.state = holds.Cancelled
			h.substitute = &lifeHold{id: got.ID, on: m, state: holds.Held, extended: h.extended}
			l.holds = append(l.holds, h.substitute)
		}
	}
}

// pass is the only thing that time does.
func (l *life) pass(t *rapid.T) {
	h := l.draw(t)
	if !h.live() {
		t.Skip("not live")
	}
	l.b.pass(h.id)
	h.passed = true
}

func (l *life) sweep(t *rapid.T) {
	want := 0
	for _, h := range l.holds {
		if h.state == holds.Held && h.passed {
			h.state = holds.Expired
			want++
		}
	}
	if got, err := l.b.book.Sweep(context.Background()); err != nil || got != want {
		t.Fatalf("swept %d, %v, the model says %d", got, err, want)
	}
}

// move changes the status of a machine by plain SQL: the database alone decides.
func (l *life) move(t *rapid.T) {
	m, to := l.drawMachine(t), rapid.SampledFrom([]string{"ready", "ready", "maintenance", "maintenance", "cleaning", "in_service", "retired"}).Draw(t, "to")
	if m.status == to || to == "retired" && rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		t.Skip("nothing to do")
	}
	live, service := l.occupied(m)
	legal := map[string]string{
		"ready": "in_service maintenance retired", "in_service": "cleaning maintenance", "cleaning": "ready maintenance retired",
		"maintenance": "ready cleaning in_service retired",
	}[m.status]
	want := ""
	switch {
	case to == "retired" && (live || service):
		want = "machines_occupied_stay"
	case !slices.Contains(strings.Fields(legal), to):
		want = "machines_legal_move"
	case to == "in_service" && !service, (to == "cleaning" || to == "ready") && service:
		want = "machines_status_facts"
	case to == "ready" && m.unwiped:
		want = "machines_wiped_before_sale"
	}
	_, err := l.b.owner.Exec(context.Background(), "update machines set status = $2, status_reason = 'test' where id = $1", m.id, to)
	if got := pg.Constraint(err); got != want || err != nil && want == "" {
		t.Fatalf("%s to %s: %v, the model says %q", m.status, to, err, want)
	}
	if err == nil {
		m.status = to
	}
}

func (l *life) wipe(t *rapid.T) {
	m := l.drawMachine(t)
	if _, service := l.occupied(m); service {
		t.Skip("in service")
	}
	if _, err := l.b.owner.Exec(context.Background(), "update machines set wiped_at = clock_timestamp() where id = $1", m.id); err != nil {
		t.Fatal(err)
	}
	m.unwiped = false
}

func (l *life) end(t *rapid.T) {
	h := l.draw(t)
	if h.service == uuid.Nil {
		t.Skip("no service")
	}
	v, err := l.b.book.EndService(context.Background(), actor, l.scope(), h.service, "test")
	if err != nil || v.EndedAt == nil {
		t.Fatalf("end: %+v, %v", v, err)
	}
	if !h.ended {
		h.ended, h.on.unwiped = true, true
		if h.on.status == "in_service" {
			h.on.status = "cleaning"
		}
	}
}

// compare reads everything, in one statement, and writes the model down in the same words.
func (l *life) compare(t *rapid.T) {
	got := fixture.Get[string](l.b.t, l.b.owner, `
select concat_ws(' ',
  (select string_agg(status, ' ' order by asset_tag) from machines),
  (select string_agg(h.state || case when h.expires_at <= clock_timestamp() then ' passed' else '' end
      || case when h.extended_at is not null then ' extended' else '' end
      || case when s.id is null then '' when s.ended_at is null then ' service' else ' ended' end, ' ' order by h.id)
     from holds h left join services s on s.hold_id = h.id))`)
	var words []string
	for _, m := range l.machines {
		words = append(words, m.status)
	}
	byID := slices.SortedFunc(slices.Values(l.holds), func(a, b *lifeHold) int { return strings.Compare(a.id.String(), b.id.String()) })
	for _, h := range byID {
		words = append(words, string(h.state))
		if h.passed {
			words = append(words, "passed")
		}
		if h.extended {
			words = append(words, "extended")
		}
		switch {
		case h.service != uuid.Nil && h.ended:
			words = append(words, "ended")
		case h.service != uuid.Nil:
			words = append(words, "service")
		}
	}
	if want := strings.Join(words, " "); got != want {
		t.Fatalf("the database says\n%s\nand the model\n%s", got, want)
	}
	if bad := fixture.Get[int](l.b.t, l.b.owner, `
select count(*) from machines m where 1 < (select count(*) from holds where machine_id = m.id and state = 'held')
   + (select count(*) from services where machine_id = m.id and ended_at is null)`); bad > 0 {
		t.Fatal(fmt.Sprint(bad, " machines have two occupants"))
	}
}
