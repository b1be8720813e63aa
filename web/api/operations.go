package api

import (
	"net/http"
	"time"

	"ironhold/allocator"
	"ironhold/web/problem"
)

// operation is what the description says of a route beyond its address and who may. It is read by
// the document and by the page about the API; tests hold it against the router and every answer.
type operation struct {
	Tag      string
	Summary  string
	Text     string // what else a caller must know
	Query    []parameter
	Body     []field // nil: none is taken
	Must     bool    // the body may not be left out
	Key      keyUse
	Tagged   bool           // answers carry an ETag, If-None-Match is understood
	Answers  map[int]any    // by status, a value of the type that is written
	Problems []problem.Name // beyond those that any operation may answer with
}

type keyUse int

const (
	noKey keyUse = iota
	keyOptional
	keyRequired
)

// parameter is one of the query.
type parameter struct {
	name   string
	many   bool // may be repeated
	schema schema
}

func textParam(name string) parameter {
	return parameter{name: name, schema: schema{Type: []string{"string"}, MaxLength: new(maxParam)}}
}

func textsParam(name string) parameter { p := textParam(name); p.many = true; return p }

func wholeParam(name string) parameter {
	return parameter{name: name, schema: schema{Type: []string{"integer"}, Minimum: new(int64(0))}}
}

func flagParam(name string) parameter {
	return parameter{name: name, schema: schema{Type: []string{"boolean"}}}
}

func wordParam(name string, words ...string) parameter {
	return parameter{name: name, schema: schema{Type: []string{"string"}, Enum: words}}
}

func timeParam(name string) parameter {
	return parameter{name: name, schema: schema{Type: []string{"string"}, Format: "date-time"}}
}

// paging are the parameters of every list.
var paging = []parameter{
	{name: "limit", schema: schema{Type: []string{"integer"}, Minimum: new(int64(1)), Maximum: new(int64(maxLimit)), Default: defaultLimit}},
	textParam("cursor"),
}

func paged(p ...parameter) []parameter { return append(p, paging...) }

// orderBody is the body of an order; the organisation is for staff.
func orderBody() []field {
	return append(orderFields(&allocator.Request{}), textField("org", new(string), maxText))
}

func reasonBody() []field { return []field{proseField("reason", new(string))} }

var stepProblems = []problem.Name{problem.HoldExpired, problem.HoldCancelled, problem.HoldConverted, problem.Checking}

