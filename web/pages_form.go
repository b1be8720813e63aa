package web

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ironhold/allocator"
	"ironhold/views"
	"ironhold/views/i18n"
)

// asked is a request as it came from a form or an address: what could be read, what was typed, and
// what is wrong with it.
type asked struct {
	request allocator.Request
	form    views.AskForm
	faults  []views.Fault
	org     string // sales: the slug of whom they order for
	key     string
}

// numbers are the inputs for whole numbers with their largest plausible value.
var numbers = []struct {
	name  string
	most  int
	typed func(*views.AskForm) *string
	value func(*allocator.Request) *int
}{
	{"min_cores", 65_536, func(f *views.AskForm) *string { return &f.MinCores }, func(r *allocator.Request) *int { return &r.MinCores }},
	{"min_threads", 131_072, func(f *views.AskForm) *string { return &f.MinThreads }, func(r *allocator.Request) *int { return &r.MinThreads }},
	{"min_ram_gb", 1_048_576, func(f *views.AskForm) *string { return &f.MinRAM }, func(r *allocator.Request) *int { return &r.MinRAMGB }},
	{"min_nvme_gb", 100_000_000, func(f *views.AskForm) *string { return &f.MinNVMe }, func(r *allocator.Request) *int { return &r.MinNVMeGB }},
	{"min_ssd_gb", 100_000_000, func(f *views.AskForm) *string { return &f.MinSSD }, func(r *allocator.Request) *int { return &r.MinSSDGB }},
	{"min_hdd_gb", 100_000_000, func(f *views.AskForm) *string { return &f.MinHDD }, func(r *allocator.Request) *int { return &r.MinHDDGB }},
	{"min_nic_mbps", 100_000_000, func(f *views.AskForm) *string { return &f.MinNIC }, func(r *allocator.Request) *int { return &r.MinNICMbps }},
}

const (
	maxPriceMinor = 100_000_000_000
	maxFormText   = 100
	maxFormItems  = 50
)

// reader reads one form and collects what is wrong with it.
type reader struct {
	ctx   context.Context
	in    url.Values
	known map[string]bool
	asked
}

// readAsk reads the constraints of a request. strict names the other fields that the form has: any
// further one is a fault, since a misspelt constraint must not be ignored. Without strict unknown
// fields are ignored.
func readAsk(ctx context.Context, c choices, in url.Values, strict ...string) asked {
	rd := reader{ctx: ctx, in: in, known: map[string]bool{}}
	currency := rd.currency(c)
	rd.request.CPU = rd.text("cpu")
	rd.form.CPU = rd.request.CPU
	rd.request.Machine = rd.text("machine")
	rd.form.Machine = rd.request.Machine
	for _, n := range numbers {
		*n.typed(&rd.form), *n.value(&rd.request) = rd.number(n.name, n.most)
	}
	rd.price(currency)
	rd.form.ECC, rd.request.ECC = rd.flag("ecc")
	rd.form.GPU, rd.request.GPU = rd.flag("gpu")
	rd.request.Sites = rd.list("site")
	rd.request.Vendors = rd.list("vendor")
	rd.request.Features = rd.list("feature")
	rd.key = rd.one("key")
	rd.org = strings.TrimSpace(rd.one("org"))
	if len(strict) > 0 {
		rd.unknown(strict)
	}
	rd.form.Faults = rd.faults
	return rd.asked
}

func (rd *reader) fault(field, key string, args ...any) {
	label := ""
	if i18n.Has(rd.ctx, "ask."+field) {
		label = i18n.T(rd.ctx, "ask."+field)
	}
	rd.faults = append(rd.faults, views.Fault{Field: field, Label: label, Message: i18n.T(rd.ctx, key, args...)})
}

// one is the single value of a field; several different ones are a fault.
func (rd *reader) one(name string) string {
	rd.known[name] = true
	all := slices.Compact(slices.Clone(rd.in[name]))
	if len(all) > 1 {
		rd.fault(name, "form.fault.twice")
	}
	if len(all) == 0 {
		return ""
	}
	return strings.ToValidUTF8(all[0], "\uFFFD")
}

func (rd *reader) text(name string) string {
	s := strings.TrimSpace(rd.one(name))
	if utf8.RuneCountInString(s) > maxFormText {
		rd.fault(name, "form.fault.too_long", "n", maxFormText)
	}
	return s
}

// digits takes the blanks out that people put between digits.
func digits(s string) string {
	return strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "").Replace(s)
}

func (rd *reader) number(name string, most int) (typed string, n int) {
	typed = strings.TrimSpace(rd.one(name))
	if typed == "" {
		return "", 0
	}
	n, err := strconv.Atoi(digits(typed))
	switch {
	case err != nil && strings.Trim(digits(typed), "0123456789") == "", err == nil && (n < 0 || n > most):
		rd.fault(name, "form.fault.range", "max", most)
	case err != nil:
		rd.fault(name, "form.fault.number")
	default:
		return typed, n
	}
	return typed, 0
}

