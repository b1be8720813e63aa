package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ironhold/cmd/ironhold-bench/bench"
)

// table is one result, printed as it is and written as Markdown.
type table struct {
	title string
	head  []string
	rows  [][]string
	notes []string
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch v := c.(type) {
		case float64:
			row[i] = fmt.Sprintf("%.2f", v)
		case time.Duration:
			row[i] = fmt.Sprintf("%.2f", float64(v.Microseconds())/1000)
		default:
			row[i] = fmt.Sprint(v)
		}
	}
	t.rows = append(t.rows, row)
}

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// markdown is the table for a page.
func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", t.title)
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	line(slices.Repeat([]string{"---"}, len(t.head)))
	for _, r := range t.rows {
		line(r)
	}
	for _, n := range t.notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

// print writes the table to the terminal with its columns aligned.
func (t *table) print() {
	width := make([]int, len(t.head))
	for _, r := range append([][]string{t.head}, t.rows...) {
		for i, c := range r {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	fmt.Printf("\n%s\n", t.title)
	for _, r := range append([][]string{t.head}, t.rows...) {
		for i, c := range r {
			fmt.Printf("%*s  ", width[i], c)
		}
		fmt.Println()
	}
	for _, n := range t.notes {
		fmt.Println(n)
	}
}

// write appends the tables to a file of Markdown.
func write(file string, tables []*table) error {
	var b strings.Builder
	for _, t := range tables {
		b.WriteString(t.markdown() + "\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o644) //nolint:gosec // the developer's own
}

// quantile is that of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func spreadOf(values []float64) string {
	m, low, high := bench.Median(values)
	return spread(m, low, high)
}
