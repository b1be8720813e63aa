package api

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ironhold/allocator"
)

// field is one member that a body may have: its name and how to read it. read returns the fault
// in words, with the place inside the field ("[2]") when it is an item of a list.
type field struct {
	name   string
	read   func(v value) (place, message string)
	schema schema // the same for the description of the API
	must   bool   // described as required; that it is, its reader says
}

// maxFaults bounds a list of faults; a request with more is no honest mistake.
const maxFaults = 100

// readObject reads the members of v and returns every fault: no object, unknown, repeated and null
// members, wrong types and values out of range.
func readObject(v value, fields []field) []allocator.Fault {
	if v.kind != object {
		return []allocator.Fault{{Field: "body", Message: "must be an object, not " + string(v.kind)}}
	}
	var faults []allocator.Fault
	seen := map[string]int{}
	for _, m := range v.members {
		if len(faults) >= maxFaults {
			break
		}
		if seen[m.name]++; seen[m.name] > 1 {
			if seen[m.name] == 2 {
				faults = append(faults, allocator.Fault{Field: shorten(m.name), Message: "is given more than once"})
			}
			continue
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		if i < 0 {
			faults = append(faults, allocator.Fault{Field: shorten(m.name), Message: unknown("field", fieldNames(fields))})
			continue
		}
		if m.value.kind == null {
			faults = append(faults, allocator.Fault{Field: m.name, Message: "must not be null; leave it out instead"})
			continue
		}
		if place, message := fields[i].read(m.value); message != "" {
			faults = append(faults, allocator.Fault{Field: m.name + place, Message: message})
		}
	}
	return faults
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

func unknown(what string, allowed []string) string {
	if len(allowed) == 0 {
		return "unknown " + what + "; none is allowed here"
	}
	return "unknown " + what + "; allowed are " + strings.Join(allowed, ", ")
}

// shorten keeps a name that a stranger chose fit for an answer.
func shorten(s string) string {
	const most = 64
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "..."
	}
	return s
}

func textField(name string, to *string, most int) field {
	return field{name: name, read: func(v value) (string, string) {
		s, message := readText(v, most)
		if message == "" {
			*to = s
		}
		return "", message
	}, schema: schema{Type: []string{"string"}, MaxLength: new(most)}}
}

func textsField(name string, to *[]string, most, mostItems int) field {
	return field{name: name, read: func(v value) (string, string) {
		if v.kind != array {
			return "", "must be an array of strings, not " + string(v.kind)
		}
		if len(v.items) > mostItems {
			return "", fmt.Sprintf("has %d items; at most %d are allowed", len(v.items), mostItems)
		}
		all := make([]string, 0, len(v.items))
		for i, item := range v.items {
			s, message := readText(item, most)
			if message != "" {
				return fmt.Sprintf("[%d]", i), message
			}
			all = append(all, s)
		}
		*to = all
		return "", ""
	}, schema: schema{Type: []string{"array"}, MaxItems: new(mostItems), Items: &schema{Type: []string{"string"}, MaxLength: new(most)}}}
}

func readText(v value, most int) (string, string) {
	if v.kind != text {
		return "", "must be a string, not " + string(v.kind)
	}
	if n := utf8.RuneCountInString(v.text); n > most {
		return "", fmt.Sprintf("has %d characters; at most %d are allowed", n, most)
	}
	if strings.ContainsFunc(v.text, unicode.IsControl) {
		return "", "must not contain control characters"
	}
	return v.text, ""
}

func boolField(name string, to **bool) field {
	return field{name: name, read: func(v value) (string, string) {
		if v.kind != boolean {
			return "", "must be true or false, not " + string(v.kind)
		}
		*to = &v.truth
		return "", ""
	}, schema: schema{Type: []string{"boolean"}}}
}

func intField(name string, to *int) field {
	return field{name: name, read: func(v value) (string, string) {
		n, message := readWhole(v)
		if message == "" {
			*to = int(n)
		}
		return "", message
	}, schema: schema{Type: []string{"integer"}, Minimum: new(int64(0))}}
}

func minorField(name string, to **int64) field {
	return field{name: name, read: func(v value) (string, string) {
		n, message := readWhole(v)
		if message == "" {
			*to = &n
		}
		return "", message
	}, schema: schema{Type: []string{"integer"}, Format: "int64", Minimum: new(int64(0))}}
}

// readWhole reads a whole number as it is spelt: no fraction, no exponent, at most 64 bits.
func readWhole(v value) (int64, string) {
	if v.kind != number {
		return 0, "must be a whole number, not " + string(v.kind)
	}
	if strings.ContainsAny(v.text, ".eE") {
		return 0, "must be a whole number, without fraction or exponent"
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil {
		return 0, fmt.Sprintf("is out of range; at most %d is allowed", int64(math.MaxInt64))
	}
	return n, ""
}

// proseField is a reason in a person's words: line breaks are allowed.
func proseField(name string, to *string) field {
	return field{name: name, read: func(v value) (string, string) {
		if v.kind != text {
			return "", "must be a string, not " + string(v.kind)
		}
		if n := utf8.RuneCountInString(v.text); n > maxReason {
			return "", fmt.Sprintf("has %d characters; at most %d are allowed", n, maxReason)
		}
		if strings.ContainsFunc(v.text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }) {
			return "", "must not contain control characters"
		}
		*to = v.text
		return "", ""
	}, schema: schema{Type: []string{"string"}, MaxLength: new(maxReason)}}
}

func fault(field, message string) allocator.Fault {
	return allocator.Fault{Field: field, Message: message}
}
