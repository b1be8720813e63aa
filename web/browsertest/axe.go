package browsertest

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed testdata/axe.min.js
var axeSource string

// violation is one rule of axe that a page breaks.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string   `json:"html"`
		Target  []string `json:"target"`
		Summary string   `json:"summary"`
	} `json:"nodes"`
}

// axeScript asks for every rule of WCAG 2.2 AA and the good practices beside it, and for what
// matters in a report alone.
const axeScript = `(async () => {
	const r = await axe.run(document, %s);
	return r.violations.map(v => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 5).map(n =>
		({html: n.html.slice(0, 200), target: n.target.map(String), summary: n.failureSummary.replace(/\s+/g, " ")}))}));
})()`

// Axe fails the test for every violation on the page as it is now. Rules limit it to some.
func (tab *Tab) Axe(what string, rules ...string) {
	tab.t.Helper()
	if !Eval[bool](tab, `typeof axe === "object"`) {
		Eval[bool](tab, axeSource+"\n;true")
	}
	options := `{resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}`
	if len(rules) > 0 {
		options = fmt.Sprintf(`{resultTypes: ["violations"], runOnly: {type: "rule", values: %s}}`, quoteAll(rules))
	}
	for _, v := range Eval[[]violation](tab, fmt.Sprintf(axeScript, options)) {
		var b strings.Builder
		for _, n := range v.Nodes {
			fmt.Fprintf(&b, "\n    %s\n      %s\n      %s", strings.Join(n.Target, " "), n.HTML, n.Summary)
		}
		tab.t.Errorf("axe, %s: %s (%s): %s%s", what, v.ID, v.Impact, v.Help, b.String())
	}
}

func quoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
