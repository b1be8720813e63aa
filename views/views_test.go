package views_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/views/sample"
)

// attack must stay text wherever it is shown; package sample puts it into every name.
const attack = `<script>alert("x")</script>'"&{{7*7}}${7*7}`

func dressed(lang string, role string) context.Context {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	ctx := i18n.With(context.Background(), i18n.Locale{Lang: lang, Zone: zone})
	staff := role == "sales" || role == "operator"
	return views.WithShell(ctx, views.Shell{
		Mails: role == "org-admin" || role == "operator",
		Path:  "/offers?cpu=" + attack, RequestID: "abc", Theme: "dark", Notice: attack, Now: sample.Now(),
		Person: &views.Person{Name: attack, Email: "a@b", Role: role, Org: attack, Staff: staff, Can: views.Can{Order: !staff, Desk: staff, Fleet: staff, OrgRollout: role == "org-admin", Launch: staff}},
	})
}

func render(t *testing.T, ctx context.Context, p sample.Page) (*html.Node, string) {
	t.Helper()
	var out bytes.Buffer
	if err := p.Page.Render(ctx, &out); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return doc, out.String()
}

// TestEveryPage renders every page in every state, for every role and language, and checks what
// holds for all of them.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	for _, lang := range append(i18n.Languages(), i18n.Pseudo) {
		for _, role := range []string{"customer", "org-admin", "sales", "operator"} {
			if lang == i18n.Pseudo && role != "customer" {
				continue
			}
			ctx := dressed(lang, role)
			for _, p := range sample.Pages() {
				t.Run(lang+"/"+role+"/"+p.Name, func(t *testing.T) {
					t.Parallel()
					doc, raw := render(t, ctx, p)
					if strings.Contains(raw, "⟦") {
						t.Errorf("missing text: %s", around(raw, "⟦"))
					}
					if i := strings.Index(strings.ReplaceAll(raw, "{{7*7}}${7*7}", ""), "{"); i >= 0 && !scriptTexts(raw) {
						t.Errorf("an argument is not filled in: %s", around(raw, "{"))
					}
					if len(raw) > 50_000 {
						t.Errorf("%d bytes", len(raw))
					}
					checkPage(t, doc)
				})
			}
		}
	}
}

// scriptTexts reports whether the page has texts whose arguments the script fills in.
func scriptTexts(raw string) bool { return strings.Contains(raw, "data-left=") }

func around(s, what string) string {
	i := strings.Index(s, what)
	return s[max(0, i-80):min(len(s), i+80)]
}

// TestTitlesDiffer: no two different pages have the same title.
func TestTitlesDiffer(t *testing.T) {
	t.Parallel()
	ctx := dressed("en", "customer")
	seen := map[string]string{}
	for _, p := range sample.Pages() {
		if strings.HasPrefix(p.Name, "explain-") || strings.HasPrefix(p.Name, "problem-") {
			continue // the same words on purpose: what is explained is what was answered
		}
		doc, _ := render(t, ctx, p)
		kind, _, _ := strings.Cut(p.Name, "-")
		title := text(find(doc, "title")[0])
		if other, ok := seen[title]; ok && other != kind && !(kind == "refused" && other == "hold") && !(kind == "hold" && other == "refused") {
			t.Errorf("%s and %s are both titled %q", other, p.Name, title)
		}
		seen[title] = kind
	}
}

// TestRefusalsAreUnlikeEachOther: words, icon and buttons of any two differ, and colour and icon
// together do.
func TestRefusalsAreUnlikeEachOther(t *testing.T) {
	t.Parallel()
	for _, lang := range i18n.Languages() {
		ctx := dressed(lang, "customer")
		title, lead, look := map[string]string{}, map[string]string{}, map[string]string{}
		for _, name := range sample.Outcomes() {
			doc, _ := render(t, ctx, sample.Page{Page: views.Refused(sample.Refusal(name))})
			main := find(doc, "main")[0]
			if attr(main, "data-outcome") != name {
				t.Errorf("%s: data-outcome is %q", name, attr(main, "data-outcome"))
			}
			verdict := byClass(main, "verdict")[0]
			unique(t, title, text(find(verdict, "h1")[0]), name)
			unique(t, lead, text(byClass(verdict, "lead")[0]), name)
			var path bytes.Buffer
			_ = html.Render(&path, find(verdict, "svg")[0])
			unique(t, look, attr(main, "class")+path.String(), name)
			if len(byClass(main, "button-primary")) != 1 {
				t.Errorf("%s has %d primary actions", name, len(byClass(main, "button-primary")))
			}
			if len(byClass(main, "charged")) != 1 {
				t.Errorf("%s does not say whether anything was charged", name)
			}
			if !strings.Contains(text(main), sample.Refusal(name).Reference) {
				t.Errorf("%s has no reference", name)
			}
		}
	}
}

func unique(t *testing.T, seen map[string]string, value, name string) {
	t.Helper()
	if other, ok := seen[value]; ok {
		t.Errorf("%s and %s share %q", other, name, value)
	}
	seen[value] = name
}

