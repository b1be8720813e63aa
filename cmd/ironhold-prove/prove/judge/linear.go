package judge

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"ironhold/cmd/ironhold-prove/prove/record"
)

// A machine as one register: free, held by one hold, in service after it, or waiting for its wipe.
const (
	isFree = iota
	isHeld
	isServing
	isCleaning
)

type machineState struct {
	kind int
	hold string
}

type opKind int

const (
	opHold opKind = iota
	opCancel
	opExpire
	opConvert
	opEnd
	opWipe
	opSeeHeld  // somebody was shown the hold as held
	opSeeTaken // an order for exactly this machine was refused
)

type op struct {
	kind opKind
	hold string
}

func step(s machineState, o op) (bool, machineState) {
	at := func(kind int) bool { return s.kind == kind && s.hold == o.hold }
	switch o.kind {
	case opHold:
		return s.kind == isFree, machineState{isHeld, o.hold}
	case opCancel, opExpire:
		return at(isHeld), machineState{kind: isFree}
	case opConvert:
		return at(isHeld), machineState{isServing, o.hold}
	case opEnd:
		return at(isServing), machineState{isCleaning, o.hold}
	case opWipe:
		return s.kind == isCleaning, machineState{kind: isFree}
	case opSeeHeld:
		return at(isHeld), s
	case opSeeTaken:
		return s.kind != isFree, s
	}
	return false, s
}

var model = porcupine.Model{
	Init: func() any { return machineState{} },
	Step: func(state, input, _ any) (bool, any) {
		ok, next := step(state.(machineState), input.(op))
		return ok, next
	},
	Equal: func(a, b any) bool { return a == b },
}

// patience bounds the search for an order of one machine's operations.
const patience = 20 * time.Second

// window of one effect: it happened after the first request for it was sent and before the first
// success was answered.
type window struct {
	sent, got time.Time
}

func (w *window) add(e *record.Entry) {
	if w.sent.IsZero() || e.Sent.Before(w.sent) {
		w.sent = e.Sent
	}
	if e.OK() && (w.got.IsZero() || e.Got.Before(w.got)) {
		w.got = e.Got
	}
}

// histories checks the answers about each machine for linearizability.
func (j *judge) histories() {
	byMachine := map[string][]porcupine.Operation{}
	add := func(tag string, o op, from, to time.Time) {
		until := int64(math.MaxInt64)
		if !to.IsZero() {
			until = to.UnixNano()
		}
		byMachine[tag] = append(byMachine[tag], porcupine.Operation{Input: o, Call: from.UnixNano(), Return: until})
	}
	effects := map[opKind]map[string]*window{opHold: {}, opCancel: {}, opConvert: {}, opEnd: {}}
	note := func(kind opKind, id string, e *record.Entry) {
		w := effects[kind][id]
		if w == nil {
			w = &window{}
			effects[kind][id] = w
		}
		w.add(e)
	}
	wipes := map[string][]*record.Entry{}
	for _, e := range j.Entries {
		switch e.Op {
		case record.Order:
			if h := j.byKey[keyOf(e.Org, e.Key)]; h != nil {
				note(opHold, h.ID, e)
			}
			if e.Ask.Machine != "" && slices.Contains([]string{"none-left", "all-held", "already-yours"}, e.Problem) {
				add(e.Ask.Machine, op{kind: opSeeTaken}, j.db(e.Sent), j.db(e.Got))
			}
		case record.Cancel:
			note(opCancel, e.Target, e)
		case record.Confirm:
			note(opConvert, e.Target, e)
		case record.End:
			note(opEnd, e.Target, e)
		case record.Wipe:
			wipes[e.Target] = append(wipes[e.Target], e)
		case record.See:
			if h := j.holds[e.Target]; h != nil && e.OK() && e.State == "held" {
				add(h.Tag, op{opSeeHeld, h.ID}, j.db(e.Sent), j.db(e.Got))
			}
		}
	}
	for id, h := range j.holds {
		put := func(kind opKind, of string) {
			w := effects[kind][of]
			if w == nil {
				j.wrong("nobody asked for what became of hold %s", id)
				return
			}
			got := w.got
			if !got.IsZero() {
				got = j.db(got)
			}
			add(h.Tag, op{kind, id}, j.db(w.sent), got)
		}
		put(opHold, id)
		switch h.State {
		case "cancelled":
			put(opCancel, id)
		case "converted":
			put(opConvert, id)
			if h.ServiceEnded != nil {
				put(opEnd, h.Service)
			}
		default:
			add(h.Tag, op{opExpire, id}, h.Expires, time.Time{})
		}
	}
	for tag, moves := range j.ready {
		for _, m := range moves {
			got := time.Time{}
			for _, e := range wipes[tag] {
				if e.OK() && !m.At.Before(j.db(e.Sent).Add(-j.Slack)) && !m.At.After(j.db(e.Got).Add(j.Slack)) {
					got = j.db(e.Got)
				}
			}
			add(tag, op{kind: opWipe}, m.At, got)
		}
	}
	for tag, ops := range byMachine {
		slices.SortFunc(ops, func(a, b porcupine.Operation) int {
			if a.Call != b.Call {
				return int(min(max(a.Call-b.Call, -1), 1))
			}
			return 0
		})
		for i := range ops {
			ops[i].ClientId = i
		}
		j.count("machines with a history")
		j.v.Counts["operations in histories"] += len(ops)
		switch porcupine.CheckOperationsTimeout(model, ops, patience) {
		case porcupine.Illegal:
			j.wrong("the answers about machine %s are not those of one machine:%s", tag, list(ops))
		case porcupine.Unknown:
			j.wrong("the history of machine %s, %d operations, was not decided within %s", tag, len(ops), patience)
		}
	}
}

var opNames = map[opKind]string{opHold: "hold", opCancel: "cancel", opExpire: "expire", opConvert: "convert", opEnd: "end",
	opWipe: "wipe", opSeeHeld: "seen held", opSeeTaken: "seen taken"}

// list shows the operations of a machine, the first of them.
func list(ops []porcupine.Operation) string {
	s := ""
	for i, o := range ops {
		if i == 40 {
			return s + fmt.Sprintf("\n    and %d more", len(ops)-i)
		}
		in := o.Input.(op)
		to := "open"
		if o.Return != math.MaxInt64 {
			to = time.Unix(0, o.Return).UTC().Format("15:04:05.000000")
		}
		s += fmt.Sprintf("\n    %s %s %s to %s", opNames[in.kind], in.hold, time.Unix(0, o.Call).UTC().Format("15:04:05.000000"), to)
	}
	return s
}
