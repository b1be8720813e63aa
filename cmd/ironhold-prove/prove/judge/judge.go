package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/cmd/ironhold-prove/prove/record"
)

// Window is a time in which the server stood still or was away, by the driver's clock.
type Window struct{ From, To time.Time }

// Case is what is judged.
type Case struct {
	Entries []*record.Entry
	Stopped []Window      // of PostgreSQL
	Offset  time.Duration // the database's clock minus the driver's
	Slack   time.Duration // by how much that may be wrong
}

// Verdict is what was found. Counts say how much was looked at.
type Verdict struct {
	Violations []string
	Counts     map[string]int
}

type judge struct {
	Case
	*facts
	v      Verdict
	perKey map[string]*keyed
}

// keyed is everything about one order.
type keyed struct {
	first   time.Time // sent
	okay    time.Time // first success answered; zero without
	hold    string
	definit bool
	last    *record.Entry
}

func (j *judge) wrong(format string, args ...any) {
	j.v.Violations = append(j.v.Violations, fmt.Sprintf(format, args...))
}

func (j *judge) count(what string) { j.v.Counts[what]++ }

// Judge looks at everything. The error is one of looking, not a violation.
func Judge(ctx context.Context, db *pgx.Conn, c Case) (Verdict, error) {
	f, err := readFacts(ctx, db)
	if err != nil {
		return Verdict{}, err
	}
	j := &judge{Case: c, facts: f, v: Verdict{Counts: map[string]int{}}, perKey: map[string]*keyed{}}
	j.answers()
	j.keys()
	j.refusals()
	j.histories()
	return j.v, nil
}

// db turns a time of the driver into the database's.
func (j *judge) db(t time.Time) time.Time { return t.Add(j.Offset) }

// describe names a request so that it is found in the log.
func describe(e *record.Entry) string {
	return fmt.Sprintf("%s %s of %s (actor %d, process %s, request %s, sent %s): status %d %s %s", e.Phase, e.Op, e.Org+" "+e.Key+e.Target,
		e.Actor, e.Process, e.Request, e.Sent.Format("15:04:05.000000"), e.Status, e.Problem, e.Error)
}

// answers checks each success against the database, and that nothing was answered with a fault.
func (j *judge) answers() {
	for _, e := range j.Entries {
		switch {
		case e.Status >= 500 && e.Status != 503:
			j.wrong("a fault was answered: %s", describe(e))
		case e.Status == 503:
			j.count("answers 503")
		case e.Status == 0:
			j.count("no answer")
		}
		if e.Op == record.Order {
			j.order(e)
		}
		if !e.OK() {
			if e.Op != record.Order && e.Status != 0 && e.Status < 500 {
				j.step(e)
			}
			continue
		}
		h := j.holds[e.Hold]
		switch e.Op {
		case record.Order:
			j.count("acknowledged orders")
			if h == nil || h.Org != e.Org || h.Key != e.Key || e.Machine != "" && h.Tag != e.Machine {
				j.wrong("an acknowledged order is not in the database: %s", describe(e))
			}
		case record.Extend:
			j.count("acknowledged extensions")
			if h == nil || h.Extended == nil || h.Expires.Before(e.Expires) {
				j.wrong("an acknowledged extension is not in the database: %s", describe(e))
			}
		case record.Cancel:
			j.count("acknowledged cancellations")
			if h == nil || h.State != "cancelled" {
				j.wrong("an acknowledged cancellation is not in the database: %s", describe(e))
			}
		case record.Confirm:
			j.count("acknowledged confirmations")
			if h = j.holds[e.Target]; h == nil || h.State != "converted" || e.Service != h.Service {
				j.wrong("an acknowledged confirmation is not in the database: %s", describe(e))
			}
		case record.End:
			j.count("acknowledged ends")
			if h == nil || h.Service != e.Target || h.ServiceEnded == nil {
				j.wrong("an acknowledged end of a service is not in the database: %s", describe(e))
			}
		case record.Wipe:
			j.count("acknowledged wipes")
			if !slices.ContainsFunc(j.ready[e.Target], func(m move) bool {
				return !m.At.Before(j.db(e.Sent).Add(-j.Slack)) && !m.At.After(j.db(e.Got).Add(j.Slack))
			}) {
				j.wrong("an acknowledged wipe is not in the history: %s", describe(e))
			}
		}
	}
}

// step checks the reason of a refused step.
func (j *judge) step(e *record.Entry) {
	h := j.holds[e.Target]
	switch {
	case e.Op == record.Look, e.Op == "sign-in":
		j.wrong("a reader was refused: %s", describe(e))
		return
	case e.Op == record.Wipe && e.Problem == "illegal-move":
		j.count("refused wipes")
		return // sold again meanwhile
	}
	j.count("refused steps")
	ok := false
	if h != nil {
		switch e.Problem {
		case "hold-expired":
			ok = !j.db(e.Got).Add(j.Slack).Before(h.Expires)
		case "hold-cancelled":
			ok = h.State == "cancelled"
		case "hold-converted":
			ok = h.State == "converted"
		case "extension-used":
			ok = h.Extended != nil
		}
	}
	if !ok {
		j.wrong("a step was refused without its reason: %s", describe(e))
	}
}

