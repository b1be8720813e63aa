// Package progress tells whoever waits how far long work has come: a line that is drawn anew on a
// terminal, a line now and then in a log. It knows no work.
//
//	New -> At, At, ... -> Done
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	onTerminal = 200 * time.Millisecond
	inLog      = 10 * time.Second
	width      = 30
)

// Bar is the progress of one piece of work. It is safe for concurrent use.
type Bar struct {
	w        io.Writer
	what     string
	total    int
	terminal bool

	mu    sync.Mutex
	began time.Time
	shown time.Time
	drawn int // characters of the last line on the terminal
	done  int
}

// New begins to tell of what, out of total pieces; 0 when nobody knows how many there are. Nothing is
// shown of work that is done before the first line is due.
func New(w io.Writer, what string, total int) *Bar {
	now := time.Now() //nolint:forbidigo // how long somebody waits here
	return &Bar{w: w, what: what, total: total, terminal: IsTerminal(w), began: now, shown: now}
}

// IsTerminal reports whether a person watches what is written to w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// At says that so many pieces are done.
func (b *Bar) At(done int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = done
	every := inLog
	if b.terminal {
		every = onTerminal
	}
	if now := time.Now(); now.Sub(b.shown) >= every { //nolint:forbidigo // as above
		b.shown = now
		b.show(now.Sub(b.began))
	}
}

// Done clears the line of a terminal away.
func (b *Bar) Done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drawn > 0 {
		fmt.Fprint(b.w, "\r"+strings.Repeat(" ", b.drawn)+"\r")
		b.drawn = 0
	}
}

func (b *Bar) show(took time.Duration) {
	line := b.line(took)
	if !b.terminal {
		fmt.Fprintln(b.w, line)
		return
	}
	pad := max(0, b.drawn-len(line))
	b.drawn = len(line)
	fmt.Fprint(b.w, "\r"+line+strings.Repeat(" ", pad))
}

// line is what is shown after so long.
func (b *Bar) line(took time.Duration) string {
	if b.total <= 0 {
		return fmt.Sprintf("%s: %d after %s", b.what, b.done, took.Round(time.Second))
	}
	part := min(1, float64(b.done)/float64(b.total))
	left := ""
	if part > 0 {
		left = fmt.Sprintf(", about %s left", time.Duration(float64(took)*(1-part)/part).Round(time.Second))
	}
	if !b.terminal {
		return fmt.Sprintf("%s: %d of %d%s", b.what, b.done, b.total, left)
	}
	full := int(part * width)
	return fmt.Sprintf("%s [%s%s] %3.0f %%%s", b.what, strings.Repeat("#", full), strings.Repeat(".", width-full), part*100, left)
}
