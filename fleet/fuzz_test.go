package fleet

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzImportCSV reads anything as a file, up to the rows that would be sent to the database.
func FuzzImportCSV(f *testing.F) {
	fleet, err := os.ReadFile("../testdata/fleet-1173.csv")
	if err != nil {
		f.Fatal(err)
	}
	faulty, err := os.ReadDir("../testdata/faulty")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(fleet[:2000])
	for _, e := range faulty {
		data, err := os.ReadFile("../testdata/faulty/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		header, records, err := open(bytes.NewReader(data))
		if err != nil {
			var file *FileError
			if !errors.As(err, &file) || strings.ContainsAny(file.Reason, "\n\r\x00") || !utf8.ValidString(file.Reason) {
				t.Fatalf("not one clear line: %q", err)
			}
			return
		}
		lines := physicalLines(data)
		last, rows := 0, 0
		for {
			rec, err := records.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.line <= last || rec.line > lines {
				t.Fatalf("a record on line %d follows one on line %d of %d", rec.line, last, lines)
			}
			last = rec.line
			rows++
			checkRow(t, header, rec)
		}
		// Without quotes each line is a row of its own, and none is lost.
		if !bytes.ContainsRune(data, '"') && rows != dataLines(data, header.sep) {
			t.Fatalf("%d rows of %d lines with data", rows, dataLines(data, header.sep))
		}
	})
}

func checkRow(t *testing.T, h header, rec record) {
	t.Helper()
	row, fault := h.parse(rec)
	if fault != "" {
		if strings.ContainsAny(fault, "\n\r\x00") || !utf8.ValidString(fault) {
			t.Fatalf("not one clear line: %q", fault)
		}
		return
	}
	m := row.machine
	for _, s := range append(slices.Clone(m.Features), m.AssetTag, m.SiteCode, m.Room, m.Rack, m.Vendor, m.Model, m.Serial, m.CPU, m.RAM, m.GPU) {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unprintable) {
			t.Fatalf("text that must not be stored: %q", s)
		}
	}
	total := 0
	for _, d := range m.Drives {
		if d.GB <= 0 {
			t.Fatalf("drives: %v", m.Drives)
		}
		total += d.GB
	}
	if total != m.NVMeGB+m.SSDGB+m.HDDGB || m.NVMeGB > maxSize || m.SSDGB > maxSize || m.HDDGB > maxSize ||
		m.AssetTag == "" || m.CPU == "" || m.Cores < 1 || m.Cores > 65536 || m.RAMGB < 1 || m.RAMGB > 1048576 || m.CPUCount < 1 ||
		m.PriceMonthMinor < 0 || m.PriceMonthMinor > maxMinor || m.SetupMinor < 0 || m.SetupMinor > maxMinor ||
		m.Status == "" || m.Status == InService {
		t.Fatalf("a row that must not be taken: %+v", m)
	}
	// A row compared with itself changes nothing.
	if again, fault := h.merge(m, m); fault != "" || !sameFacts(m, again) {
		t.Fatalf("%s: %+v became %+v", fault, m, again)
	}
}

// physicalLines counts as an editor does.
func physicalLines(data []byte) int {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	return strings.Count(text, "\n") + 1
}

// dataLines counts the lines after the header that hold more than separators.
func dataLines(data []byte, sep byte) int {
	text := strings.TrimPrefix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), "\uFEFF")
	n, header := 0, false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case !header:
			blank := strings.TrimSpace(line) == ""
			hint := strings.HasPrefix(strings.TrimSpace(line), "sep=") && len(strings.TrimSpace(line)) == 5
			header = !blank && !hint
		case strings.Trim(line, " \t"+string(sep)) != "":
			n++
		}
	}
	return n
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		places int
		comma  bool
		want   int64
		ok     bool
	}{
		{"33", 2, false, 3300, true},
		{"33.5", 2, false, 3350, true},
		{"33.50", 2, false, 3350, true},
		{"0.29", 2, false, 29, true}, // 28 with floating point
		{"1.15", 2, false, 115, true},
		{"0", 2, false, 0, true},
		{"33,5", 2, true, 3350, true},
		{"1000000000", 2, false, maxMinor, true},
		{"120", 0, false, 120, true},
		{"1.234", 3, false, 1234, true},
		{"33,5", 2, false, 0, false},
		{"1,234.50", 2, true, 0, false},
		{"1.234,50", 2, true, 0, false},
		{"33.500", 2, false, 0, false},
		{"120.0", 0, false, 0, false},
		{"1000000000.01", 2, false, 0, false},
		{"-1", 2, false, 0, false},
		{"+1", 2, false, 0, false},
		{".5", 2, false, 0, false},
		{"5.", 2, false, 0, false},
		{"1e2", 2, false, 0, false},
		{"NaN", 2, false, 0, false},
		{"", 2, false, 0, false},
		{"99999999999999999999999999", 2, false, 0, false},
		{"٣", 2, false, 0, false},
	} {
		got, err := parseAmount(c.text, c.places, c.comma)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("%q: %d %v, want %d %v", c.text, got, err, c.want, c.ok)
		}
	}
}