// order collects what is known of a key.
func (j *judge) order(e *record.Entry) {
	name := keyOf(e.Org, e.Key)
	k := j.perKey[name]
	if k == nil {
		k = &keyed{first: e.Sent}
		j.perKey[name] = k
	}
	if e.Sent.Before(k.first) {
		k.first = e.Sent
	}
	if !e.Unknown() {
		k.definit = true
	}
	k.last = e
	if e.OK() {
		if k.hold != "" && k.hold != e.Hold {
			j.wrong("one key, two holds: %s and %s for %s", k.hold, e.Hold, describe(e))
		}
		k.hold = e.Hold
		if k.okay.IsZero() || e.Got.Before(k.okay) {
			k.okay = e.Got
		}
	}
}

// keys checks that each key came to one result, the database's.
func (j *judge) keys() {
	for name, k := range j.perKey {
		j.count("keys")
		if !k.definit {
			j.wrong("an order was never resolved: %s", describe(k.last))
		}
		h := j.byKey[name]
		if h != nil && k.hold == "" && k.last != nil && !k.last.Unknown() {
			// Only a refusal of a request that ended before the order went through.
			j.wrong("an order is in the database and its last answer was a refusal: %s", describe(k.last))
		}
	}
	for name := range j.byKey {
		if j.perKey[name] == nil {
			j.wrong("a hold was made for a key that nobody sent: %s", name)
		}
	}
}

// span is a time in which somebody had the machine, or it was out of sale.
type span struct {
	from, to time.Time
	org      string
}

var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// visible is when everybody sees what was committed: at once, unless the server stood still then.
func (j *judge) visible(t time.Time) time.Time {
	for _, w := range j.Stopped {
		from, to := j.db(w.From).Add(-margin), j.db(w.To)
		if !t.Before(from) && t.Before(to) {
			t = to
		}
	}
	return t.Add(margin)
}

// margin is what a busy server may take from the time stamp of a commit to its end.
const margin = 500 * time.Millisecond

func (j *judge) spans() map[string][]span {
	out := map[string][]span{}
	for tag, t := range j.added {
		out[tag] = append(out[tag], span{to: j.visible(t)}) // not there before
	}
	for _, h := range j.holds {
		s := span{from: h.Began, to: h.Expires, org: h.Org}
		switch {
		case h.State == "cancelled" && h.Ended != nil:
			if freed := j.visible(*h.Ended); freed.Before(s.to) {
				s.to = freed
			}
		case h.State == "converted":
			s.to = never
			for _, m := range j.ready[h.Tag] {
				if m.At.After(h.Began) {
					s.to = j.visible(m.Committed)
					break
				}
			}
		}
		out[h.Tag] = append(out[h.Tag], s)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b span) int { return a.from.Compare(b.from) })
	}
	return out
}

// refusals checks that no order was refused while a machine that fits was free all the time.
func (j *judge) refusals() {
	busy := j.spans()
	for _, e := range j.Entries {
		if e.Op != record.Order || e.Status == 0 || e.OK() || e.Status >= 500 {
			continue
		}
		sent, got := j.db(e.Sent).Add(-j.Slack), j.db(e.Got).Add(j.Slack)
		switch e.Problem {
		case "none-left", "all-held", "someone-was-faster":
		case "already-yours":
			if !slices.ContainsFunc(busy[e.Ask.Machine], func(s span) bool {
				return s.org == e.Org && s.from.Before(got) && s.to.After(sent)
			}) {
				j.wrong("already-yours without anything of theirs: %s", describe(e))
			}
			j.count("refused already-yours")
			continue
		default:
			j.wrong("an order was refused for no reason that there is: %s", describe(e))
			continue
		}
		j.count("refused " + e.Problem)
		if k := j.perKey[keyOf(e.Org, e.Key)]; !k.okay.IsZero() && k.okay.Before(e.Sent) {
			j.wrong("an order was refused after it had been acknowledged: %s", describe(e))
		}
		for _, tag := range j.tags {
			if j.fits(e.Ask, tag) && free(busy[tag], sent, got) {
				j.wrong("refused while machine %s was free all the time: %s", tag, describe(e))
				break
			}
		}
	}
}

func (j *judge) fits(a record.Ask, tag string) bool {
	return (a.Machine == "" || a.Machine == tag) && j.ram[tag] >= a.MinRAMGB &&
		strings.Contains(strings.ToLower(j.cpu[tag]), strings.ToLower(a.CPU))
}

// free reports whether no span touches the time.
func free(busy []span, from, to time.Time) bool {
	for _, s := range busy {
		if s.from.After(to) {
			break
		}
		if s.to.After(from) {
			return false
		}
	}
	return true
}

// Summary lists the counts in the order of their names.
func (v Verdict) Summary() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v.Counts)) {
		fmt.Fprintf(&b, "  %-28s %d\n", name, v.Counts[name])
	}
	return b.String()
}
