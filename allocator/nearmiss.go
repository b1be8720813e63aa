package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ironhold/fleet"
)

// missSet collects machines that a single constraint excludes, by what would have to change.
type missSet struct {
	byNumber map[Reason]map[int64]int  // the value that would have done -> machines
	byText   map[Reason]map[string]int // the site, the vendor, the missing features -> machines
}

// maxMisses bounds the near misses of one reason.
const maxMisses = 3

func (m *missSet) add(reason Reason, r *Request, s *fleet.Spec, n int) {
	number := func(v int64) {
		if m.byNumber == nil {
			m.byNumber = map[Reason]map[int64]int{}
		}
		if m.byNumber[reason] == nil {
			m.byNumber[reason] = map[int64]int{}
		}
		m.byNumber[reason][v] += n
	}
	text := func(v string) {
		if m.byText == nil {
			m.byText = map[Reason]map[string]int{}
		}
		if m.byText[reason] == nil {
			m.byText[reason] = map[string]int{}
		}
		m.byText[reason][v] += n
	}
	switch reason {
	case WrongSite:
		text(s.SiteCode)
	case WrongVendor:
		text(s.Vendor)
	case WrongCPU, NoECC, NoGPU, OtherMachine:
		text("")
	case MissingFeature:
		text(strings.Join(missing(r, s), "\x00"))
	case TooFewCores:
		number(int64(s.Cores))
	case TooFewThreads:
		number(int64(s.Threads))
	case TooLittleRAM:
		number(int64(s.RAMGB))
	case TooLittleNVMe:
		number(int64(s.NVMeGB))
	case TooLittleSSD:
		number(int64(s.SSDGB))
	case TooLittleHDD:
		number(int64(s.HDDGB))
	case TooSlowNetwork:
		number(int64(s.NICMbps))
	case OverBudget:
		if otherCurrency(r, s) {
			text("") // no amount of the limit's currency lets it in: only no limit does
		} else {
			number(s.PriceMonthMinor)
		}
	case NotReady, HeldByAnother, InService, CoolingDown:
		// Nothing the customer could change.
	}
}

// relaxes names the request's field behind each reason.
var relaxes = map[Reason]string{
	WrongSite: "sites", WrongVendor: "vendors", WrongCPU: "cpu", TooFewCores: "min_cores", TooFewThreads: "min_threads",
	TooLittleRAM: "min_ram_gb", TooLittleNVMe: "min_nvme_gb", TooLittleSSD: "min_ssd_gb", TooLittleHDD: "min_hdd_gb",
	TooSlowNetwork: "min_nic_mbps", NoECC: "ecc", NoGPU: "gpu", MissingFeature: "features",
	OverBudget: "max_price_month_minor", OtherMachine: "machine",
}

// list gives the near misses in the order of the reasons. For a number that is the smallest step
// that gains anything and, if larger steps gain more, the one that gains all; gains count
// everything that the step lets in.
func (m *missSet) list(r *Request) []NearMiss {
	out := []NearMiss{}
	for _, reason := range reasonOrder {
		if texts := m.byText[reason]; len(texts) > 0 {
			misses := textMisses(reason, r, texts)
			if reason == OverBudget { // without a limit those above it in its own currency come in too
				for _, n := range m.byNumber[reason] {
					misses[0].Gains += n
				}
			}
			out = append(out, misses...)
		}
		if numbers := m.byNumber[reason]; len(numbers) > 0 {
			out = append(out, numberMisses(reason, numbers)...)
		}
	}
	return out
}

func numberMisses(reason Reason, numbers map[int64]int) []NearMiss {
	values := make([]int64, 0, len(numbers))
	total := 0
	for v, n := range numbers {
		values = append(values, v)
		total += n
	}
	slices.Sort(values)
	if reason != OverBudget { // a minimum is relaxed downwards, a budget upwards
		slices.Reverse(values)
	}
	out := []NearMiss{{Relax: relaxes[reason], Code: reason, Value: values[0], Gains: numbers[values[0]]}}
	if last := values[len(values)-1]; last != values[0] {
		out = append(out, NearMiss{Relax: relaxes[reason], Code: reason, Value: last, Gains: total})
	}
	return out
}

func textMisses(reason Reason, r *Request, texts map[string]int) []NearMiss {
	if reason == WrongSite && !askable(texts, r.Sites) || reason == WrongVendor && !askable(texts, r.Vendors) {
		total := 0
		for _, n := range texts {
			total += n
		}
		return []NearMiss{{Relax: relaxes[reason], Code: reason, Value: []string{}, Gains: total}}
	}
	out := make([]NearMiss, 0, len(texts))
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		miss := NearMiss{Relax: relaxes[reason], Code: reason}
		lets := func(other string) bool { return strings.EqualFold(text, other) }
		switch reason {
		case WrongSite:
			miss.Value = append(slices.Clone(r.Sites), text)
		case WrongVendor:
			miss.Value = append(slices.Clone(r.Vendors), text)
		case MissingFeature:
			lacking := strings.Split(text, "\x00")
			miss.Value = slices.DeleteFunc(slices.Clone(r.Features), func(f string) bool { return slices.Contains(lacking, f) })
			lets = func(other string) bool { // who lacks fewer of them is let in as well
				return !slices.ContainsFunc(strings.Split(other, "\x00"), func(f string) bool { return !slices.Contains(lacking, f) })
			}
		case NoECC, NoGPU:
			miss.Value = false
		case OverBudget:
			miss.Value = nil
		default:
			miss.Value = ""
		}
		for other, n := range texts {
			if lets(other) {
				miss.Gains += n
			}
		}
		// Two spellings of a name are one step, and so are two lists of features.
		if !slices.ContainsFunc(out, func(o NearMiss) bool { return strings.EqualFold(fmt.Sprint(o.Value), fmt.Sprint(miss.Value)) }) {
			out = append(out, miss)
		}
	}
	slices.SortStableFunc(out, func(a, b NearMiss) int { return cmp.Compare(b.Gains, a.Gains) })
	return out[:min(len(out), maxMisses)]
}

// askable reports whether a request can name each of the texts beside those it has. Where it
// cannot, as with machines without a vendor, the constraint has to go.
func askable(texts map[string]int, have []string) bool {
	for text := range texts {
		if text == "" || badText(text) != "" {
			return false
		}
	}
	return len(have) < maxItems
}
