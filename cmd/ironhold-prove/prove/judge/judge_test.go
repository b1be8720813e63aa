package judge

import (
	"strings"
	"testing"
	"time"

	"ironhold/cmd/ironhold-prove/prove/record"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// story is one machine that org-1 held from 10 to 20 and gave back, with its answers.
func story() (*facts, []*record.Entry) {
	ended := at(20)
	h := &hold{ID: "h1", Org: "org-1", Key: "k1", Tag: "m-1", State: "cancelled", Expires: at(60), Began: at(10), Ended: &ended}
	f := &facts{
		holds: map[string]*hold{"h1": h}, byKey: map[string]*hold{keyOf("org-1", "k1"): h}, ready: map[string][]move{},
		tags: []string{"m-1"}, cpu: map[string]string{"m-1": "EPYC"}, ram: map[string]int{"m-1": 64},
	}
	return f, []*record.Entry{
		{Op: record.Order, Org: "org-1", Key: "k1", Sent: at(9.9), Got: at(10.1), Status: 201, Hold: "h1", Machine: "m-1", State: "held"},
		{Op: record.Cancel, Org: "org-1", Target: "h1", Sent: at(19.9), Got: at(20.1), Status: 200, Hold: "h1", State: "cancelled"},
	}
}

func judged(f *facts, entries []*record.Entry) []string {
	j := &judge{Case: Case{Entries: entries}, facts: f, v: Verdict{Counts: map[string]int{}}, perKey: map[string]*keyed{}}
	j.answers()
	j.keys()
	j.refusals()
	j.histories()
	return j.v.Violations
}

// Each lie is found, and only lies are.
func TestLiesAreFound(t *testing.T) {
	t.Parallel()
	refused := func(from, to float64, problem string) *record.Entry {
		return &record.Entry{Op: record.Order, Org: "org-2", Key: "k2", Ask: record.Ask{CPU: "epyc"}, Sent: at(from), Got: at(to), Status: 409, Problem: problem}
	}
	for _, c := range []struct {
		name string
		tell func(f *facts, entries []*record.Entry) []*record.Entry
		want string // "" for no lie
	}{
		{"the truth", func(_ *facts, e []*record.Entry) []*record.Entry { return e }, ""},
		{"refused while held", func(_ *facts, e []*record.Entry) []*record.Entry { return append(e, refused(12, 13, "all-held")) }, ""},
		{"refused before it was given back", func(_ *facts, e []*record.Entry) []*record.Entry { return append(e, refused(19, 25, "all-held")) }, ""},
		{"refused while free", func(_ *facts, e []*record.Entry) []*record.Entry { return append(e, refused(25, 26, "all-held")) }, "free all the time"},
		{"refused before it was held", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, refused(1, 2, "someone-was-faster"))
		}, "free all the time"},
		{"a reason that there is not", func(_ *facts, e []*record.Entry) []*record.Entry { return append(e, refused(12, 13, "limit-reached")) }, "for no reason"},
		{"refused before it was there", func(f *facts, e []*record.Entry) []*record.Entry {
			f.added = map[string]time.Time{"m-1": at(3)}
			return append(e, refused(1, 2, "none-left"))
		}, ""},
		{"a fault", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Look, Status: 500, Problem: "internal"})
		}, "a fault was answered"},
		{"lost order", func(f *facts, e []*record.Entry) []*record.Entry { clear(f.holds); clear(f.byKey); return e }, "not in the database"},
		{"lost cancellation", func(f *facts, e []*record.Entry) []*record.Entry { f.holds["h1"].State = "expired"; return e }, "not in the database"},
		{"lost extension", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Extend, Org: "org-1", Target: "h1", Hold: "h1", Sent: at(11), Got: at(12), Status: 200, Expires: at(60)})
		}, "acknowledged extension"},
		{"lost confirmation", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Confirm, Org: "org-1", Target: "h1", Sent: at(11), Got: at(12), Status: 201, Hold: "h1", Service: "s1"})
		}, "acknowledged confirmation"},
		{"lost end of a service", func(f *facts, e []*record.Entry) []*record.Entry {
			f.holds["h1"].State, f.holds["h1"].Service = "converted", "s1"
			return append(e, &record.Entry{Op: record.End, Org: "org-1", Target: "s1", Sent: at(21), Got: at(22), Status: 200, Hold: "h1", Service: "s1"})
		}, "acknowledged end"},
		{"lost wipe", func(f *facts, e []*record.Entry) []*record.Entry {
			f.ready["m-1"] = []move{{Tag: "m-1", At: at(40), Committed: at(40)}}
			return append(e, &record.Entry{Op: record.Wipe, Target: "m-1", Sent: at(30), Got: at(31), Status: 200})
		}, "acknowledged wipe"},
		{"refused after it was acknowledged", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Order, Org: "org-1", Key: "k1", Sent: at(11), Got: at(12), Status: 409, Problem: "all-held"})
		}, "after it had been acknowledged"},
		{"already theirs, and it is not", func(_ *facts, e []*record.Entry) []*record.Entry {
			again := refused(12, 13, "already-yours")
			again.Ask.Machine = "m-1"
			return append(e, again)
		}, "already-yours without"},
		{"a hold that nobody ordered", func(f *facts, e []*record.Entry) []*record.Entry {
			h := &hold{ID: "h2", Org: "org-2", Key: "k2", Tag: "m-1", State: "expired", Expires: at(40), Began: at(30)}
			f.holds["h2"], f.byKey[keyOf("org-2", "k2")] = h, h
			return e
		}, "a key that nobody sent"},
		{"two holds for one key", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Order, Org: "org-1", Key: "k1", Sent: at(11), Got: at(12), Status: 201, Hold: "h9"})
		}, "one key, two holds"},
		{"never resolved", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Order, Org: "org-3", Key: "k3", Sent: at(11), Got: at(12), Status: 503, Problem: "busy"})
		}, "never resolved"},
		{"given twice", func(f *facts, e []*record.Entry) []*record.Entry {
			h := &hold{ID: "h2", Org: "org-2", Key: "k2", Tag: "m-1", State: "held", Expires: at(70), Began: at(12)}
			f.holds["h2"], f.byKey[keyOf("org-2", "k2")] = h, h
			return append(e, &record.Entry{Op: record.Order, Org: "org-2", Key: "k2", Sent: at(12), Got: at(13), Status: 201, Hold: "h2", Machine: "m-1"})
		}, "not those of one machine"},
		{"told expired too early", func(_ *facts, e []*record.Entry) []*record.Entry {
			return append(e, &record.Entry{Op: record.Confirm, Org: "org-1", Target: "h1", Sent: at(11), Got: at(12), Status: 410, Problem: "hold-expired"})
		}, "without its reason"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, entries := story()
			got := judged(f, c.tell(f, entries))
			if c.want == "" && len(got) > 0 || c.want != "" && !strings.Contains(strings.Join(got, "\n"), c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