// TestWriteSamples writes the pages as files when SAMPLES names a folder, to look at them.
func TestWriteSamples(t *testing.T) {
	dir := os.Getenv("SAMPLES")
	if dir == "" {
		return
	}
	for _, p := range sample.Pages() {
		_, raw := render(t, dressed("en", "customer"), p)
		if err := os.WriteFile(filepath.Join(dir, p.Name+".html"), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPage is what holds for every page.
func checkPage(t *testing.T, doc *html.Node) {
	t.Helper()
	for name, want := range map[string]int{"h1": 1, "main": 1, "title": 1, "header": -1, "footer": -1} {
		if got := len(find(doc, name)); want > 0 && got != want || want < 0 && got == 0 {
			t.Errorf("%d elements %s", got, name)
		}
	}
	if attr(find(doc, "html")[0], "lang") == "" {
		t.Error("no lang")
	}
	if skip := byClass(doc, "skip"); len(skip) != 1 || attr(skip[0], "href") != "#main" {
		t.Error("no skip link")
	}
	ids := map[string]bool{}
	labels := map[string]bool{}
	each(doc, func(n *html.Node) {
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("the id %q is there twice", id)
			}
			ids[id] = true
		}
		if n.Data == "label" {
			labels[attr(n, "for")] = true
		}
	})
	level := 0
	each(doc, func(n *html.Node) {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("<%s> has the attribute %s", n.Data, a.Key)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("%s=%q leaves the site", a.Key, a.Val)
			}
			if a.Key == "aria-describedby" || a.Key == "aria-labelledby" {
				for id := range strings.FieldsSeq(a.Val) {
					if !ids[id] {
						t.Errorf("%s names %q, which is not there", a.Key, id)
					}
				}
			}
		}
		switch n.Data {
		case "script":
			if attr(n, "src") == "" {
				t.Errorf("inline script: %s", text(n))
			}
		case "style":
			t.Error("inline style sheet")
		case "input", "select", "textarea":
			if k := attr(n, "type"); k == "hidden" || inside(n, "label") {
				return
			}
			if !labels[attr(n, "id")] {
				t.Errorf("the input %q has no label", attr(n, "name"))
			}
			if attr(n, "placeholder") != "" {
				t.Error("placeholder")
			}
		case "table":
			if len(find(n, "caption")) != 1 {
				t.Error("a table without caption")
			}
			for _, th := range find(n, "th") {
				if attr(th, "scope") == "" {
					t.Errorf("a heading without scope: %s", text(th))
				}
			}
		case "button":
			if strings.TrimSpace(text(n)) == "" {
				t.Error("a button without words")
			}
		case "svg":
			if attr(n, "aria-hidden") != "true" {
				t.Error("a picture that is not hidden from screen readers")
			}
		case "h1", "h2", "h3", "h4":
			if l := int(n.Data[1] - '0'); l > level+1 && !inside(n, "footer") {
				if level > 0 {
					t.Errorf("heading %s after level %d: %s", n.Data, level, text(n))
				}
				level = l
			} else {
				level = l
			}
		case "a":
			if h := attr(n, "href"); strings.HasPrefix(h, "#") && !ids[h[1:]] {
				t.Errorf("a link to %q, which is not there", h)
			}
		}
	})
	if forms := find(doc, "form"); slices.ContainsFunc(forms, func(f *html.Node) bool { return inside(f, "form") }) {
		t.Error("a form in a form")
	}
	scripts := find(doc, "script")
	if len(scripts) == 0 || len(scripts) > 3 {
		t.Errorf("%d scripts", len(scripts))
	}
	for _, s := range scripts {
		if !strings.HasPrefix(attr(s, "src"), "/static/") || !strings.HasPrefix(attr(s, "integrity"), "sha384-") {
			t.Errorf("a script from %q with the sum %q", attr(s, "src"), attr(s, "integrity"))
		}
	}
	if primary := byClass(find(doc, "main")[0], "button-primary"); len(primary) > 1 {
		shown := 0
		for _, b := range primary {
			if !hiddenNode(b) {
				shown++
			}
		}
		if shown > 1 {
			t.Errorf("%d primary actions", shown)
		}
	}
}

func hiddenNode(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }) {
			return true
		}
	}
	return false
}

func each(n *html.Node, f func(*html.Node)) {
	if n.Type == html.ElementNode {
		f(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		each(c, f)
	}
}

func find(n *html.Node, name string) (out []*html.Node) {
	each(n, func(e *html.Node) {
		if e.Data == name {
			out = append(out, e)
		}
	})
	return out
}

func byClass(n *html.Node, class string) (out []*html.Node) {
	each(n, func(e *html.Node) {
		if slices.Contains(strings.Fields(attr(e, "class")), class) {
			out = append(out, e)
		}
	})
	return out
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func inside(n *html.Node, name string) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == name {
			return true
		}
	}
	return false
}

func text(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(text(c))
	}
	return b.String()
}