// operations by method and address. A route without an entry fails the tests.
func operations() map[string]operation {
	return map[string]operation{
		"GET /healthz": {Tag: "Health", Summary: "The process answers", Answers: map[int]any{200: health{}}},
		"GET /readyz": {Tag: "Health", Summary: "Orders can be served", Text: "The database is reachable and its schema is current.",
			Answers: map[int]any{200: health{}, 503: health{}}},
		"GET " + SpecPath: {Tag: "About", Summary: "This document", Tagged: true, Answers: map[int]any{200: document{}}},

		"GET " + Prefix + "/offers": {Tag: "Orders", Summary: "What is for sale, in groups of equal machines",
			Query: paged(textsParam("site"), textsParam("vendor"), textParam("cpu"), wholeParam("min_cores"), wholeParam("min_threads"),
				wholeParam("min_ram_gb"), wholeParam("min_nvme_gb"), wholeParam("min_ssd_gb"), wholeParam("min_hdd_gb"), wholeParam("min_nic_mbps"),
				textsParam("feature"), flagParam("gpu"), flagParam("ecc"), wholeParam("max_price_minor"), textParam("currency"),
				wordParam("sort", sorts...)),
			Answers: map[int]any{200: offerList{}}},
		"POST " + Prefix + "/surveys": {Tag: "Orders", Summary: "What an order would find, without ordering",
			Text:  "The query is for staff, who are shown each machine; org tells whose holds count as one's own.",
			Query: paging, Body: orderBody(), Answers: map[int]any{200: survey{}}},

		"POST " + Prefix + "/holds": {Tag: "Orders", Summary: "Order: hold a machine",
			Text: "An empty object takes any machine. The same key with the same body gives the same hold as it is now, with " +
				"Idempotent-Replayed: true. Staff name the organisation.",
			Body: orderBody(), Must: true, Key: keyRequired, Answers: map[int]any{201: hold{}, 200: hold{}},
			Problems: []problem.Name{problem.KeyMissing, problem.KeyReused, problem.NotRolledOut, problem.OrganisationSuspended,
				problem.AlreadyYours, problem.LimitReached, problem.CoolDown, problem.SomeoneWasFaster, problem.TryAgainShortly,
				problem.AllHeld, problem.NoneLeft, problem.Checking}},
		"GET " + Prefix + "/holds": {Tag: "Holds", Summary: "Holds, newest first",
			Query: paged(wordParam("state", enums[holdStateType]...)), Answers: map[int]any{200: list[hold]{}}},
		"GET " + Prefix + "/holds/{id}": {Tag: "Holds", Summary: "One hold", Tagged: true,
			Text:    "The ETag stays the same while only seconds_left changes.",
			Answers: map[int]any{200: hold{}}},
		"POST " + Prefix + "/holds/{id}/extend": {Tag: "Holds", Summary: "Put the deadline off, once", Key: keyOptional, Body: []field{},
			Text:    "With a key, sending it again answers as the first did instead of extension-used.",
			Answers: map[int]any{200: hold{}}, Problems: append([]problem.Name{problem.ExtensionUsed, problem.CeilingReached, problem.MachineWithdrawn}, stepProblems...)},
		"POST " + Prefix + "/holds/{id}/cancel": {Tag: "Holds", Summary: "Give the machine back", Body: reasonBody(),
			Text:    "Cancelling again answers with the hold, unchanged.",
			Answers: map[int]any{200: hold{}}, Problems: stepProblems},
		"POST " + Prefix + "/holds/{id}/convert": {Tag: "Holds", Summary: "Confirm: the hold becomes a service",
			Body: setupFields(new(string), new([]string)),
			Text: "201 the first time; confirming again answers 200 with the same service, as it was chosen then. A key is a line as in " +
				"authorized_keys, or the id of a key that the organisation keeps; without os the first operating system is installed.",
			Answers: map[int]any{201: service{}, 200: service{}}, Problems: append([]problem.Name{problem.MachineWithdrawn, problem.LimitReached}, stepProblems...)},
		"POST " + Prefix + "/holds/{id}/substitute": {Tag: "Holds", Summary: "An equal machine for one that was withdrawn", Body: []field{},
			Answers:  map[int]any{201: hold{}},
			Problems: append([]problem.Name{problem.NotWithdrawn, problem.NoSubstitute, problem.SomeoneWasFaster}, stepProblems...)},

		"GET " + Prefix + "/services": {Tag: "Services", Summary: "Services, newest first", Query: paged(), Answers: map[int]any{200: list[service]{}}},
		"GET " + Prefix + "/services/{id}": {Tag: "Services", Summary: "One service", Tagged: true,
			Answers: map[int]any{200: service{}}},
		"POST " + Prefix + "/services/{id}/end": {Tag: "Services", Summary: "End a service, at once or at a time", Body: append(reasonBody(), momentField("at", new(*time.Time))),
			Text:    "With at, the end is planned for that time, in the place of one planned before. Ending again answers with the service, unchanged.",
			Answers: map[int]any{200: service{}}, Problems: []problem.Name{problem.Checking, problem.ServiceEnded}},
		"POST " + Prefix + "/services/{id}/keep": {Tag: "Services", Summary: "Withdraw a planned end", Body: []field{},
			Text:    "Without a planned end nothing changes.",
			Answers: map[int]any{200: service{}}, Problems: []problem.Name{problem.Checking, problem.ServiceEnded}},
		"GET " + Prefix + "/operating-systems": {Tag: "Services", Summary: "What can be installed; the first is what whoever does not choose gets",
			Answers: map[int]any{200: systemList{}}},

		"GET " + Prefix + "/machines": {Tag: "Fleet", Summary: "The fleet, by asset tag",
			Query:   paged(wordParam("status", statuses()...), textParam("site"), textParam("q")),
			Answers: map[int]any{200: list[machine]{}}},
		"GET " + Prefix + "/machines/{tag}": {Tag: "Fleet", Summary: "One machine, who has it and what happened to it", Tagged: true,
			Answers: map[int]any{200: machineDetail{}}},
		"POST " + Prefix + "/machines/{tag}/status": {Tag: "Fleet", Summary: "Move a machine on in its life; legal moves only", Must: true,
			Body:    []field{required(wordField("status", statuses()...)), required(proseField("reason", new(string)))},
			Answers: map[int]any{200: machineDetail{}}, Problems: []problem.Name{problem.IllegalMove, problem.Checking}},
		"POST " + Prefix + "/machines/{tag}/wiped": {Tag: "Fleet", Summary: "Record that a machine was wiped", Body: reasonBody(),
			Answers: map[int]any{200: machineDetail{}}, Problems: []problem.Name{problem.IllegalMove, problem.Checking}},

		"GET " + Prefix + "/attempts": {Tag: "Orders explained", Summary: "The log of orders, newest first",
			Query:   paged(wordParam("outcome", outcomeWords()...), timeParam("from"), timeParam("to")),
			Answers: map[int]any{200: list[attempt]{}}},
		"GET " + Prefix + "/attempts/{id}": {Tag: "Orders explained", Summary: "What one order asked and what each pass found", Tagged: true,
			Answers: map[int]any{200: attempt{}}},

		"GET " + Prefix + "/orgs/{slug}/rollout": {Tag: "Rollout", Summary: "Whether ordering is on for an organisation, and why", Tagged: true,
			Answers: map[int]any{200: rolloutStatus{}}},
		"PUT " + Prefix + "/orgs/{slug}/rollout": {Tag: "Rollout", Summary: "Switch ordering on or off for an organisation", Must: true,
			Body: []field{required(wordField("setting", "inherit", "on", "off"))}, Answers: map[int]any{200: rolloutStatus{}},
			Problems: []problem.Name{problem.Checking}},
		"PUT " + Prefix + "/rollout": {Tag: "Rollout", Summary: "Launch ordering: off, opt-in, on or a percentage", Must: true,
			Body: []field{required(textField("launch", new(string), maxText))}, Answers: map[int]any{200: launchState{}},
			Problems: []problem.Name{problem.Checking}},

		"GET " + Prefix + "/invariants": {Tag: "About", Summary: "Check what must always be true", Answers: map[int]any{200: invariantReport{}}},
	}
}

// wordField describes a string of a closed list.
func wordField(name string, words ...string) field {
	f := textField(name, new(string), maxText)
	f.schema.Enum = words
	return f
}

func required(f field) field {
	f.must, f.schema.MinLength = true, new(1)
	return f
}

// statusOf is the status of a problem by its name.
func statusOf(n problem.Name) int {
	k, ok := problem.Lookup(string(n))
	if !ok {
		return http.StatusInternalServerError
	}
	return k.Status
}
