package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/provision"
	"ironhold/provision/driver"
)

// schema is the part of JSON Schema 2020-12 that the description of the API needs.
type schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        []string           `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	MinLength   *int               `json:"minLength,omitempty"`
	MaxLength   *int               `json:"maxLength,omitempty"`
	Minimum     *int64             `json:"minimum,omitempty"`
	Maximum     *int64             `json:"maximum,omitempty"`
	Default     any                `json:"default,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	MaxItems    *int               `json:"maxItems,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Closed      *bool              `json:"additionalProperties,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	AllOf       []*schema          `json:"allOf,omitempty"`
}

// schemas derives schemas from the types that are written as answers, so that the description
// cannot differ from them. Structs of this package with a name become components.
type schemas struct {
	components map[string]*schema
	closed     bool // no member but those described: for the tests
}

var holdStateType = reflect.TypeFor[holds.State]()

var enums = map[reflect.Type][]string{
	reflect.TypeFor[driver.Kind]():       {string(driver.Install), string(driver.Wipe)},
	reflect.TypeFor[provision.State]():   {string(provision.Queued), string(provision.Running), string(provision.Done), string(provision.Failed), string(provision.Dropped)},
	holdStateType:                        {string(holds.Held), string(holds.Converted), string(holds.Expired), string(holds.Cancelled)},
	reflect.TypeFor[fleet.Status]():      statuses(),
	reflect.TypeFor[allocator.Outcome](): outcomes,
}

func (s *schemas) of(t reflect.Type) *schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &schema{Type: []string{"string"}, Format: "date-time"}
	case reflect.TypeFor[uuid.UUID]():
		return &schema{Type: []string{"string"}, Format: "uuid"}
	case reflect.TypeFor[json.RawMessage]():
		return &schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case reflect.String:
		return &schema{Type: []string{"string"}, Enum: enums[t]}
	case reflect.Bool:
		return &schema{Type: []string{"boolean"}}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return &schema{Type: []string{"integer"}, Format: "int64"}
	case reflect.Slice:
		return &schema{Type: []string{"array"}, Items: s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	}
	return &schema{} // any
}

// object gives a reference to the component of a named struct; one of a generic or nameless type
// is described in place.
func (s *schemas) object(t reflect.Type) *schema {
	name := strings.ToUpper(t.Name()[:min(1, len(t.Name()))]) + t.Name()[min(1, len(t.Name())):]
	inPlace := name == "" || strings.Contains(name, "[")
	if !inPlace {
		if _, ok := s.components[name]; ok {
			return &schema{Ref: "#/components/schemas/" + name}
		}
	}
	out := &schema{Type: []string{"object"}, Properties: map[string]*schema{}, Required: []string{}}
	if !inPlace {
		s.components[name] = out
	}
	s.members(t, out)
	if s.closed {
		out.Closed = new(false)
	}
	if inPlace {
		return out
	}
	return &schema{Ref: "#/components/schemas/" + name}
}

func (s *schemas) members(t reflect.Type, out *schema) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			s.members(f.Type, out)
			continue
		}
		if name == "" {
			continue
		}
		optional := strings.Contains(options, "omit")
		ft := f.Type
		if optional && ft.Kind() == reflect.Pointer {
			ft = ft.Elem() // left out instead of null
		}
		p := s.of(ft)
		if words := glossary[name]; words != "" {
			if p.Ref != "" {
				p = &schema{AllOf: []*schema{p}}
			}
			p.Description = words
		}
		out.Properties[name] = p
		if !optional {
			out.Required = append(out.Required, name)
		}
	}
}

func nullable(s *schema) *schema {
	if s.Ref != "" {
		return &schema{AnyOf: []*schema{s, {Type: []string{"null"}}}}
	}
	if len(s.Type) > 0 {
		s.Type = append(s.Type, "null")
	}
	return s
}

// body describes the members that a request may have, by the fields that read it.
func bodySchema(fields []field) *schema {
	out := &schema{Type: []string{"object"}, Properties: map[string]*schema{}, Closed: new(false)}
	for _, f := range fields {
		p := f.schema
		p.Description = glossary[f.name]
		out.Properties[f.name] = &p
		if f.must {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}