func TestDrives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		drive int
		total int
		ok    bool
	}{
		{"", 0, 0, true},
		{"0", 0, 0, true},
		{"512", 1, 512, true},
		{"512+512", 2, 1024, true},
		{"480 + 1920", 2, 2400, true},
		{"2x512", 2, 1024, true},
		{"2 x 512+4X1000", 6, 5024, true},
		{"12×16000", 12, 192000, true},
		{"2*960", 2, 1920, true},
		{"512+", 0, 0, false},
		{"+512", 0, 0, false},
		{"-512", 0, 0, false},
		{"0x512", 0, 0, false},
		{"x512", 0, 0, false},
		{"512.5", 0, 0, false},
		{"1 TB", 0, 0, false},
		{"201x1", 0, 0, false},
		{"200x999999999", 0, 0, false},
		{"60000000+60000000", 0, 0, false},
	} {
		list, total, err := parseDrives(DriveSSD, c.text)
		if (err == nil) != c.ok || c.ok && (len(list) != c.drive || total != c.total) {
			t.Errorf("%q: %v %d %v", c.text, list, total, err)
		}
	}
	list, _, _ := parseDrives(DriveSSD, "480+1920+960")
	if !slices.IsSortedFunc(list, func(a, b Drive) int { return b.GB - a.GB }) {
		t.Errorf("the largest is not first: %v", list)
	}
}

// Lines and records: numbers of physical lines, and a slip with a quote that swallows no rows.
func TestRecords(t *testing.T) {
	t.Parallel()
	type want struct {
		line   int
		fields string // joined by |, or the fault
	}
	long := strings.Repeat("x", maxRecord)
	for name, c := range map[string]struct {
		text string
		want []want
	}{
		"plain":                 {"a,b\nc,d", []want{{1, "a|b"}, {2, "c|d"}}},
		"mixed ends":            {"a,b\r\nc,d\re,f\n\r\ng,h", []want{{1, "a|b"}, {2, "c|d"}, {3, "e|f"}, {5, "g|h"}}},
		"quotes":                {"\"a\",\"b,\"\"c\"\"\"\n\"\",x", []want{{1, `a|b,"c"`}, {2, "|x"}}},
		"quote inside":          {"19\" rack,b\n", []want{{1, `19" rack|b`}}},
		"spaces around quotes":  {" \"a\" , \"b\" \n", []want{{1, "a|b"}}},
		"break in quotes":       {"\"a\nb\r\nc\",d\ne,f\n", []want{{1, "a\nb\nc|d"}, {4, "e|f"}}},
		"never closed":          {"\"a,b\nc,d\ne,f\n", []want{{1, "a quoted field is not closed"}, {2, "c|d"}, {3, "e|f"}}},
		"closed by another row": {"\"a,b\nc,d\n\"e\",f\n", []want{{1, "a quoted field is not closed"}, {2, "c|d"}, {3, "e|f"}}},
		"text after quote":      {"\"a\"b,c\nd,e", []want{{1, "text follows the closing quote of a field"}, {2, "d|e"}}},
		"long line":             {"a,b\n" + long + "x\nc,d\n", []want{{1, "a|b"}, {2, "the line is longer than 65536 bytes"}, {3, "c|d"}}},
		"longest line":          {long[:maxRecord-2] + ",b\nc,d\n", []want{{1, long[:maxRecord-2] + "|b"}, {2, "c|d"}}},
		"long quoted":           {"\"a\n" + long + "x\n\",b\nc,d\n", []want{{1, "a quoted field is not closed"}, {2, "the line"}, {3, "a quoted field"}, {4, "c|d"}}},
		"many lines in quotes":  {"\"a" + strings.Repeat("\n", 100) + "\"\nc,d\n", []want{{1, "a quoted field"}, {101, "a quoted field"}, {102, "c|d"}}},
	} {
		records := &records{lines: newLines(newReader(c.text)), sep: ','}
		var got []want
		for {
			rec, err := records.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(rec.fields, "|")
			if rec.fault != "" {
				text = rec.fault
			}
			got = append(got, want{rec.line, text})
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d records, want %d", name, len(got), len(c.want))
			continue
		}
		for i, w := range c.want {
			if got[i].line != w.line || !strings.HasPrefix(got[i].fields, w.fields) {
				t.Errorf("%s: line %d %.80q, want %d %.80q", name, got[i].line, got[i].fields, w.line, w.fields)
			}
		}
	}
}

func TestRealSerial(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " ", "N/A", "NONE", "To be filled by O.E.M", "System Serial Number", "0", "0000", "----", "Default String", "Not Specified", "0123456789", "xxxxxxx"} {
		if realSerial(s) {
			t.Errorf("%q identifies a machine", s)
		}
	}
	for _, s := range []string{"CZ3040001", "7XK2QW3", "S1234", "0001", "序列号1"} {
		if !realSerial(s) {
			t.Errorf("%q identifies none", s)
		}
	}
}
