package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/views"
)

// choices are what the forms offer to choose from. They are comfort: a value that is not among
// them is still judged by the allocator.
type choices struct {
	read     time.Time
	sites    []fleet.Site
	vendors  []string
	features []string

	currencies []string // of the prices, that of the most groups first
}

// choicesFor is how long they are kept.
const choicesFor = 30 * time.Second

func (s *server) readChoices(ctx context.Context) (choices, error) {
	p := s.pages
	p.mu.Lock()
	c := p.choices
	p.mu.Unlock()
	now := time.Now() //nolint:forbidigo // the age of a copy in this process
	if now.Sub(c.read) < choicesFor {
		return c, nil
	}
	var err error
	c = choices{read: now}
	if c.sites, err = s.Fleet.Sites(ctx); err != nil {
		return c, err
	}
	if c.vendors, err = s.Fleet.Vendors(ctx); err != nil {
		return c, err
	}
	all, err := s.Allocator.Offers(ctx, allocator.OfferQuery{})
	if err != nil {
		return c, err
	}
	groups := map[string]int{}
	for i := range all.Items {
		c.features = append(c.features, all.Items[i].Class.Features...)
		groups[all.Items[i].Class.Currency]++
	}
	c.currencies = slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[b], groups[a]), cmp.Compare(a, b))
	})
	slices.Sort(c.features)
	c.features = slices.Compact(c.features)
	c.vendors = slices.DeleteFunc(c.vendors, func(v string) bool { return v == "" })
	p.mu.Lock()
	p.choices = c
	p.mu.Unlock()
	return c, nil
}

// lastChoices are those of the last look, however old.
func (s *server) lastChoices() choices {
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	return s.pages.choices
}

// knownChoices are the choices, or those of the last look when they cannot be read: whatever needs the
// database next says so.
func (s *server) knownChoices(ctx context.Context) choices {
	c, err := s.readChoices(ctx)
	if err != nil {
		return s.lastChoices()
	}
	return c
}

// currency is what prices are typed in unless another is chosen.
func (c choices) currency() string {
	if len(c.currencies) == 0 {
		return "EUR"
	}
	return c.currencies[0]
}

// siteName is the name of a site, or its code.
func (c choices) siteName(code string) string {
	for _, s := range c.sites {
		if s.Code == code {
			return s.Name
		}
	}
	return code
}

// delivery is within how many hours a machine of the site is ready; 0 when that is not promised.
func (c choices) delivery(code string) int {
	for _, s := range c.sites {
		if s.Code == code && s.DeliveryHours != nil {
			return *s.DeliveryHours
		}
	}
	return 0
}

// forgetChoices lets the next page read them anew.
func (p *pages) forgetChoices() {
	p.mu.Lock()
	p.choices.read = time.Time{}
	p.mu.Unlock()
}

// fill gives a form its checkboxes, with what was chosen ticked; a chosen value that is not on
// offer is shown too, so that nothing that was entered vanishes.
func (c choices) fill(f *views.AskForm, r allocator.Request) {
	f.Sites = nil
	for _, s := range c.sites {
		label := s.Code
		if s.Name != "" && s.Name != s.Code {
			label = s.Name
		}
		f.Sites = append(f.Sites, views.Choice{Name: "site", Value: s.Code, Label: label, Chosen: slices.Contains(r.Sites, s.Code)})
	}
	f.Sites = withChosen(f.Sites, "site", r.Sites)
	f.Vendors = withChosen(boxes("vendor", c.vendors, r.Vendors), "vendor", r.Vendors)
	f.Features = withChosen(boxes("feature", c.features, r.Features), "feature", r.Features)
}

func boxes(name string, all, chosen []string) []views.Choice {
	out := make([]views.Choice, 0, len(all))
	for _, v := range all {
		out = append(out, views.Choice{Name: name, Value: v, Label: v, Chosen: slices.Contains(chosen, v)})
	}
	return out
}

func withChosen(list []views.Choice, name string, chosen []string) []views.Choice {
	for _, v := range chosen {
		if !slices.ContainsFunc(list, func(c views.Choice) bool { return c.Value == v }) {
			list = append(list, views.Choice{Name: name, Value: v, Label: v, Chosen: true})
		}
	}
	return list
}
