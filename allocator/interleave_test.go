package allocator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// pair is two operations on one machine and what is right: "answer, answer -> state" when the first
// named decides before the second, and when the second does, "" when that makes no difference.
// "|" stands between answers that are equally right, " or " between whole results.
//
// Some entries that may surprise:
//   - A claim that saw the machine and then does not get it answers someone_was_faster, also when
//     it was withdrawn or retired; one that comes later answers what it sees.
//   - A sweep leaves a hold that a step has locked: the step decides it, or the next sweep does.
//   - An overdue hold of a machine that left sale stays until the sweep comes.
//   - A conversion that comes before the withdrawal sells the machine; the maintenance of a sold
//     machine is legal.
//   - A lowered cap and a rollout that is off take nothing away: extension, conversion and
//     substitution of what is held go on.
//   - When the deadline passes while a step has its locks, it decides whether the step had written
//     before: a written extension counts, although nobody sees it yet.
//   - A hold keeps its price, and a claim that meets a changed price looks again and takes the new.
type pair struct {
	first, second string
	scene         string
	on            string // the machine that both are about, "" for M
	firstWins     string
	secondWins    string
}

func (p pair) name() string {
	name := p.first + "/" + p.second + "/" + p.scene
	if p.on != "" {
		name += "-on-" + p.on
	}
	return name
}

// sleepers says that the two wait for each other by trying again: no lock is seen, and nobody knows
// who is next.
func (p pair) sleepers() bool { return p.first == "import" && p.second == "import" }

// tooSlow says that the deadline passed before the stopped operation had come as far as it should.
func (p pair) tooSlow(r result, stopped int) bool {
	winner, known := p.winner(r.text)
	return r.late || p.scene == "turning" && !r.fired && known && winner != stopped
}

// winner is who decided first by a result, 0 when that makes no difference.
func (p pair) winner(text string) (int, bool) {
	switch {
	case matches(p.firstWins, text) && p.secondWins == "":
		return 0, true
	case matches(p.firstWins, text):
		return 1, true
	case matches(p.secondWins, text):
		return 2, true
	}
	return 0, false
}

func matches(want, text string) bool {
	for _, whole := range strings.Split(want, " or ") {
		answers, state, _ := strings.Cut(whole, " -> ")
		first, second, _ := strings.Cut(answers, ", ")
		for _, a := range strings.Split(first, "|") {
			for _, b := range strings.Split(second, "|") {
				if text == a+", "+b+" -> "+state {
					return true
				}
			}
		}
	}
	return false
}

// result is what came out of one run.
type result struct {
	text   string
	sql    string // the statement before which the other one ran
	fired  bool
	waited bool // the other one met a lock
	late   bool // the scene was over before the statement was reached
}

