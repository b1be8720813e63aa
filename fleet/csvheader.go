package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The columns of the file.
const (
	colAssetTag = "asset_tag"
	colSite     = "site"
	colRoom     = "room"
	colRack     = "rack"
	colVendor   = "vendor"
	colModel    = "model"
	colSerial   = "serial"
	colCPU      = "cpu"
	colCPUCount = "cpu_count"
	colCores    = "cores"
	colThreads  = "threads"
	colRAM      = "ram"
	colRAMGB    = "ram_gb"
	colECC      = "ecc"
	colNVMe     = "nvme_gb"
	colSSD      = "sata_ssd_gb"
	colHDD      = "hdd_gb"
	colGPU      = "gpu"
	colNIC      = "nic_mbps"
	colFeatures = "features"
	colStatus   = "status"
	colPrice    = "price_month_eur"
	colSetup    = "setup_eur"
	colCurrency = "currency"
)

// Columns returns the names of all columns, the required ones first.
func Columns() []string { return append(slices.Clone(requiredColumns), optionalColumns...) }

// RequiredColumns returns the names of the columns that a file must have.
func RequiredColumns() []string { return slices.Clone(requiredColumns) }

var (
	requiredColumns = []string{colAssetTag, colSite, colCPU, colCores, colRAMGB}
	optionalColumns = []string{
		colVendor, colModel, colSerial, colRoom, colRack, colCPUCount, colThreads, colRAM, colECC, colNVMe, colSSD,
		colHDD, colGPU, colNIC, colFeatures, colStatus, colPrice, colSetup, colCurrency,
	}
)

// header is the first line of a file: which column stands where.
type header struct {
	at    map[string]int
	width int // fields in a row
	sep   byte
}

// open reads the file up to the header and refuses what is no fleet CSV with a *FileError.
func open(in io.Reader) (header, *records, error) {
	buf := bufio.NewReaderSize(in, 32<<10)
	start, err := buf.Peek(512)
	if len(start) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return header{}, nil, unreadable(err)
	}
	if what := foreign(start); what != "" {
		return header{}, nil, &FileError{Reason: what}
	}
	if bytes.HasPrefix(start, []byte("\xEF\xBB\xBF")) {
		_, _ = buf.Discard(3)
	}
	ls := newLines(buf)
	var sep byte
	for {
		first, err := ls.next()
		switch {
		case errors.Is(err, io.EOF):
			return header{}, nil, &FileError{Reason: "the file is empty: " + wantHeader}
		case err != nil:
			return header{}, nil, unreadable(err)
		case first.long:
			return header{}, nil, &FileError{Reason: fmt.Sprintf("the file is no CSV: its first line is longer than %d bytes", maxRecord)}
		case !utf8.Valid(first.text) || bytes.ContainsFunc(first.text, func(r rune) bool { return r != '\t' && unprintable(r) }):
			return header{}, nil, &FileError{Reason: "the file is no CSV text in UTF-8: " + wantHeader}
		}
		text := strings.TrimSpace(string(first.text))
		if text == "" {
			continue
		}
		if s, ok := strings.CutPrefix(text, "sep="); ok && len(s) == 1 && sep == 0 {
			sep = s[0] // the hint that spreadsheets write
			continue
		}
		h, err := parseHeader(first.text, sep)
		return h, &records{lines: ls, sep: h.sep}, err
	}
}

func unreadable(err error) error {
	return &FileError{Reason: "the file cannot be read: " + strings.ReplaceAll(err.Error(), "\n", " ")}
}

const wantHeader = "a CSV file is expected whose first line names the columns, among them asset_tag, site, cpu, cores and ram_gb"

