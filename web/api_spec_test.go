package web

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"ironhold/web/api"
)

// closedSpec checks against the description in which nothing may be that is not described.
var closedSpec = sync.OnceValues(func() (validator.Validator, error) {
	body, err := api.New(api.Config{}).Spec(true)
	if err != nil {
		return nil, err
	}
	doc, err := libopenapi.NewDocument(body)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
})

// described holds an answer of the API against its description; every answer of these tests goes
// through here.
func (a answer) described(r *http.Request) {
	a.t.Helper()
	if !strings.HasPrefix(r.URL.Path, api.Prefix+"/") || r.Method == http.MethodHead || r.Method == http.MethodOptions || strings.HasSuffix(r.URL.Path, "/") {
		return
	}
	v, err := closedSpec()
	if err != nil {
		a.t.Fatal(err)
	}
	res := &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}
	if ok, faults := v.ValidateHttpResponse(r, res); !ok {
		for _, f := range faults {
			if f.IsPathMissingError() && a.status == http.StatusNotFound || f.IsOperationMissingError() && a.status == http.StatusMethodNotAllowed {
				continue // what is no operation is described nowhere
			}
			a.t.Errorf("%s: %d is not as described: %s: %s %v\n%.600s", a.what, a.status, f.Message, f.Reason, f.SchemaValidationErrors, a.body)
		}
	}
}

// The document is valid OpenAPI, and has the router's operations: all of them and no other.
func TestSpecHasEveryRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v, err := closedSpec()
	if err != nil {
		t.Fatal(err)
	}
	if ok, faults := v.ValidateDocument(); !ok {
		for _, f := range faults {
			t.Errorf("%s: %s", f.Message, f.Reason)
		}
	}
	a := s.do(stranger, "GET", api.SpecPath, nil).want(200)
	if a.text("openapi") != "3.1.0" {
		t.Errorf("openapi: %s", a.text("openapi"))
	}
	var described, routed []string
	for path, item := range a.at("paths").(map[string]any) {
		for method := range item.(map[string]any) {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for _, rt := range s.server.routes {
		if rt.api {
			routed = append(routed, rt.method+" "+rt.pattern)
		}
	}
	slices.Sort(described)
	slices.Sort(routed)
	if !slices.Equal(described, routed) {
		t.Errorf("described:\n%s\nrouted:\n%s\nadd what is missing to operations() of web/api", strings.Join(described, "\n"), strings.Join(routed, "\n"))
	}
	if b := s.do(stranger, "GET", api.SpecPath, nil, "If-None-Match", a.header.Get("ETag")).want(304); len(b.body) > 0 {
		t.Errorf("304 with a body: %s", b.body)
	}
}

// Every problem that an operation may answer with is in the page for people, with its status.
func TestProblemsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, d := range api.New(api.Config{}).Reference() {
		for _, a := range d.Answers {
			for _, name := range a.Problems {
				seen++
				if !regexp.MustCompile(name + "`[ (|]+([0-9]+, )?" + a.Status).Match(text) {
					t.Errorf("%s %s: %s with status %s is not documented", d.Method, d.Path, name, a.Status)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d problems are described", seen)
	}
}

// What is described as taken is taken, and nothing else: the refusal of an unknown member or
// parameter lists what is allowed.
func TestSpecHasEveryParameter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	doc := s.do(stranger, "GET", api.SpecPath, nil).want(200)
	hold := s.exampleHold()
	for _, op := range operationsOf(doc) {
		who := op.caller()
		if names := op.names("query"); len(names) > 0 {
			a := s.do(who, op.method, op.at(hold)+"?zzz=1", op.emptyBody(), "Idempotency-Key", "q")
			if got := allowedIn(a.faults(422)["zzz"]); !slices.Equal(got, names) {
				t.Errorf("%s: parameters %v are described, %v are taken", op, names, got)
			}
		}
		if names, ok := op.members(); ok {
			a := s.do(who, op.method, op.at(hold), `{"zzz":1}`, "Idempotency-Key", "b")
			if got := allowedIn(a.faults(422)["zzz"]); !slices.Equal(got, names) {
				t.Errorf("%s: members %v are described, %v are taken", op, names, got)
			}
		}
	}
}

func allowedIn(message string) []string {
	_, list, ok := strings.Cut(message, "allowed are ")
	if !ok {
		return nil
	}
	names := strings.Split(list, ", ")
	slices.Sort(names)
	return names
}

// The check checks: an answer with a member too many, one too few, or of another type is noticed.
func TestSpecNoticesDifferences(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hold := s.exampleHold().hold
	v, err := closedSpec()
	if err != nil {
		t.Fatal(err)
	}
	good := s.do(customer, "GET", "/api/v1/holds/"+hold, nil).want(200)
	for _, c := range []struct {
		old, new string
		ok       bool
	}{
		{`"terms":`, `"terms":`, true}, {`"terms":`, `"surprise":1,"terms":`, false}, {`"expires_at":`, `"ends_at":`, false},
		{`"extended_at":null`, `"extended_at":5`, false}, {`"state":"held"`, `"state":"sold"`, false}, {`"amount_minor":4000`, `"amount_minor":"4000"`, false},
	} {
		if !strings.Contains(string(good.body), c.old) {
			t.Fatalf("no %s in %s", c.old, good.body)
		}
		r, _ := http.NewRequestWithContext(t.Context(), "GET", s.http.URL+"/api/v1/holds/"+hold, nil)
		body := strings.Replace(string(good.body), c.old, c.new, 1)
		ok, _ := v.ValidateHttpResponse(r, &http.Response{StatusCode: 200, Header: good.header, Body: io.NopCloser(strings.NewReader(body))})
		if ok != c.ok {
			t.Errorf("%s instead of %s: accepted %v", c.new, c.old, ok)
		}
	}
}
