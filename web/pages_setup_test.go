package web

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"ironhold/accounts"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

const password = "a password for tests"

// browser is a person with a cookie jar; it does not follow redirects by itself.
type browser struct {
	s      *site
	client *http.Client
	header http.Header
}

// page is an answer with its parsed document.
type page struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	raw    string
	doc    *html.Node
}

func (s *site) stranger() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &browser{s: s, header: http.Header{}, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// person adds somebody and signs them in.
func (s *site) person(name string, role accounts.Role, org string) *browser {
	s.t.Helper()
	email := strings.ToLower(string(role)) + "-" + org + "@example.com"
	_, err := s.server.Accounts.AddUser(s.t.Context(), pg.By{Actor: "test"}, accounts.NewUser{
		Email: email, Name: name, Role: role, OrgSlug: org, Password: password,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	b := s.stranger()
	b.post("/sign-in", "email", email, "password", password).want(http.StatusSeeOther)
	return b
}

func (b *browser) do(method, path string, body io.Reader) page {
	b.s.t.Helper()
	if body != nil {
		b.header.Set("Content-Type", "application/x-www-form-urlencoded")
		defer b.header.Del("Content-Type")
	}
	return b.raw(method, path, body)
}

// raw sends a body of whatever type the header says.
func (b *browser) raw(method, path string, body io.Reader) page {
	b.s.t.Helper()
	r, err := http.NewRequestWithContext(b.s.t.Context(), method, b.s.http.URL+path, body)
	if err != nil {
		b.s.t.Fatal(err)
	}
	for k, v := range b.header {
		r.Header[k] = v
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.s.t.Fatal(err)
	}
	doc, err := html.Parse(bytes.NewReader(raw))
	if err != nil {
		b.s.t.Fatal(err)
	}
	return page{t: b.s.t, what: method + " " + path, status: resp.StatusCode, header: resp.Header, raw: string(raw), doc: doc}
}

func (b *browser) get(path string) page { b.s.t.Helper(); return b.do("GET", path, nil) }

func (b *browser) post(path string, pairs ...string) page {
	b.s.t.Helper()
	f := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		f.Add(pairs[i], pairs[i+1])
	}
	return b.do("POST", path, strings.NewReader(f.Encode()))
}

// follow goes where a redirect leads, until a page comes.
func (b *browser) follow(p page) page {
	b.s.t.Helper()
	for range 5 {
		if p.status != http.StatusSeeOther {
			return p
		}
		p = b.get(p.header.Get("Location"))
	}
	b.s.t.Fatalf("%s: too many redirects", p.what)
	return p
}

// submit sends the form of the page whose action ends so, with its hidden fields and more.
func (b *browser) submit(p page, action string, pairs ...string) page {
	b.s.t.Helper()
	for _, f := range p.find("form") {
		if !strings.HasSuffix(attrOf(f, "action"), action) {
			continue
		}
		var all []string
		for _, i := range findIn(f, "input") {
			if attrOf(i, "type") == "hidden" {
				all = append(all, attrOf(i, "name"), attrOf(i, "value"))
			}
		}
		all = append(all, pairs...)
		if attrOf(f, "method") == "post" {
			return b.post(attrOf(f, "action"), all...)
		}
		q := url.Values{}
		for i := 0; i < len(all); i += 2 {
			q.Add(all[i], all[i+1])
		}
		return b.get(attrOf(f, "action") + "?" + q.Encode())
	}
	b.s.t.Fatalf("%s: no form for %s", p.what, action)
	return p
}

// review is the review of an order, with its key.
func (b *browser) review(query string) page {
	b.s.t.Helper()
	return b.follow(b.get("/order?step=review&" + query)).want(http.StatusOK)
}

// order holds a machine and returns its page's path.
func (b *browser) order(query string) string {
	b.s.t.Helper()
	return b.submit(b.review(query), "/order").want(http.StatusSeeOther).header.Get("Location")
}

func (p page) want(status int) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s: status %d, want %d: %s", p.what, p.status, status, p.outline())
	}
	return p
}

// outcome checks status and data-outcome.
func (p page) outcome(status int, name string) page {
	p.t.Helper()
	p.want(status)
	if got := attrOf(p.find("main")[0], "data-outcome"); got != name {
		p.t.Fatalf("%s: outcome %q, want %q: %s", p.what, got, name, p.outline())
	}
	return p
}

func (p page) outline() string {
	text := strings.Join(strings.Fields(textOf(p.doc)), " ")
	return text[:min(len(text), 600)]
}

func (p page) find(element string) []*html.Node { return findIn(p.doc, element) }

func (p page) says(words string) page {
	p.t.Helper()
	if !strings.Contains(strings.Join(strings.Fields(textOf(p.doc)), " "), words) {
		p.t.Errorf("%s does not say %q: %s", p.what, words, p.outline())
	}
	return p
}

func (p page) lacks(words string) page {
	p.t.Helper()
	if strings.Contains(p.outline(), words) {
		p.t.Errorf("%s says %q", p.what, words)
	}
	return p
}

// links are the addresses that the page's main part leads to.
func (p page) links() (out []string) {
	for _, a := range findIn(p.find("main")[0], "a") {
		out = append(out, attrOf(a, "href"))
	}
	return out
}

func findIn(n *html.Node, element string) (out []*html.Node) {
	if n.Type == html.ElementNode && n.Data == element {
		out = append(out, n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out = append(out, findIn(c, element)...)
	}
	return out
}

func attrOf(n *html.Node, key string) string {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return n.Attr[i].Val
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	if n.Type == html.ElementNode && (n.Data == "script" || n.Data == "title") {
		return ""
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(textOf(c) + " ")
	}
	return b.String()
}

func by() pg.By { return pg.By{Actor: "test"} }

func userID(t *testing.T, s *site, email string) uuid.UUID {
	t.Helper()
	return fixture.Get[uuid.UUID](t, s.owner, "select id from users where email = $1", email)
}