// currency is that of the limit: the fleet's, or where it has several the one that was chosen.
func (rd *reader) currency(c choices) string {
	code := strings.ToUpper(strings.TrimSpace(rd.one("currency")))
	if code == "" {
		code = c.currency()
	}
	if len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		rd.fault("max_price", "form.fault.currency")
		code = c.currency()
	}
	rd.form.Currency = code
	if len(c.currencies) > 1 || !slices.Contains(c.currencies, code) {
		for _, other := range withText(c.currencies, code) {
			rd.form.Currencies = append(rd.form.Currencies, views.Option{Value: other, Label: other, Chosen: other == code})
		}
	}
	return code
}

func withText(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(slices.Clone(list), s)
}

// price takes an amount of money in major units, or max_price_minor as the API spells it.
func (rd *reader) price(currency string) {
	typed := strings.TrimSpace(rd.one("max_price"))
	minor := strings.TrimSpace(rd.one("max_price_minor"))
	if typed == "" && minor != "" {
		n, err := strconv.ParseInt(minor, 10, 64)
		if err != nil || n < 0 || n > maxPriceMinor {
			rd.form.MaxPrice = minor
			rd.fault("max_price", "form.fault.price")
			return
		}
		typed = i18n.Decimal(rd.ctx, n, currency)
	}
	rd.form.MaxPrice = typed
	if typed == "" {
		return
	}
	n, ok := parseAmount(typed, i18n.Scale(currency))
	if !ok || n > maxPriceMinor {
		rd.fault("max_price", "form.fault.price")
		return
	}
	rd.request.MaxPriceMonthMinor, rd.request.Currency = &n, currency
}

// parseAmount reads an amount as people of either language type it: the last comma or point is the
// decimal one if at most two digits follow, the others group. No float is involved.
func parseAmount(s string, scale int) (minor int64, ok bool) {
	s = digits(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "€"), "€"))
	whole, part := s, ""
	if i := strings.LastIndexAny(s, ".,"); i >= 0 && len(s)-i-1 <= scale {
		whole, part = s[:i], s[i+1:]
	}
	groups := strings.FieldsFunc(whole, func(r rune) bool { return r == '.' || r == ',' })
	for i, g := range groups {
		if i > 0 && len(g) != 3 {
			return 0, false
		}
	}
	whole = strings.Join(groups, "")
	if whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", scale-len(part)), 10, 64)
	return n, err == nil
}

// flag is a tick: required or no matter.
func (rd *reader) flag(name string) (ticked bool, required *bool) {
	switch v := rd.one(name); v {
	case "", "0", "false":
	case "1", "true", "on":
		return true, new(true)
	default:
		rd.fault(name, "form.fault.choice", "value", v)
	}
	return false, nil
}

func (rd *reader) list(name string) []string {
	rd.known[name] = true
	var out []string
	for _, s := range rd.in[name] {
		s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
		if s == "" || slices.Contains(out, s) {
			continue
		}
		if utf8.RuneCountInString(s) > maxFormText {
			rd.fault(name, "form.fault.too_long", "n", maxFormText)
			continue
		}
		out = append(out, s)
	}
	if len(out) > maxFormItems {
		rd.fault(name, "form.fault.too_long", "n", maxFormItems)
		out = out[:maxFormItems]
	}
	return out
}

func (rd *reader) unknown(strict []string) {
	names := make([]string, 0, len(rd.in))
	for name := range rd.in {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !rd.known[name] && !slices.Contains(strict, name) {
			shown := strings.ToValidUTF8(name, "\uFFFD")
			rd.faults = append(rd.faults, views.Fault{Message: i18n.T(rd.ctx, "form.fault.unknown", "field", shown[:min(len(shown), maxFormText)])})
		}
	}
}

// formValues is the request as fields of the form: the inverse of readAsk.
func formValues(r allocator.Request, org string) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("machine", r.Machine)
	set("cpu", r.CPU)
	for _, n := range numbers {
		if k := *n.value(&r); k != 0 {
			v.Set(n.name, strconv.Itoa(k))
		}
	}
	if r.ECC != nil && *r.ECC {
		v.Set("ecc", "true")
	}
	if r.GPU != nil && *r.GPU {
		v.Set("gpu", "true")
	}
	for name, list := range map[string][]string{"site": r.Sites, "vendor": r.Vendors, "feature": r.Features} {
		if len(list) > 0 {
			v[name] = slices.Clone(list)
		}
	}
	if p := r.MaxPriceMonthMinor; p != nil {
		v.Set("max_price_minor", strconv.FormatInt(*p, 10))
		set("currency", r.Currency)
	}
	set("org", org)
	return v
}

// hiddenFields are the values as hidden fields, in a stable order.
func hiddenFields(v url.Values) []views.Hidden {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []views.Hidden
	for _, name := range names {
		for _, value := range v[name] {
			out = append(out, views.Hidden{Name: name, Value: value})
		}
	}
	return out
}

// orderURL is the order form, or with step "review" its review, for a request.
func orderURL(r allocator.Request, org, step string) string {
	v := formValues(r, org)
	if step != "" {
		v.Set("step", step)
	}
	if len(v) == 0 {
		return "/order"
	}
	return "/order?" + v.Encode()
}
