package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// odd is a value that a member or parameter may be given by mistake or on purpose.
type odd struct {
	json string
	kind string // as in the schema: "" for what may be right for a string
}

var odds = []odd{
	{`null`, "null"}, {`true`, "boolean"}, {`0`, "integer"}, {`-1`, "integer"}, {`-9223372036854775808`, "integer"}, {`9223372036854775807`, "integer"},
	{`2147483648`, "integer"}, {`99999999999999999999`, "none"}, {`1.5`, "none"}, {`1e400`, "none"}, {`[]`, "array"}, {`[[]]`, "none"}, {`[null]`, "none"},
	{`["x"]`, "array"}, {`{}`, "none"}, {`{"x":1}`, "none"}, {`""`, "string"}, {`" "`, "string"}, {`"x"`, "string"}, {`"` + strings.Repeat("é", 3000) + `"`, "none"},
	{`"\u0000"`, "none"}, {`"\u001b[2J"`, "none"}, {`"\u0085"`, "none"}, {`"\ud800"`, "string"}, {`"\u202e\ufeff😀"`, "string"}, {`"'; drop table holds; --"`, "string"},
	{`"` + strings.Repeat("[", 100_000) + `"`, "none"},
}

// Every member of every body and every parameter, as the description lists them, with every odd
// value: never a fault of ours, an answer as described, what cannot be right is refused by its
// name, and what is refused changes nothing.
func TestSpecFuzz(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := s.exampleHold()
	before, sent := s.state(), 0
	check := func(op operation, a answer, name, value string, mayPass bool) {
		t.Helper()
		now := s.state()
		sent++
		switch {
		case a.status >= 500:
			t.Errorf("%s: %s=%.60s: %d %s", op, name, value, a.status, a.body)
		case !mayPass && (a.status != 422 || !strings.Contains(string(a.body), `"field":"`+name)):
			t.Errorf("%s: %s=%.60s: %d %.300s", op, name, value, a.status, a.body)
		case now != before && (a.status >= 400 || op.method == "GET" || strings.HasSuffix(op.path, "/surveys")):
			t.Errorf("%s: %s=%.60s: answered %d and changed something", op, name, value, a.status)
		}
		before = now
	}
	for _, op := range operationsOf(s.do(stranger, "GET", "/api/v1/openapi.json", nil).want(200)) {
		who, path := op.caller(), op.at(at)
		props, _ := op.properties()
		for _, name := range slices.Sorted(maps.Keys(props)) {
			schema := props[name].(map[string]any)
			for _, v := range odds {
				others := op.others(name)
				body := `{` + strings.Join(append(others, fmt.Sprintf("%q:%s", name, v.json)), ",") + `}`
				a := s.do(who, op.method, path, body, "Idempotency-Key", uuid.NewString())
				check(op, a, name, v.json, slices.Contains(schema["type"].([]any), any(v.kind)))
			}
			if op.needs(name) {
				a := s.do(who, op.method, path, `{`+strings.Join(op.others(name), ",")+`}`, "Idempotency-Key", uuid.NewString())
				check(op, a, name, "missing", false)
			}
		}
		for _, name := range op.names("query") {
			for _, v := range odds {
				text := strings.Trim(v.json, `"`)
				_ = json.Unmarshal([]byte(v.json), &text)
				a := s.do(who, op.method, path+"?"+name+"="+url.QueryEscape(text), op.emptyBody(), "Idempotency-Key", uuid.NewString())
				check(op, a, name, text, v.kind != "none" || len(text) < 100)
			}
			a := s.do(who, op.method, path+"?"+name+"=1&"+name+"=1", op.emptyBody(), "Idempotency-Key", uuid.NewString())
			check(op, a, name, "twice", true)
			a = s.do(who, op.method, path+"?"+name+"=%ff%fe", op.emptyBody(), "Idempotency-Key", uuid.NewString())
			check(op, a, name, "no UTF-8", false)
		}
	}
	if sent < 1500 {
		t.Errorf("only %d requests were made", sent)
	}
}

func (o operation) needs(name string) bool {
	body := o.doc["requestBody"].(map[string]any)
	schema := body["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
	list, _ := schema["required"].([]any)
	return slices.Contains(list, any(name))
}

// others are right values for what the operation needs besides one member.
func (o operation) others(name string) []string {
	right := map[string]string{"status": `"maintenance"`, "reason": `"because"`, "setting": `"on"`, "launch": `"on"`}
	var list []string
	props, _ := o.properties()
	for _, other := range slices.Sorted(maps.Keys(props)) {
		if other != name && o.needs(other) {
			list = append(list, fmt.Sprintf("%q:%s", other, right[other]))
		}
	}
	// Staff order on behalf; an order for nobody would be refused for that alone.
	if _, ok := props["org"]; ok && name != "org" {
		list = append(list, `"org":"acme"`)
	}
	return list
}
