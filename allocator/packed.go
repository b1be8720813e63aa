package allocator

import (
	"fmt"
	"slices"
	"strings"

	"ironhold/fleet"
)

// An auction fleet has nearly as many classes as machines: a million of them are kept in 64 bytes
// each. What is text is shared, since few vendors, processors and sets of drives make up a fleet.

// packed is a class without its text; zero is none.
type packed struct {
	price, setup                             int64
	cores, threads, ram, nvme, ssd, hdd, nic int32 // the columns' checks keep them in range
	text                                     int32 // index into texts, from 1 on
	drives                                   int32 // index into drives
	cpuCount                                 int16
	ecc                                      bool
}

// texts is the text of a class.
type texts struct {
	site, vendor, model, cpu, gpu, currency string
	features                                []string
}

// store is the classes of all versions. It only grows, behind what any version has seen: each
// version keeps slices of its own length. One writer at a time.
type store struct {
	classes  []packed
	texts    []texts
	drives   [][]fleet.Drive
	textAt   map[string]int32
	drivesAt map[string]int32
}

func newStore() *store {
	return &store{classes: make([]packed, 1), texts: make([]texts, 1), drives: make([][]fleet.Drive, 1),
		textAt: map[string]int32{}, drivesAt: map[string]int32{"[]": 0}}
}

// add puts a class in; identifiers ascend.
func (s *store) add(c *fleet.Class) {
	for len(s.classes) <= c.ID {
		s.classes = append(s.classes, packed{})
	}
	s.classes[c.ID] = packed{price: c.PriceMonthMinor, setup: c.SetupMinor, cores: int32(c.Cores), threads: int32(c.Threads), //nolint:gosec // see packed
		ram: int32(c.RAMGB), nvme: int32(c.NVMeGB), ssd: int32(c.SSDGB), hdd: int32(c.HDDGB), nic: int32(c.NICMbps), //nolint:gosec // see packed
		cpuCount: int16(c.CPUCount), ecc: c.ECC, text: s.text(c), drives: s.drive(c.Drives)} //nolint:gosec // see packed
}

func (s *store) text(c *fleet.Class) int32 {
	key := strings.Join(append([]string{c.SiteCode, c.Vendor, c.Model, c.CPU, c.GPU, c.Currency}, c.Features...), "\x00")
	at, ok := s.textAt[key]
	if !ok {
		at = int32(len(s.texts)) //nolint:gosec // at most one a class
		// Out of one string: what was read may be a part of something larger.
		part := strings.SplitN(strings.Clone(key), "\x00", 7)
		s.texts = append(s.texts, texts{part[0], part[1], part[2], part[3], part[4], part[5], slices.Clone(c.Features)})
		s.textAt[key] = at
	}
	return at
}

func (s *store) drive(d []fleet.Drive) int32 {
	if len(d) == 0 {
		return 0
	}
	key := fmt.Sprint(d)
	at, ok := s.drivesAt[key]
	if !ok {
		at = int32(len(s.drives)) //nolint:gosec // at most one a class
		s.drives = append(s.drives, slices.Clone(d))
		s.drivesAt[key] = at
	}
	return at
}

// less reports that the numbers alone rule a class out: cheaper to ask than the filters, which
// decide.
func (p *packed) less(r *Request) bool {
	return int(p.ram) < r.MinRAMGB || int(p.cores) < r.MinCores || int(p.nvme) < r.MinNVMeGB || int(p.threads) < r.MinThreads ||
		int(p.ssd) < r.MinSSDGB || int(p.hdd) < r.MinHDDGB || int(p.nic) < r.MinNICMbps
}

// fill writes the class of an identifier; false when this version does not have it.
func (c *catalogue) fill(id int, out *fleet.Class) bool {
	if id < 0 || id >= len(c.classes) || c.classes[id].text == 0 {
		return false
	}
	p := &c.classes[id]
	t := &c.texts[p.text]
	*out = fleet.Class{ID: id, Spec: fleet.Spec{SiteCode: t.site, Vendor: t.vendor, Model: t.model, CPU: t.cpu, CPUCount: int(p.cpuCount),
		Cores: int(p.cores), Threads: int(p.threads), RAMGB: int(p.ram), ECC: p.ecc, NVMeGB: int(p.nvme), SSDGB: int(p.ssd), HDDGB: int(p.hdd),
		Drives: c.drives[p.drives], GPU: t.gpu, NICMbps: int(p.nic), Features: t.features, PriceMonthMinor: p.price, SetupMinor: p.setup,
		Currency: t.currency}}
	return true
}
