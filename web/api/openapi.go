package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ironhold/web/problem"
)

// SpecPath is where the description of the API is.
const SpecPath = Prefix + "/openapi.json"

// document is an OpenAPI 3.1 description.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       info                            `json:"info"`
	Servers    []server                        `json:"servers"`
	Tags       []tag                           `json:"tags"`
	Paths      map[string]map[string]*pathItem `json:"paths"`
	Components components                      `json:"components"`
}

type (
	info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	server struct {
		URL string `json:"url"`
	}
	tag struct {
		Name string `json:"name"`
	}
	components struct {
		Schemas         map[string]*schema        `json:"schemas"`
		SecuritySchemes map[string]securityScheme `json:"securitySchemes"`
	}
	securityScheme struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
	// pathItem is one operation.
	pathItem struct {
		OperationID string                `json:"operationId"`
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description,omitempty"`
		Parameters  []*docParam           `json:"parameters,omitempty"`
		Body        *docBody              `json:"requestBody,omitempty"`
		Responses   map[string]*docAnswer `json:"responses"`
		Security    []map[string][]string `json:"security"`
	}
	docParam struct {
		Name        string  `json:"name"`
		In          string  `json:"in"`
		Description string  `json:"description,omitempty"`
		Required    bool    `json:"required,omitempty"`
		Explode     *bool   `json:"explode,omitempty"`
		Schema      *schema `json:"schema"`
	}
	docBody struct {
		Required bool              `json:"required"`
		Content  map[string]medium `json:"content"`
	}
	docAnswer struct {
		Description string               `json:"description"`
		Headers     map[string]docHeader `json:"headers,omitempty"`
		Content     map[string]medium    `json:"content,omitempty"`
	}
	docHeader struct {
		Description string  `json:"description"`
		Schema      *schema `json:"schema"`
	}
	medium struct {
		Schema *schema `json:"schema"`
	}
)

const about = "Sells physical servers: each machine is given exactly once, and every refusal says why. " +
	"Bodies are JSON in snake_case, times RFC 3339 in UTC, money in minor units with its currency. Unknown, repeated and null members " +
	"are refused, all faults of a request at once. Lists give next_cursor until it is null; rows that come meanwhile move none. " +
	"Refusals are RFC 9457 problem documents; each type is a page that explains it."

// describe makes the document of the routes. closed forbids members that are not described.
func describe(routes []Route, closed bool) document {
	s := &schemas{components: map[string]*schema{}, closed: closed}
	s.problem()
	doc := document{
		OpenAPI: "3.1.0", Info: info{Title: "Ironhold", Version: "1", Description: about}, Servers: []server{{URL: "/"}},
		Paths: map[string]map[string]*pathItem{},
		Components: components{Schemas: s.components, SecuritySchemes: map[string]securityScheme{
			"token": {Type: "http", Scheme: "bearer", Description: "A token of the organisation or of staff: ih_..."},
		}},
	}
	ops := operations()
	for _, rt := range routes {
		op, ok := ops[rt.Method+" "+rt.Pattern]
		if !ok {
			continue
		}
		if !slices.Contains(doc.Tags, tag{op.Tag}) {
			doc.Tags = append(doc.Tags, tag{op.Tag})
		}
		if doc.Paths[rt.Pattern] == nil {
			doc.Paths[rt.Pattern] = map[string]*pathItem{}
		}
		doc.Paths[rt.Pattern][strings.ToLower(rt.Method)] = s.item(rt, op)
	}
	return doc
}

func (s *schemas) item(rt Route, op operation) *pathItem {
	item := &pathItem{
		OperationID: operationID(rt), Tags: []string{op.Tag}, Summary: op.Summary, Description: op.Text,
		Parameters: parameters(rt, op), Responses: map[string]*docAnswer{}, Security: []map[string][]string{},
	}
	if !rt.Public {
		item.Security = append(item.Security, map[string][]string{"token": {}})
	}
	if op.Body != nil {
		item.Body = &docBody{Required: op.Must, Content: map[string]medium{"application/json": {bodySchema(op.Body)}}}
	}
	for status, v := range op.Answers {
		answer := &docAnswer{Description: http.StatusText(status), Content: map[string]medium{"application/json": {s.answer(v)}}}
		if op.Tagged {
			answer.Headers = map[string]docHeader{"ETag": {"Changes with the document", &schema{Type: []string{"string"}}}}
		}
		item.Responses[strconv.Itoa(status)] = answer
	}
	if op.Tagged {
		item.Responses["304"] = &docAnswer{Description: "Not changed since the ETag of If-None-Match"}
	}
	for status, names := range refusals(rt, op) {
		key := strconv.Itoa(status)
		media := medium{refusal(names)}
		if item.Responses[key] == nil {
			item.Responses[key] = &docAnswer{Description: "Refused: " + strings.Join(names, ", "), Content: map[string]medium{}}
		}
		item.Responses[key].Content[problem.ContentType] = media
		if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			item.Responses[key].Headers = map[string]docHeader{"Retry-After": {"Seconds", &schema{Type: []string{"integer"}}}}
		}
	}
	return item
}

