package fleet

import (
	"bufio"
	"errors"
	"io"
)

const (
	// maxRecord is the longest line, and the longest record of several lines, in bytes.
	maxRecord = 64 << 10
	// maxRecordLines bounds how far a quote that opens is followed for the one that closes it.
	maxRecordLines = 64
)

// line is a physical line without its end. A line that is too long keeps no bytes.
type line struct {
	no   int
	text []byte
	long bool
}

// lines reads physical lines that end in LF, CRLF or CR, and keeps at most maxRecord bytes of each.
type lines struct {
	in      *bufio.Reader
	no      int
	pending []line // given back by unread
}

func newLines(in *bufio.Reader) *lines { return &lines{in: in} }

// next returns the next line; io.EOF after the last. An end of line at the end of the file begins
// no further line.
func (l *lines) next() (line, error) {
	if n := len(l.pending); n > 0 {
		ln := l.pending[0]
		l.pending = l.pending[1:]
		return ln, nil
	}
	ln := line{no: l.no + 1}
	size := 0
	for {
		chunk, end, err := l.chunk()
		size += len(chunk)
		switch {
		case size > maxRecord:
			ln.text, ln.long = nil, true
		default:
			ln.text = append(ln.text, chunk...)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return line{}, err
		}
		if end || err != nil {
			if err != nil && size == 0 && !end {
				return line{}, io.EOF
			}
			l.no++
			return ln, nil
		}
	}
}

// chunk returns the next bytes up to an end of line, which it consumes (end is true then), or up
// to what is buffered. The bytes are valid until the next call.
func (l *lines) chunk() (text []byte, end bool, err error) {
	if _, err := l.in.Peek(1); err != nil {
		return nil, false, err
	}
	buf, _ := l.in.Peek(l.in.Buffered())
	for i, c := range buf {
		switch c {
		case '\n':
			_, _ = l.in.Discard(i + 1)
			return buf[:i], true, nil
		case '\r':
			// Copied before reading on, which may move the buffer.
			text = append([]byte(nil), buf[:i]...)
			_, _ = l.in.Discard(i + 1)
			if after, _ := l.in.Peek(1); len(after) == 1 && after[0] == '\n' {
				_, _ = l.in.Discard(1)
			}
			return text, true, nil
		}
	}
	_, _ = l.in.Discard(len(buf))
	return buf, false, nil
}

// unread gives lines back, to be read again in the same order.
func (l *lines) unread(list []line) {
	l.pending = append(append([]line(nil), list...), l.pending...)
}