// step runs the pair: one operation is stopped before its statement number k, the other one runs
// until it ends or waits, then both go on. With swap the second is the stopped one.
func (s *stage) step(t *testing.T, p pair, k int, swap bool) (result, int) {
	t.Helper()
	s.set(t, p.scene)
	tag := p.on
	if tag == "" {
		tag = "M"
	}
	parts := [2]*part{{stage: s, tag: tag, org: party(p.second)}, {stage: s, tag: tag, org: party(p.first), second: true}}
	names := [2]string{p.first, p.second}
	a, b := 0, 1
	if swap {
		a, b = 1, 0
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()

	patient := patience
	if p.sleepers() {
		patient = 10 * time.Millisecond
	}
	var res result
	o := &other{}
	begin := func() {
		if err := o.start(ctx, s.watch, patient, func(ctx context.Context) string {
			return operations[names[b]](ctx, parts[b])
		}); err != nil {
			t.Fatal(err)
		}
	}
	tr := &traced{at: k, pause: func(sql string) {
		res.fired, res.sql = true, sql
		if p.scene == "turning" {
			intime, err := s.pass(ctx)
			if err != nil {
				t.Error(err)
			}
			res.late = !intime
		}
		begin()
	}}
	var answers [2]string
	answers[a] = operations[names[a]](tr.under(ctx), parts[a])
	if !res.fired {
		begin()
	}
	if err := o.wait(); err != nil {
		t.Fatal(err)
	}
	answers[b], res.waited = o.answer, o.waited

	state, broken, err := s.state(ctx)
	res.text = answers[0] + ", " + answers[1] + " -> " + state
	if err != nil || broken != "" {
		t.Errorf("%s: %s (%v)", res.text, broken, err)
	}
	for i, q := range parts {
		if q.hold != nil && !s.exists(ctx, t, *q.hold) {
			t.Errorf("%s answered with a hold that is not there: %s", names[i], res.text)
		}
	}
	return res, tr.statements()
}

func (s *stage) exists(ctx context.Context, t *testing.T, hold uuid.UUID) (there bool) {
	t.Helper()
	if err := s.watch.QueryRow(ctx, "select exists (select from holds where id = $1)", hold).Scan(&there); err != nil {
		t.Fatal(err)
	}
	return there
}

// party is the organisation that an operation acts for.
func party(operation string) string {
	if operation == "claim" || operation == "claim-again" || operation == "claim-repeat" {
		return "two"
	}
	return "one"
}

// TestInterleavings runs every pair of operations in both orders, the one stopped before each of
// its statements and after the last, and the other one run in the gap. Each result must be one of
// the two that the table names; whoever runs whole before or after the other wins or loses
// accordingly; who had to wait for the other lost; and along the statements there is one point
// from which on the stopped one wins.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	groups := map[string][]pair{}
	var order []string
	for _, p := range pairs {
		if groups[p.first] == nil {
			order = append(order, p.first)
		}
		groups[p.first] = append(groups[p.first], p)
	}
	for _, first := range order {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			for _, p := range groups[first] {
				t.Run(p.second+strings.TrimPrefix(p.name(), p.first+"/"+p.second), func(t *testing.T) {
					for i, stopped := range []string{p.first, p.second} {
						if p.scene == "turning" && !holders[stopped] {
							continue // the deadline passes in the midst of the holder's step
						}
						t.Run(stopped+"-stopped", func(t *testing.T) { s.walk(t, p, i == 1) })
					}
				})
			}
		})
	}
}

var holders = map[string]bool{"extend": true, "convert": true, "cancel": true}

// walk stops one operation of the pair before each of its statements in turn.
func (s *stage) walk(t *testing.T, p pair, swap bool) {
	stopped := 1
	if swap {
		stopped = 2
	}
	decided := false // the stopped one has won at an earlier step
	for k, last := 0, false; !last; k++ {
		t.Run(fmt.Sprint("step", k), func(t *testing.T) {
			s.turn = 100 * time.Millisecond
			r, _ := s.step(t, p, k, swap)
			for try := 0; try < 10 && p.tooSlow(r, stopped); try++ {
				s.turn *= 2
				r, _ = s.step(t, p, k, swap)
			}
			last = !r.fired
			at := fmt.Sprintf("stopped before %q, waited %v", firstLine(r.sql), r.waited)
			if last {
				at = "one after the other"
			}
			winner, known := p.winner(r.text)
			switch {
			case !known:
				t.Errorf("got   %s\nwant  %s\nor    %s\n%s", r.text, p.firstWins, p.secondWins, at)
			case winner == 0:
			case k == 0 && winner == stopped && !p.sleepers():
				t.Errorf("the other ran whole before, and lost: %s", r.text)
			case (last || r.waited && !p.sleepers() && p.scene != "turning") && winner != stopped:
				t.Errorf("decided before the other, and lost: %s (%s)", r.text, at)
			case decided && winner != stopped && !p.sleepers():
				t.Errorf("won one statement earlier, and lost here: %s (%s)", r.text, at)
			}
			decided = decided || winner == stopped
			if last {
				s.sound(t.Context(), t)
			}
		})
	}
}

func firstLine(sql string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	return line
}
