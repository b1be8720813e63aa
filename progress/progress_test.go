package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bar  *Bar
		want string
	}{
		{&Bar{what: "import", done: 500}, "import: 500 after 10s"},
		{&Bar{what: "fill", total: 1000, done: 250}, "fill: 250 of 1000, about 30s left"},
		{&Bar{what: "fill", total: 1000}, "fill: 0 of 1000"},
		{&Bar{what: "fill", total: 1000, done: 500, terminal: true}, "fill [###############...............]  50 %, about 10s left"},
		{&Bar{what: "fill", total: 10, done: 12, terminal: true}, "fill [" + strings.Repeat("#", width) + "] 100 %, about 0s left"},
	} {
		if got := c.bar.line(10 * time.Second); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A log gets few lines, a terminal one line that is drawn anew and cleared away.
func TestWhereItIsShown(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := New(&log, "import", 0)
	b.At(1)
	if b.Done(); log.Len() > 0 {
		t.Errorf("quick work is told of: %q", log.String())
	}
	b.shown = b.shown.Add(-time.Hour)
	b.At(2)
	b.At(3)
	if strings.Count(log.String(), "\n") != 1 || !strings.HasPrefix(log.String(), "import: 2 after") {
		t.Errorf("%q", log.String())
	}
	log.Reset()
	b.terminal, b.shown = true, b.shown.Add(-time.Hour)
	b.At(4)
	b.Done()
	if s := log.String(); strings.Contains(s, "\n") || !strings.HasSuffix(s, "\r") || !strings.Contains(s, "\rimport: 4 after") {
		t.Errorf("%q", s)
	}
}
