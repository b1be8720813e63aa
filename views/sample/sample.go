// Package sample has a page of every kind and state with made-up contents, for tests and for the
// developers' page. It is in no released binary.
package sample

import (
	"time"

	"github.com/a-h/templ"

	"ironhold/views"
)

// Page is one page in one state.
type Page struct {
	Name string
	Page templ.Component
}

// Now is the time at which the samples play.
var now = time.Date(2026, 12, 3, 14, 5, 9, 0, time.UTC)

// Now is the time at which the samples play.
func Now() time.Time { return now }

func at(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }

func atp(minutes int) *time.Time { return new(at(minutes)) }

func eur(minor int64) views.Money { return views.Money{Minor: minor, Currency: "EUR"} }

// text is what an attacker would put into a name.
const text = `<script>alert("x")</script>'"&{{7*7}}${7*7}`

const id = "0197a3c2-5f5e-7cc1-9d0a-1f2e3d4c5b6a"

func server(tag string) views.Server {
	return views.Server{
		Tag: tag, Site: "GOT1", SiteName: "Gothenburg", Vendor: "Dell", Model: "PowerEdge R6615", CPU: "AMD EPYC 9354P", CPUCount: 1,
		Cores: 32, Threads: 64, RAMGB: 128, ECC: true, Drives: []views.Drive{{Kind: "nvme", GB: 960}, {Kind: "nvme", GB: 960}, {Kind: "hdd", GB: 16000}},
		GPU: "NVIDIA A2", NICMbps: 10000, Features: []string{"IPv4", "IPv6", text}, Price: eur(12900), Setup: eur(4900),
	}
}

func offer(free, held, total int) views.Offer {
	s := server("")
	s.Setup = eur(0)
	return views.Offer{ID: "7", Server: s, Free: free, Held: held, Total: total, InService: total - free - held, YouHold: held, YouRent: 1, OrderURL: "/order?cpu=x"}
}

func ask() views.Ask {
	return views.Ask{
		Sites: []string{"GOT1", text}, Vendors: []string{"Dell"}, CPU: text, MinCores: 16, MinThreads: 32, MinRAMGB: 1024, MinNVMeGB: 1920,
		MinSSD: 480, MinHDD: 8000, MinNICMbps: 10000, ECC: true, GPU: true, Features: []string{"IPv6"}, MaxPrice: new(eur(20000)),
	}
}

func form() views.AskForm {
	box := func(name string, values ...string) (out []views.Choice) {
		for i, v := range values {
			out = append(out, views.Choice{Name: name, Value: v, Label: v, Chosen: i == 0})
		}
		return out
	}
	return views.AskForm{
		CPU: text, MinCores: "16", MinRAM: "abc", MaxPrice: "12,5", Machine: text, Currency: "EUR", ECC: true,
		Sites: box("site", "Gothenburg", "Leipzig", "Donaudampfschifffahrtsgesellschaftskapitänshausen"), Vendors: box("vendor", "Dell", text), Features: box("feature", "IPv4", "IPMI"),
	}
}

func faults() []views.Fault {
	return []views.Fault{
		{Field: "min_ram_gb", Label: "Memory", Message: "Enter a whole number, for example 16."}, {Field: "site", Message: "x"}, {Message: text},
	}
}

func misses() []views.NearMiss {
	return []views.NearMiss{
		{Code: "wrong_site", Words: []string{"LEJ1"}, Gains: 12, Href: "/order?step=review"},
		{Code: "wrong_vendor", Gains: 1, Href: "/order"}, {Code: "wrong_cpu", Gains: 3, Href: "/order"},
		{Code: "too_few_cores", Num: 8, Gains: 2, Href: "/order"}, {Code: "too_few_threads", Num: 16, Gains: 2, Href: "/order"},
		{Code: "too_little_memory", Num: 512, Gains: 1234, Href: "/order"}, {Code: "too_little_nvme", Num: 960, Gains: 1, Href: "/order"},
		{Code: "too_little_ssd", Num: 960, Gains: 1, Href: "/order"}, {Code: "too_little_hdd", Num: 4000, Gains: 1, Href: "/order"},
		{Code: "too_slow_network", Num: 2500, Gains: 1, Href: "/order"}, {Code: "no_ecc", Gains: 1, Href: "/order"}, {Code: "no_gpu", Gains: 1, Href: "/order"},
		{Code: "missing_feature", Words: []string{"IPv4"}, Gains: 1, Href: "/order"}, {Code: "over_budget", Price: new(eur(21500)), Gains: 5, Href: "/order"},
		{Code: "other_machine", Gains: 5, Href: "/order"},
	}
}

func reasons() (out []views.Reason) {
	for i, c := range []string{
		"wrong_site", "wrong_vendor", "wrong_cpu", "too_few_cores", "too_few_threads", "too_little_memory", "too_little_nvme", "too_little_ssd",
		"too_little_hdd", "too_slow_network", "no_ecc", "no_gpu", "missing_feature", "over_budget", "other_machine", "not_ready", "held", "in_service", "cooling_down",
	} {
		out = append(out, views.Reason{Code: c, Count: 1200 - 60*i})
	}
	return out
}

func events() []views.Event {
	return []views.Event{
		{At: at(-20), Event: "held", Actor: "Ada Lindqvist"}, {At: at(-10), Event: "extended", Actor: text, Details: text}, {At: at(0), Event: "unheard of"},
	}
}

func hold(state string) views.HoldPage {
	return views.HoldPage{
		ID: id, State: state, Server: server("GOT-1001"), Price: eur(12900), Setup: eur(4900), Terms: "Monthly rental, cancellable at any time.",
		CreatedAt: at(-10), CreatedBy: text, ExpiresAt: at(5), ClosedAt: atp(-1), Now: now, CanExtend: state == "held", CanConfirm: true, CanCancel: true,
		ExtendMinutes: 15, ExtendKey: "k", ServiceID: id, Ask: ask(), Events: events(),
		Decision: &views.Decision{Rule: "price", Rank: 2, Eligible: 12, RunnerUp: "X", RunnerUpPrice: new(eur(13900)), Skipped: 1, Lost: 1},
		Again:    views.Again{Same: "/order?machine=GOT-1001&step=review", Equal: "/order?step=review", Change: "/order"},
	}
}
