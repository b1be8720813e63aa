package web

import (
	"encoding/csv"
	"net/http"
	"strings"
	"time"
)

const (
	csvPiece = 500              // rows of one short read
	csvWait  = 30 * time.Second // for the reader to take one piece
)

// sheet streams rows as a file: UTF-8, RFC 4180, nothing that a spreadsheet would take for a
// formula. Once it has begun, an error can only cut the answer off, so that nobody takes a part for
// the whole.
type sheet struct {
	w    http.ResponseWriter
	out  *csv.Writer
	rows *http.ResponseController
}

// newSheet begins a file that is named after its content and the time of the export.
func newSheet(w http.ResponseWriter, name string, header ...string) *sheet {
	now := time.Now().UTC() //nolint:forbidigo // only to name the file
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", `attachment; filename="`+name+"-"+now.Format("20060102T150405Z")+`.csv"`)
	h.Set("Last-Modified", now.Format(http.TimeFormat))
	s := &sheet{w: w, out: csv.NewWriter(w), rows: http.NewResponseController(w)}
	s.out.UseCRLF = true
	s.row(header...)
	return s
}

func (s *sheet) row(cells ...string) {
	for i, c := range cells {
		cells[i] = plainCell(c)
	}
	_ = s.out.Write(cells) // the answer is cut off by flush
}

// flush sends what there is and gives the reader time for it.
func (s *sheet) flush() {
	_ = s.rows.SetWriteDeadline(time.Now().Add(csvWait)) //nolint:forbidigo // the network's clock; some writers have none
	s.out.Flush()
	if s.out.Error() != nil || s.rows.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
}

// fail cuts the answer off.
func (s *sheet) fail(err error) {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// plainCell keeps a text from being taken for a formula.
func plainCell(s string) string {
	if s != "" && strings.ContainsAny(s[:1], "=+-@\t\r") {
		return "'" + s
	}
	return s
}
