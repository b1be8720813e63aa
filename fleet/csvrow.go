package fleet

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// row is a checked row of the file. Facts that the file has no column for are what a new machine
// gets.
type row struct {
	line    int
	machine Machine
}

var (
	tagPattern  = regexp.MustCompile(`^[!-~]{1,64}$`)
	sitePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)
)

// maxText is the longest free text of a column, in characters.
const maxText = 200

const (
	maxFeatures = 64
	maxFeature  = 64
)

// rowParser reads the fields of one record and collects every fault, not only the first.
type rowParser struct {
	header header
	fields []string
	faults []string
}

// parse checks a record; a fault is the reason why the row is refused.
func (h header) parse(rec record) (row, string) {
	if rec.fault != "" {
		return row{}, rec.fault
	}
	p := &rowParser{header: h, fields: rec.fields}
	if extra := rec.fields[min(h.width, len(rec.fields)):]; len(rec.fields) < h.width || strings.Join(extra, "") != "" {
		return row{}, fmt.Sprintf("the row has %d fields, the header has %d", len(rec.fields), h.width)
	}
	m := Machine{AssetTag: p.text(colAssetTag, 64), Status: p.status()}
	if m.AssetTag == "" {
		p.faultf("%s is missing", colAssetTag)
	} else if !tagPattern.MatchString(m.AssetTag) || strings.ContainsAny(m.AssetTag, `/?#%\`) || strings.Trim(m.AssetTag, ".") == "" {
		p.faultf("%s: %s is none; allowed: 1 to 64 visible ASCII characters but / ? # %% \\, no spaces, not dots alone", colAssetTag, show(m.AssetTag))
	}
	m.SiteCode = p.required(colSite, 32)
	if m.SiteCode != "" && !sitePattern.MatchString(m.SiteCode) {
		p.faultf("%s: %s is none; allowed: a letter or digit, then up to 31 letters, digits, dots, hyphens or underscores", colSite, show(m.SiteCode))
	}
	m.Room, m.Rack, m.Serial = p.text(colRoom, maxText), p.text(colRack, maxText), p.text(colSerial, maxText)
	m.Vendor, m.Model, m.RAM = p.text(colVendor, maxText), p.text(colModel, maxText), p.text(colRAM, maxText)
	m.CPU = p.required(colCPU, maxText)
	m.CPUCount = p.number(colCPUCount, 1, 64, 1)
	m.Cores = p.requiredNumber(colCores, 1, 65536)
	m.Threads = p.number(colThreads, 0, 131072, 0)
	m.RAMGB = p.requiredNumber(colRAMGB, 1, 1048576)
	m.ECC = p.boolean(colECC)
	m.Drives = []Drive{}
	m.NVMeGB = p.drives(&m, colNVMe, DriveNVMe)
	m.SSDGB = p.drives(&m, colSSD, DriveSSD)
	m.HDDGB = p.drives(&m, colHDD, DriveHDD)
	m.NICMbps = p.number(colNIC, 0, 100_000_000, 0)
	m.Features = p.features()
	m.GPU = p.text(colGPU, maxText)
	if m.GPU == "" && hasGPU(m.Features) {
		m.GPU = someGPU
	}
	p.money(&m)
	return row{line: rec.line, machine: m}, strings.Join(p.faults, "; ")
}

// tag returns the asset tag of a record that may have faults, or "".
func (h header) tag(rec record) string {
	if i := h.at[colAssetTag]; i < len(rec.fields) {
		return strings.TrimSpace(rec.fields[i])
	}
	return ""
}

// someGPU is the model of a graphics processor that the file does not name.
const someGPU = "GPU"

func hasGPU(features []string) bool {
	return slices.ContainsFunc(features, func(f string) bool { return strings.EqualFold(f, "GPU") })
}

func (p *rowParser) faultf(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// raw returns the field of a column, "" when the file does not have it.
func (p *rowParser) raw(column string) string {
	if i, ok := p.header.at[column]; ok {
		return strings.TrimSpace(p.fields[i])
	}
	return ""
}

func (p *rowParser) text(column string, most int) string {
	s := p.raw(column)
	if strings.ContainsFunc(s, unprintable) {
		p.faultf("%s: %s contains line breaks or control characters; text in one line is allowed", column, show(s))
	} else if n := utf8.RuneCountInString(s); n > most {
		p.faultf("%s has %d characters; at most %d are allowed", column, n, most)
	}
	return s
}

func (p *rowParser) required(column string, most int) string {
	s := p.text(column, most)
	if s == "" {
		p.faultf("%s is missing", column)
	}
	return s
}

func (p *rowParser) number(column string, least, most, fallback int) int {
	s := p.raw(column)
	if s == "" {
		return fallback
	}
	n, ok := parseInt(s)
	if !ok || n < least || n > most {
		p.faultf("%s: %s is not allowed; a whole number from %d to %d is", column, show(s), least, most)
	}
	return n
}

func (p *rowParser) requiredNumber(column string, least, most int) int {
	if p.raw(column) == "" {
		p.faultf("%s is missing", column)
		return 0
	}
	return p.number(column, least, most, 0)
}

func (p *rowParser) boolean(column string) bool {
	s := p.raw(column)
	switch strings.ToLower(s) {
	case "true", "yes", "1":
		return true
	case "", "false", "no", "0":
		return false
	}
	p.faultf("%s: %s is not allowed; true or false is", column, show(s))
	return false
}

// drives adds the drives of a column to the machine and returns their total.
func (p *rowParser) drives(m *Machine, column, kind string) int {
	list, total, err := parseDrives(kind, p.raw(column))
	if err != nil {
		p.faultf("%s: %v", column, err)
	}
	m.Drives = append(m.Drives, list...)
	return total
}

// features are separated by semicolons, bars or commas: whatever of these does not separate the
// fields, or stands within quotes.
func (p *rowParser) features() []string {
	list := []string{}
	for _, f := range strings.FieldsFunc(p.raw(colFeatures), func(r rune) bool { return r == ';' || r == '|' || r == ',' }) {
		if f = strings.TrimSpace(f); f == "" || slices.Contains(list, f) {
			continue
		}
		if strings.ContainsFunc(f, unprintable) || utf8.RuneCountInString(f) > maxFeature {
			p.faultf("%s: %s is not allowed; words of at most %d characters are", colFeatures, show(f), maxFeature)
			return list
		}
		list = append(list, f)
	}
	if len(list) > maxFeatures {
		p.faultf("%s: %d are too many; at most %d are allowed", colFeatures, len(list), maxFeatures)
	}
	slices.Sort(list)
	return list
}

// status of a new machine: ready unless the file says another. In service comes by a sale.
func (p *rowParser) status() Status {
	s := p.raw(colStatus)
	switch st := Status(strings.ToLower(s)); st {
	case "":
		return Ready
	case Intake, Ready, Cleaning, Maintenance, Retired:
		return st
	case InService:
		p.faultf("%s: in_service comes by a sale only; allowed: intake, ready, cleaning, maintenance, retired", colStatus)
	default:
		p.faultf("%s: %s is unknown; allowed: intake, ready, cleaning, maintenance, retired", colStatus, show(s))
	}
	return ""
}

func (p *rowParser) money(m *Machine) {
	m.Currency = cmp.Or(strings.ToUpper(p.raw(colCurrency)), "EUR")
	places, ok := Exponent(m.Currency)
	if !ok {
		p.faultf("%s: %s is unknown; allowed: a code of ISO 4217 like EUR, USD or GBP", colCurrency, show(p.raw(colCurrency)))
		return
	}
	m.PriceMonthMinor = p.amount(colPrice, places)
	m.SetupMinor = p.amount(colSetup, places)
}

func (p *rowParser) amount(column string, places int) int64 {
	s := p.raw(column)
	if s == "" {
		return 0
	}
	n, err := parseAmount(s, places, p.header.sep != ',')
	if err != nil {
		p.faultf("%s: %v", column, err)
	}
	return n
}