func (s *schemas) answer(v any) *schema {
	if _, self := v.(document); self {
		return &schema{Type: []string{"object"}}
	}
	return s.of(reflect.TypeOf(v))
}

// refusals lists the problems that an operation may answer with, by status.
func refusals(rt Route, op operation) map[int][]string {
	names := append([]problem.Name{problem.Internal, problem.Busy, problem.NotAcceptable}, op.Problems...)
	if !rt.Public {
		names = append(names, problem.Unauthenticated, problem.Forbidden, problem.Invalid)
	}
	if strings.Contains(rt.Pattern, "{") {
		names = append(names, problem.NotFound)
	}
	if op.Body != nil {
		names = append(names, problem.TooLarge, problem.UnsupportedMediaType)
	}
	if rt.Begins {
		names = append(names, problem.TooManyRequests)
	}
	out := map[int][]string{}
	add := func(status int, n problem.Name) {
		if !slices.Contains(out[status], string(n)) {
			out[status] = append(out[status], string(n))
		}
	}
	for _, n := range names {
		add(statusOf(n), n)
		if n == problem.Invalid && op.Body != nil {
			add(http.StatusBadRequest, n)
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func refusal(names []string) *schema {
	types := make([]string, len(names))
	for i, n := range names {
		types[i] = "/problems/" + n
	}
	return &schema{AllOf: []*schema{
		{Ref: "#/components/schemas/Problem"}, {Type: []string{"object"}, Properties: map[string]*schema{"type": {Type: []string{"string"}, Enum: types}}},
	}}
}

// problem adds the component of problem documents.
func (s *schemas) problem() {
	s.components["NullTime"] = &schema{Type: []string{"string", "null"}, Format: "date-time"}
	str := func() *schema { return &schema{Type: []string{"string"}} }
	out := &schema{Type: []string{"object"}, Required: []string{"type", "title", "status", "instance", "request_id"}, Properties: map[string]*schema{
		"type": str(), "title": str(), "detail": str(), "instance": str(), "request_id": str(), "status": {Type: []string{"integer"}},
	}}
	for name, p := range out.Properties {
		p.Description = glossary["problem."+name]
	}
	s.members(reflect.TypeFor[problem.Extra](), out)
	if s.closed {
		out.Closed = new(false)
	}
	s.components["Problem"] = out
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

func parameters(rt Route, op operation) []*docParam {
	var list []*docParam
	for _, m := range inPath.FindAllStringSubmatch(rt.Pattern, -1) {
		p := &docParam{Name: m[1], In: "path", Required: true, Description: glossary["path."+m[1]], Schema: &schema{Type: []string{"string"}}}
		if m[1] == "id" {
			p.Schema.Format = "uuid"
		}
		list = append(list, p)
	}
	for _, q := range op.Query {
		p := &docParam{Name: q.name, In: "query", Description: glossary[q.name], Schema: new(q.schema)}
		if q.many {
			p.Schema, p.Explode = &schema{Type: []string{"array"}, Items: p.Schema}, new(true)
		}
		list = append(list, p)
	}
	if op.Key != noKey {
		list = append(list, &docParam{Name: keyHeader, In: "header", Required: op.Key == keyRequired, Description: glossary["key"],
			Schema: &schema{Type: []string{"string"}, MinLength: new(1), MaxLength: new(255), Pattern: "^[!-~]+$"}})
	}
	if op.Tagged {
		list = append(list, &docParam{Name: "If-None-Match", In: "header", Description: glossary["match"], Schema: &schema{Type: []string{"string"}}})
	}
	return list
}

// operationID is a name in camel case: getHoldsId, postHoldsIdExtend.
func operationID(rt Route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(rt.Method))
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(rt.Pattern, Prefix), func(r rune) bool { return strings.ContainsRune("/{}.-_", r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// Spec is the description as it is served; closed forbids what is not described, for tests.
func (a *API) Spec(closed bool) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(describe(a.Routes(), closed)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// openAPI answers with the description.
func (a *API) openAPI(w http.ResponseWriter, r *http.Request) error {
	if err := query(r).done(); err != nil {
		return err
	}
	body, err := a.spec()
	if err != nil {
		return err
	}
	return send(w, r, http.StatusOK, body, etagOf(body))
}
