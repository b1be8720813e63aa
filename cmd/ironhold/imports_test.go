package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed lists, for each package of ours, which others of ours it imports directly, tests apart.
// A package that is not in this table fails the test: decide where it belongs.
var allowed = map[string][]string{
	"migrations/pg":       {},
	"migrations":          {"migrations/pg"},
	"migrations/pgembed":  {"migrations/pg"},
	"accounts":            {"migrations/pg"},
	"fleet":               {"migrations/pg"},
	"holds":               {"fleet", "accounts", "migrations/pg"},
	"holds/invariants":    {"migrations", "migrations/pg"},
	"holds/watch":         {"holds/invariants", "fleet", "migrations/pg"},
	"provision":           {"provision/driver", "holds", "fleet", "accounts", "migrations/pg"},
	"provision/driver":    {},
	"provision/simulated": {"provision/driver"},
	"provision/redfish":   {"provision/driver", "notify/outbound", "fleet"},
	"provision/webhook":   {"provision/driver", "notify/outbound", "notify/sign"},
	"notify":              {"notify/*", "holds", "fleet", "accounts", "migrations/pg", "views/i18n"},
	"notify/outbound":     {},
	"notify/sign":         {},
	"notify/mailcatch":    {},
	"notify/smtp":         {"notify"},
	"allocator":           {"holds", "fleet", "accounts", "migrations/pg"},
	"desk":                {"allocator", "migrations/pg"},
	"rollout":             {"accounts", "allocator", "migrations/pg"},
	"client":              {},
	"static":              {},
	"views":               {"views/*", "static"},
	"views/*":             {"views", "views/*", "static"},
	"web":                 {"*"},
	"web/*":               {"*"},
	"cmd/ironhold":        {"*"},
	// How the server is.
	"migrations/pg/vitals": {"migrations/pg"},
	// How far long work is.
	"progress": {},

	// Tools of the developers, not part of the product.
	"migrations/pgtest":        {"*"},
	"migrations/pgtest/*":      {"*"},
	"web/browsertest":          {"*"},
	"cmd/ironhold-bench":       {"*"},
	"cmd/ironhold-load":        {},
	"cmd/ironhold-bench/bench": {"*"},
	"cmd/ironhold-prove":       {"*"},
	"cmd/ironhold-prove/*":     {"*"},
}

// nobody imports these but the tools.
var toolsOnly = []string{"migrations/pgtest", "migrations/pgtest/*", "web/browsertest", "cmd/*", "cmd/*/*"}

const module = "ironhold/"

func TestImportsGoDownwardsOnly(t *testing.T) {
	t.Parallel()
	for _, line := range goList(t, "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "ironhold/...") {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], module)
		may, known := rule(pkg)
		if !known {
			t.Errorf("package %s is not in the table of allowed imports", pkg)
			continue
		}
		for _, imported := range words[1:] {
			other, ours := strings.CutPrefix(imported, module)
			switch {
			case !ours:
			case !matches(may, other):
				t.Errorf("%s imports %s, which design and table do not allow", pkg, other)
			case matches(toolsOnly, other) && !matches(toolsOnly, pkg):
				t.Errorf("%s imports %s, a tool of the developers", pkg, other)
			case other == "rollout" && !strings.HasPrefix(pkg, "web") && !strings.HasPrefix(pkg, "cmd/"):
				t.Errorf("%s imports rollout, which web and cmd alone may", pkg)
			}
		}
	}
}

// What must not be linked in, by whatever way.
func TestLinkedPackages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg       string
		forbidden []string
		why       string
	}{
		{"cmd/ironhold", []string{module + "migrations/pgtest", "testing", "github.com/stretchr/"}, "the binary holds no test helpers"},
		{"holds", []string{module + "rollout", "github.com/open-feature/"}, "deadlines and the sweep have no flag"},
		{"allocator", []string{module + "rollout", "github.com/open-feature/"}, "the allocator knows no flag, only a precondition"},
		{"views", []string{"github.com/jackc/", module + "holds", module + "allocator", module + "accounts", module + "fleet"}, "views know no domain"},
	} {
		for _, dep := range goList(t, "-deps", module+c.pkg) {
			for _, f := range c.forbidden {
				if dep == strings.TrimSuffix(f, "/") || strings.HasPrefix(dep, strings.TrimSuffix(f, "/")+"/") && f != "testing" {
					t.Errorf("%s depends on %s: %s", c.pkg, dep, c.why)
				}
			}
		}
	}
}

func rule(pkg string) ([]string, bool) {
	if may, ok := allowed[pkg]; ok {
		return may, true
	}
	for pattern, may := range allowed {
		if strings.HasSuffix(pattern, "/*") && matches([]string{pattern}, pkg) {
			return may, true
		}
	}
	return nil, false
}

func matches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return p == "*" || p == pkg || strings.HasSuffix(p, "/*") && strings.HasPrefix(pkg, strings.TrimSuffix(p, "*"))
	})
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		detail := ""
		if exit, ok := err.(*exec.ExitError); ok {
			detail = string(exit.Stderr)
		}
		t.Fatalf("go list: %v %s", err, detail)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
