package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// kind is what a JSON value is, in the words of a message to people.
type kind string

const (
	null    kind = "null"
	boolean kind = "a boolean"
	number  kind = "a number"
	text    kind = "a string"
	array   kind = "an array"
	object  kind = "an object"
)

// value is one JSON value with all that encoding/json would swallow: the order and the repetition
// of members, numbers as they are spelt, nulls.
type value struct {
	kind    kind
	text    string // the string, or the number as it is spelt
	truth   bool
	items   []value
	members []member
}

type member struct {
	name  string
	value value
}

// Limits on a body besides its size: what is beyond them is no order.
const (
	maxDepth  = 16
	maxValues = 20_000
)

// errTooComplex is a body that is JSON but nested too deep or of too many parts.
type errTooComplex struct{ what string }

func (e *errTooComplex) Error() string { return e.what }

// parse reads exactly one JSON value. The error says what is wrong in words for the sender;
// *errTooComplex means that it was JSON so far.
func parse(body []byte) (value, error) {
	if !utf8.Valid(body) {
		return value{}, errors.New("the body is not valid UTF-8")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return value{}, errors.New("the body is empty; a JSON object is expected")
	}
	p := parser{dec: json.NewDecoder(bytes.NewReader(body))}
	p.dec.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return value{}, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("the body has more after its JSON value")
	}
	return v, nil
}

type parser struct {
	dec   *json.Decoder
	count int
}

func (p *parser) value(depth int) (value, error) {
	t, err := p.token()
	if err != nil {
		return value{}, err
	}
	if p.count++; p.count > maxValues {
		return value{}, &errTooComplex{fmt.Sprintf("the body has more than %d values", maxValues)}
	}
	switch t := t.(type) {
	case nil:
		return value{kind: null}, nil
	case bool:
		return value{kind: boolean, truth: t}, nil
	case json.Number:
		return value{kind: number, text: t.String()}, nil
	case string:
		return value{kind: text, text: t}, nil
	case json.Delim:
		if depth >= maxDepth {
			return value{}, &errTooComplex{fmt.Sprintf("the body is nested deeper than %d levels", maxDepth)}
		}
		if t == '[' {
			return p.array(depth)
		}
		return p.object(depth)
	}
	return value{}, errors.New("the body is not JSON")
}

func (p *parser) array(depth int) (value, error) {
	v := value{kind: array}
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, item)
	}
	_, err := p.token()
	return v, err
}

func (p *parser) object(depth int) (value, error) {
	v := value{kind: object}
	for p.dec.More() {
		name, err := p.token()
		if err != nil {
			return value{}, err
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return value{}, err
		}
		v.members = append(v.members, member{name: name.(string), value: item})
	}
	_, err := p.token()
	return v, err
}

// token reads the next token; a syntax error tells its place and not the decoder's words alone.
func (p *parser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if err == nil {
		return t, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the body is not JSON: it ends too early")
	}
	return nil, fmt.Errorf("the body is not JSON: syntax error near byte %d", p.dec.InputOffset())
}