// foreign names what the file is when its first bytes tell that it is no CSV.
func foreign(start []byte) string {
	has := func(magic string) bool { return bytes.HasPrefix(start, []byte(magic)) }
	switch {
	case has("\xFF\xFE"), has("\xFE\xFF"):
		return "the file is encoded in UTF-16: save it as CSV in UTF-8"
	case has("\x00\x00\xFE\xFF"):
		return "the file is encoded in UTF-32: save it as CSV in UTF-8"
	case has("PK\x03\x04"), has("\xD0\xCF\x11\xE0"):
		return "the file is a spreadsheet or an archive, no CSV: export it as CSV in UTF-8"
	case has("\x1F\x8B"), has("BZh"), has("\x28\xB5\x2F\xFD"), has("\xFD7zXZ"):
		return "the file is compressed, no CSV: unpack it first"
	case has("%PDF"):
		return "the file is a PDF, no CSV"
	}
	first, _, _ := bytes.Cut(start, []byte("\n"))
	switch {
	case len(first) > 8 && everySecondNUL(first):
		return "the file seems to be encoded in UTF-16: save it as CSV in UTF-8"
	case bytes.IndexByte(first, 0) >= 0:
		return "the file is binary, no CSV"
	}
	switch text := bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xEF\xBB\xBF"))); {
	case len(text) == 0:
		return ""
	case text[0] == '<':
		return "the file is HTML or XML, no CSV: " + wantHeader
	case text[0] == '{' || text[0] == '[':
		return "the file is JSON, no CSV: " + wantHeader
	}
	return ""
}

// everySecondNUL reports whether text looks like ASCII letters of two bytes each.
func everySecondNUL(text []byte) bool {
	for i := 2; i < len(text); i++ {
		if (text[i] == 0) != (text[i-2] == 0) || (text[i] == 0) == (text[i-1] == 0) {
			return false
		}
	}
	return true
}

// parseHeader finds the separator, unless it is given, and the columns.
func parseHeader(text []byte, sep byte) (header, error) {
	candidates := []byte{',', ';', '\t', '|'}
	if sep != 0 {
		candidates = []byte{sep}
	}
	best, known := header{}, -1
	var names []string
	for _, c := range candidates {
		fields, state := split(text, c)
		if state != splitDone {
			continue
		}
		n := 0
		for i, f := range fields {
			fields[i] = strings.ToLower(strings.TrimSpace(f))
			if slices.Contains(requiredColumns, fields[i]) || slices.Contains(optionalColumns, fields[i]) {
				n++
			}
		}
		if n > known {
			best, known, names = header{sep: c}, n, fields
		}
	}
	if known <= 0 {
		return best, &FileError{Reason: "the first line names no known column: " + wantHeader}
	}
	return best.fill(names)
}

func (h header) fill(names []string) (header, error) {
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1] // separators after the last column
	}
	h.at, h.width = map[string]int{}, len(names)
	var unknown, twice, missing []string
	for i, name := range names {
		_, seen := h.at[name]
		switch {
		case seen:
			twice = append(twice, show(name))
		case !slices.Contains(requiredColumns, name) && !slices.Contains(optionalColumns, name):
			unknown = append(unknown, show(name))
		}
		h.at[name] = i
	}
	for _, name := range requiredColumns {
		if _, ok := h.at[name]; !ok {
			missing = append(missing, name)
		}
	}
	var faults []string
	if len(missing) > 0 {
		faults = append(faults, "required columns are missing: "+strings.Join(missing, ", "))
	}
	if len(twice) > 0 {
		faults = append(faults, "columns appear twice: "+few(twice))
	}
	if len(unknown) > 0 {
		faults = append(faults, "unknown columns: "+few(unknown)+" (allowed: "+strings.Join(Columns(), ", ")+")")
	}
	if h.has(colCurrency) && !h.has(colPrice) && !h.has(colSetup) {
		faults = append(faults, colCurrency+" needs "+colPrice+" or "+colSetup+" beside it")
	}
	if len(faults) > 0 {
		return h, &FileError{Reason: strings.Join(faults, "; ")}
	}
	return h, nil
}

func (h header) has(column string) bool {
	_, ok := h.at[column]
	return ok
}

func few(list []string) string {
	const most = 10
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}
