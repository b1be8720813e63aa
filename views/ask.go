package views

import (
	"context"
	"strings"

	"ironhold/views/i18n"
)

// Ask is what somebody asked for, to be said in words. The zero value is "any machine".
type Ask struct {
	Sites, Vendors, Features  []string
	CPU                       string
	MinCores, MinThreads      int
	MinRAMGB                  int
	MinNVMeGB, MinSSD, MinHDD int
	MinNICMbps                int
	ECC, GPU                  bool
	MaxPrice                  *Money
	Machine                   string
}

type askLine struct{ label, value string }

func (a Ask) lines(ctx context.Context) []askLine {
	var out []askLine
	add := func(key, value string) { out = append(out, askLine{t(ctx, "ask."+key), value}) }
	or := " " + t(ctx, "common.or") + " "
	if a.Machine != "" {
		add("machine", a.Machine)
	}
	if len(a.Sites) > 0 {
		add("site", strings.Join(a.Sites, or))
	}
	if len(a.Vendors) > 0 {
		add("vendor", strings.Join(a.Vendors, or))
	}
	if a.CPU != "" {
		add("cpu", a.CPU)
	}
	least := func(key string, n int, text string) {
		if n > 0 {
			add(key, t(ctx, "ask.at_least", "value", text))
		}
	}
	least("min_cores", a.MinCores, i18n.Int(ctx, int64(a.MinCores)))
	least("min_threads", a.MinThreads, i18n.Int(ctx, int64(a.MinThreads)))
	least("min_ram_gb", a.MinRAMGB, i18n.Int(ctx, int64(a.MinRAMGB))+"\u00a0GB")
	least("min_nvme_gb", a.MinNVMeGB, i18n.Size(ctx, a.MinNVMeGB))
	least("min_ssd_gb", a.MinSSD, i18n.Size(ctx, a.MinSSD))
	least("min_hdd_gb", a.MinHDD, i18n.Size(ctx, a.MinHDD))
	least("min_nic_mbps", a.MinNICMbps, i18n.Speed(ctx, a.MinNICMbps))
	if a.ECC {
		add("ecc", t(ctx, "ask.required"))
	}
	if a.GPU {
		add("gpu", t(ctx, "ask.required"))
	}
	if len(a.Features) > 0 {
		add("feature", strings.Join(a.Features, ", "))
	}
	if a.MaxPrice != nil {
		add("max_price", t(ctx, "ask.at_most", "value", money(ctx, *a.MaxPrice)))
	}
	return out
}

// sentence is the same in one line, for tables.
func (a Ask) sentence(ctx context.Context) string {
	var parts []string
	for _, l := range a.lines(ctx) {
		parts = append(parts, l.label+": "+l.value)
	}
	if len(parts) == 0 {
		return t(ctx, "ask.any")
	}
	return strings.Join(parts, "; ")
}

// NearMiss is one relaxed constraint: the machines that this reason alone excludes.
type NearMiss struct {
	Code  string // the reason
	Words []string
	Num   int
	Price *Money
	Gains int
	Href  string // the order with that constraint relaxed
}

func (n NearMiss) text(ctx context.Context) string {
	key := "nearmiss." + n.Code
	if !i18n.Has(ctx, key) {
		key = "nearmiss.other"
	}
	value := strings.Join(n.Words, ", ")
	switch n.Code {
	case "too_few_cores", "too_few_threads":
		value = i18n.Int(ctx, int64(n.Num))
	case "too_little_memory":
		value = i18n.Int(ctx, int64(n.Num)) + "\u00a0GB"
	case "too_little_nvme", "too_little_ssd", "too_little_hdd":
		value = i18n.Size(ctx, n.Num)
	case "too_slow_network":
		value = i18n.Speed(ctx, n.Num)
	}
	if n.Price != nil {
		value = money(ctx, *n.Price)
	}
	if value == "" {
		key += ".drop"
		if !i18n.Has(ctx, key) {
			key = "nearmiss.other"
		}
	}
	return t(ctx, key, "value", value)
}

// Reason is one line of the histogram.
type Reason struct {
	Code  string
	Count int
}

func reasonText(ctx context.Context, code string) string {
	if key := "reason." + code; i18n.Has(ctx, key) {
		return t(ctx, key)
	}
	return code
}
