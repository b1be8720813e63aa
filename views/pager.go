package views

import "net/url"

// Pager leads to the rest of a list and says how many rows a page of it has.
type Pager struct {
	First, Next string // addresses; "" on the first page and on the last
	Size        string // what the address says; "" for the usual number
	Sizes       []Tab  // the choice, where the list is long enough for one
}

// Keep is an address of the same list with the number of rows that was chosen.
func (p Pager) Keep(href string) string {
	u, err := url.Parse(href)
	if p.Size == "" || err != nil {
		return href
	}
	q := u.Query()
	q.Set("size", p.Size)
	u.RawQuery = q.Encode()
	return u.String()
}

// kept are the tabs of a list with the number of rows that was chosen.
func (p Pager) kept(tabs []Tab) []Tab {
	for i := range tabs {
		tabs[i].Href = p.Keep(tabs[i].Href)
	}
	return tabs
}
