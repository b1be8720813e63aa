package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// record is one row of the file as it was split, or the reason why it could not be. Line is the
// physical line on which it begins.
type record struct {
	line   int
	fields []string
	fault  string
}

// records splits lines into records. Blank lines, and lines of nothing but separators, are none.
type records struct {
	lines *lines
	sep   byte
}

// next returns the next record; io.EOF after the last, another error when the file cannot be read.
func (r *records) next() (record, error) {
	for {
		first, err := r.lines.next()
		if err != nil {
			return record{}, err
		}
		if first.long {
			return record{line: first.no, fault: fmt.Sprintf("the line is longer than %d bytes", maxRecord)}, nil
		}
		if len(bytes.Trim(first.text, " \t"+string(r.sep))) == 0 {
			continue
		}
		return r.record(first)
	}
}

// record splits the record that begins with first. A quoted field may go on over several lines;
// when its end is not found within the bounds, or is no end, then the quote was a slip: only the
// first line is at fault and the lines after it are rows again.
func (r *records) record(first line) (record, error) {
	var (
		text  = first.text
		taken []line
	)
	for {
		fields, state := split(text, r.sep)
		switch state {
		case splitDone:
			rec := record{line: first.no, fields: fields}
			if !utf8.Valid(text) {
				rec.fields, rec.fault = nil, "the text is not valid UTF-8: save the file as UTF-8"
			}
			return rec, nil
		case splitOpen:
			more, err := r.lines.next()
			switch {
			case errors.Is(err, io.EOF):
			case err != nil:
				return record{}, err
			case more.long || len(taken)+1 >= maxRecordLines || len(text)+1+len(more.text) > maxRecord:
				taken = append(taken, more)
			default:
				taken = append(taken, more)
				text = append(append(append([]byte(nil), text...), '\n'), more.text...)
				continue
			}
		case splitBad:
		}
		r.lines.unread(taken)
		fault := "a quoted field is not closed"
		if state == splitBad && len(taken) == 0 {
			fault = "text follows the closing quote of a field"
		}
		return record{line: first.no, fault: fault}, nil
	}
}

type splitState int

const (
	splitDone splitState = iota
	splitOpen            // the text ends inside quotes
	splitBad             // something other than a separator follows a closing quote
)

// split splits text at sep. A field that begins with a quote ends with one, and doubled quotes in
// it stand for one. Elsewhere a quote is an ordinary character, as in 19" rack.
func split(text []byte, sep byte) ([]string, splitState) {
	var fields []string
	for {
		trimmed := bytes.TrimLeft(text, " ")
		if len(trimmed) == 0 || trimmed[0] != '"' {
			i := bytes.IndexByte(text, sep)
			if i < 0 {
				return append(fields, string(text)), splitDone
			}
			fields, text = append(fields, string(text[:i])), text[i+1:]
			continue
		}
		field, rest, ok := unquote(trimmed[1:])
		if !ok {
			return nil, splitOpen
		}
		fields = append(fields, field)
		rest = bytes.TrimLeft(rest, " ")
		switch {
		case len(rest) == 0:
			return fields, splitDone
		case rest[0] != sep:
			return nil, splitBad
		}
		text = rest[1:]
	}
}

// unquote reads up to the closing quote and returns what is after it.
func unquote(text []byte) (field string, rest []byte, ok bool) {
	var out []byte
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return "", nil, false
		}
		out = append(out, text[:i]...)
		if i+1 < len(text) && text[i+1] == '"' {
			out, text = append(out, '"'), text[i+2:]
			continue
		}
		return string(out), text[i+1:], true
	}
}
