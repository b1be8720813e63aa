package web

import (
	"net/http"
	"slices"
	"strconv"

	"ironhold/views"
)

// rows are the numbers of rows that a page of a list may have; the last is the usual one, the most
// that keeps the page below 50 kB.
type rows []int

var (
	listSizes   = rows{10, 20, listRows}
	offersSizes = rows{5, 10, offersPerPage}

	deskHoldSizes = rows{10, 20, deskHoldRows}
)

func (s rows) usual() int { return s[len(s)-1] }

// of is what the address asks for, if it may.
func (s rows) of(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("size"))
	if err != nil || !slices.Contains(s, n) {
		return s.usual()
	}
	return n
}

// pager leads to the first page and the next, and offers other sizes when more rows are there than
// the smallest page shows.
func (s rows) pager(r *http.Request, first, next string, shown int) views.Pager {
	p := views.Pager{}
	n := s.of(r)
	if n != s.usual() {
		p.Size = strconv.Itoa(n)
	}
	if first != "" {
		p.First = sized(first, p.Size)
	}
	if next != "" {
		p.Next = sized(next, p.Size)
	}
	if first == "" && next == "" && shown <= s[0] {
		return p
	}
	q := r.URL.Query()
	for _, name := range []string{"after", "page", "size"} {
		q.Del(name)
	}
	for _, other := range s {
		size := ""
		if other != s.usual() {
			size = strconv.Itoa(other)
		}
		p.Sizes = append(p.Sizes, views.Tab{Label: strconv.Itoa(other), Href: sized(address(r.URL.Path, q), size), Current: other == n})
	}
	return p
}

// sized is an address with a number of rows, "" for the usual.
func sized(href, size string) string {
	if size == "" {
		return href
	}
	return views.Pager{Size: size}.Keep(href)
}
