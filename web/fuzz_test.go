package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// FuzzOrderForm reads anything as the form of an order: what is read without a fault comes back the same
// from the address that the form's links lead to.
func FuzzOrderForm(f *testing.F) {
	for _, s := range []string{
		"", "cpu=EPYC&min_ram_gb=64&site=FSN1&site=HEL1&ecc=true&max_price=33%2C50", "min_cores=1e5", "max_price=1.234,56", "max_price_minor=-1",
		"cpu=a&cpu=b", "ecc=maybe", "feature=%00", "min_ram_gb=%C2%A064", "machine=%ff", "x=1", "key=k&org=acme&step=review", "max_price=%E2%82%AC5", ";=&%zz",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		in, _ := url.ParseQuery(raw)
		a := readAsk(t.Context(), choices{}, in, "step", "sort")
		for _, fault := range a.faults {
			if !utf8.ValidString(fault.Message) || strings.Contains(fault.Message, "⟦") {
				t.Fatalf("a fault that cannot be shown: %q", fault.Message)
			}
		}
		if len(a.faults) > 0 {
			return
		}
		again := readAsk(t.Context(), choices{}, formValues(a.request, a.org), "step", "sort")
		if len(again.faults) > 0 || !reflect.DeepEqual(again.request, a.request) || again.org != a.org {
			t.Fatalf("%q: %+v became %+v, %v", raw, a.request, again.request, again.faults)
		}
	})
}

// FuzzRead asks every page and every document for reading with anything in the address, the cookies and
// the headers, as whoever: never a fault of ours, and nothing that cannot be shown.
func FuzzRead(f *testing.F) {
	s := newSite(f)
	fixture.Equal(f, s.owner, "m", 3)
	cookies := []string{""}
	for _, p := range []struct {
		role accounts.Role
		org  string
	}{{accounts.OrgAdmin, "acme"}, {accounts.Sales, ""}, {accounts.Operator, ""}} {
		b := s.person("Person", p.role, p.org)
		at, err := url.Parse(s.http.URL)
		if err != nil {
			f.Fatal(err)
		}
		var all []string
		for _, c := range b.client.Jar.Cookies(at) {
			all = append(all, c.String())
		}
		cookies = append(cookies, strings.Join(all, "; "))
	}
	tokens := []string{s.tokens[customer], s.tokens[operator], s.tokens[sales]}
	var routes []route
	for _, r := range s.server.routes {
		if r.method == http.MethodGet && r.pattern != "/events" { // its answer has no end
			routes = append(routes, r)
		}
	}
	slices.SortFunc(routes, func(a, b route) int { return strings.Compare(a.pattern, b.pattern) })
	for i := range routes {
		f.Add(uint8(i), uint8(i), "after=%00&q=%ff&page=-1&site=x&cursor=aGVsbG8&limit=1e9&from=2026-13-01&sort=-price", "%2f..", "de;q=0.x, *", "")
		f.Add(uint8(i), uint8(i+1), "q=m-1&status=ready&outcome=held&min_ram_gb=64&class=1&class=x&token=t&upload=1&show=people", "m-1", "zz-ZZ, en;q=1", "theme=dark; language=tlh; session=x; =; \"")
	}
	handler := s.http.Config.Handler
	f.Fuzz(func(t *testing.T, n, who uint8, query, segment, language, cookie string) {
		if strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) ||
			!httpguts.ValidHeaderFieldValue(language) || !httpguts.ValidHeaderFieldValue(cookie) {
			return // the server refuses it before us
		}
		rt := routes[int(n)%len(routes)]
		path := rt.pattern
		for {
			before, rest, ok := strings.Cut(path, "{")
			if !ok {
				break
			}
			_, after, _ := strings.Cut(rest, "}")
			path = before + url.PathEscape(segment) + after
		}
		path = strings.Replace(path, "*", url.PathEscape(segment), 1)
		u, err := url.Parse(path)
		if err != nil {
			return
		}
		u.RawQuery = query
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL, r.RequestURI = u, u.RequestURI()
		r.Header.Set("Accept-Language", language)
		if own := cookies[int(who)%len(cookies)]; cookie != "" {
			r.Header.Set("Cookie", cookie)
		} else if own != "" {
			r.Header.Set("Cookie", own)
		}
		if rt.api {
			r.Header.Set("Authorization", "Bearer "+tokens[int(who)%len(tokens)])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code == http.StatusInternalServerError || strings.Contains(body, "⟦") || !utf8.ValidString(body) && strings.Contains(w.Header().Get("Content-Type"), "utf-8") {
			t.Fatalf("%s %q, cookie %q, language %q: %d %.400s", path, query, cookie, language, w.Code, body)
		}
	})
}

// FuzzForms sends anything as the forms that strangers and customers have.
func FuzzForms(f *testing.F) {
	s := newSite(f)
	fixture.Equal(f, s.owner, "m", 3)
	b := s.person("Person", accounts.OrgAdmin, "acme")
	at, err := url.Parse(s.http.URL)
	if err != nil {
		f.Fatal(err)
	}
	cookie := ""
	for _, c := range b.client.Jar.Cookies(at) {
		cookie = c.String()
	}
	for i := range uint8(3) {
		for _, body := range []string{"", "key=k1&cpu=x", "key=k2", "key=%00&org=%ff&min_cores=-1", "next=//evil.example&language=de&theme=dark", "next=/%0d%0a&theme=x", "cpu=%00", "key=" + strings.Repeat("k", 300), "site=%e2%80%ae", "&&==%"} {
			f.Add(i, body)
		}
	}
	handler := s.http.Config.Handler
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		path := []string{"/order", "/preferences", "/order?step=review"}[int(n)%3]
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError || strings.Contains(w.Body.String(), "⟦") {
			t.Fatalf("%s %q: %d %.400s", path, body, w.Code, w.Body)
		}
		if to := w.Header().Get("Location"); to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
			t.Fatalf("%s %q leads to %q", path, body, to)
		}
	})
}
