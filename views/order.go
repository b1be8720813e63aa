package views

import (
	"context"
	"time"
)

// AskForm is the form of constraints with the texts as they were typed.
type AskForm struct {
	CPU, MinCores, MinThreads, MinRAM string
	MinNVMe, MinSSD, MinHDD, MinNIC   string
	MaxPrice, Machine                 string
	Currency                          string
	Currencies                        []Option // to choose from, where there are several
	ECC, GPU                          bool
	Sites, Vendors, Features          []Choice
	Faults                            []Fault
	Key                               string   // the order's key, made with the form
	Orgs                              []Option // sales order for one of these
}

// Option is one entry of a select.
type Option struct {
	Value, Label string
	Chosen       bool
}

func (f AskForm) more() bool {
	if f.MinThreads != "" || f.MinSSD != "" || f.MinHDD != "" || f.MinNIC != "" || f.ECC || f.GPU {
		return true
	}
	for _, c := range append(append([]Choice{}, f.Vendors...), f.Features...) {
		if c.Chosen {
			return true
		}
	}
	for _, name := range []string{"min_threads", "min_ssd_gb", "min_hdd_gb", "min_nic_mbps", "vendor", "feature"} {
		if faultOf(f.Faults, name) != "" {
			return true
		}
	}
	return false
}

// OrderPage is the order form: constraints, and what would match them now.
type OrderPage struct {
	Form    AskForm
	Faults  []Fault
	Match   *Match
	Off     *RolloutRefusal
	Invalid bool // the answer to an order that was refused as invalid
}

// unit is what the limit is typed in, where there is no choice.
func (f AskForm) unit() string {
	if len(f.Currencies) > 0 {
		return ""
	}
	return f.Currency
}

// Match is what a request would find now.
type Match struct {
	Eligible, Considered int
	AsOf                 time.Time
	NearMisses           []NearMiss
	Reasons              []Reason
	NextFreeAt           *time.Time
	Best                 []Offer // cheapest groups that match
}

// count says how many match.
func (m Match) count(ctx context.Context) string {
	if m.Eligible == 0 {
		return t(ctx, "order.matches_none")
	}
	return t(ctx, "order.matches", "n", m.Eligible)
}

// ReviewPage is the last look before the order.
type ReviewPage struct {
	Ask       Ask
	Match     Match
	Key       string
	Fields    []Hidden // the request
	ChangeURL string
	Minutes   int // how long the hold will last
	Off       *RolloutRefusal
	OrgName   string // sales: on whose behalf
	Terms     string
}

// Hidden is a hidden field.
type Hidden struct{ Name, Value string }
