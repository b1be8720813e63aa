package web

import (
	"maps"
	"slices"
	"strings"

	"ironhold/migrations/pgtest/fixture"
)

// operation is one of the description, as an outsider reads it.
type operation struct {
	method, path string
	doc          map[string]any
}

func (o operation) String() string { return o.method + " " + o.path }

func operationsOf(spec answer) []operation {
	spec.t.Helper()
	var list []operation
	paths := spec.at("paths").(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			list = append(list, operation{strings.ToUpper(method), path, item[method].(map[string]any)})
		}
	}
	return list
}

// caller is one who may.
func (o operation) caller() caller {
	switch {
	case len(o.doc["security"].([]any)) == 0:
		return stranger
	case strings.Contains(o.path, "/machines"), strings.Contains(o.path, "rollout"), strings.Contains(o.path, "/attempts"), strings.Contains(o.path, "/invariants"):
		return operator
	}
	return sales
}

// target is what the addresses of the operations are filled with.
type target struct{ hold, service, attempt string }

func (s *site) exampleHold() target {
	s.t.Helper()
	fixture.Equal(s.t, s.owner, "A", 6)
	a := s.order(customer, "{}").want(201)
	other := s.held(customer, "{}")
	return target{hold: a.text("id"), attempt: a.text("attempt"),
		service: s.do(customer, "POST", "/api/v1/holds/"+other+"/convert", nil).want(201).text("id")}
}

func (o operation) at(t target) string {
	id := t.hold
	switch {
	case strings.Contains(o.path, "/services/"):
		id = t.service
	case strings.Contains(o.path, "/attempts/"):
		id = t.attempt
	}
	return strings.NewReplacer("{id}", id, "{tag}", "A-6", "{slug}", "acme").Replace(o.path)
}

// names are the described parameters of a place, sorted.
func (o operation) names(place string) []string {
	var list []string
	params, _ := o.doc["parameters"].([]any)
	for _, p := range params {
		if p := p.(map[string]any); p["in"] == place {
			list = append(list, p["name"].(string))
		}
	}
	slices.Sort(list)
	return list
}

// members are those of the body, sorted, and whether there is a body.
func (o operation) members() ([]string, bool) {
	props, ok := o.properties()
	return slices.Sorted(maps.Keys(props)), ok
}

func (o operation) properties() (map[string]any, bool) {
	body, ok := o.doc["requestBody"].(map[string]any)
	if !ok {
		return nil, false
	}
	schema := body["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
	props, _ := schema["properties"].(map[string]any)
	return props, true
}

func (o operation) emptyBody() any {
	if _, ok := o.properties(); ok {
		return "{}"
	}
	return nil
}
