package api

import (
	"maps"
	"slices"
	"strings"

	"ironhold/web/problem"
)

// Described is one operation for people to read: the same as in the document.
type Described struct {
	Group, Method, Path, Summary, Text string
	Takes                              []DescribedField
	Answers                            []DescribedAnswer
}

// DescribedField is one thing that a request may carry.
type DescribedField struct {
	Name, In, Type, Text string // In: path, query, header, body
	Required             bool
}

// DescribedAnswer is a status with the object or the problems that it comes with.
type DescribedAnswer struct {
	Status   string
	Object   string   // "" for none
	Problems []string // names
}

// anywhere are problems that any request can meet: the page does not repeat them.
var anywhere = []problem.Name{
	problem.Internal, problem.Busy, problem.NotAcceptable, problem.Unauthenticated, problem.Forbidden, problem.Invalid,
	problem.NotFound, problem.TooLarge, problem.UnsupportedMediaType, problem.Checking,
}

// Reference lists the operations in the order of the routes.
func (a *API) Reference() []Described {
	doc := describe(a.Routes(), false)
	var list []Described
	for _, rt := range a.Routes() {
		item := doc.Paths[rt.Pattern][strings.ToLower(rt.Method)]
		if item == nil {
			continue
		}
		d := Described{Group: item.Tags[0], Method: rt.Method, Path: rt.Pattern, Summary: item.Summary, Text: item.Description}
		for _, p := range item.Parameters {
			d.Takes = append(d.Takes, DescribedField{Name: p.Name, In: p.In, Type: p.Schema.spelt(), Text: p.Description, Required: p.Required})
		}
		if item.Body != nil {
			s := item.Body.Content["application/json"].Schema
			for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
				p := s.Properties[name]
				d.Takes = append(d.Takes, DescribedField{Name: name, In: "body", Type: p.spelt(), Text: p.Description, Required: slices.Contains(s.Required, name)})
			}
		}
		for _, status := range slices.Sorted(maps.Keys(item.Responses)) {
			content := item.Responses[status].Content
			answer := DescribedAnswer{Status: status}
			if m, ok := content["application/json"]; ok {
				answer.Object = m.Schema.spelt()
			}
			if m, ok := content["application/problem+json"]; ok {
				for _, t := range m.Schema.AllOf[1].Properties["type"].Enum {
					if name := strings.TrimPrefix(t, "/problems/"); !slices.Contains(anywhere, problem.Name(name)) {
						answer.Problems = append(answer.Problems, name)
					}
				}
			}
			if len(content) == 0 || answer.Object != "" || len(answer.Problems) > 0 {
				d.Answers = append(d.Answers, answer)
			}
		}
		list = append(list, d)
	}
	return list
}

// spelt is the schema in a word or two: "integer", "array of Hold", "on | off".
func (s *schema) spelt() string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/components/schemas/")
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, " | ")
	case s.Items != nil:
		return "array of " + s.Items.spelt()
	case s.Properties["items"] != nil:
		return "page of " + s.Properties["items"].Items.spelt()
	case s.Format == "date-time", s.Format == "uuid":
		return s.Format
	}
	return strings.Join(s.Type, " | ")
}
