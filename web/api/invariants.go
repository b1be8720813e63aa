package api

import "net/http"

// invariant is one rule with the number of rows that break it.
type invariant struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Violations  int      `json:"violations"`
	Examples    []string `json:"examples"`
}

// invariantReport is what the command doctor prints, too.
type invariantReport struct {
	OK         bool        `json:"ok"`
	Invariants []invariant `json:"invariants"`
}

func (a *API) checkInvariants(w http.ResponseWriter, r *http.Request) error {
	if err := query(r).done(); err != nil {
		return err
	}
	results, err := a.Invariants.Check(r.Context())
	if err != nil {
		return err
	}
	out := invariantReport{OK: true, Invariants: []invariant{}}
	for _, v := range results {
		out.OK = out.OK && v.Violations == 0
		out.Invariants = append(out.Invariants, invariant{Name: v.Name, Description: v.Description, Violations: v.Violations, Examples: filled(v.Examples)})
	}
	return write(w, http.StatusOK, out)
}
