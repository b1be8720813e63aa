package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"ironhold/web/problem"
)

// Acceptable refuses, before it is carried out, a request whose caller does not take JSON. Without an
// Accept header anything is taken.
func Acceptable(r *http.Request) error {
	all := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(all) == "" {
		return nil
	}
	best, found := 0, true
	for one := range strings.SplitSeq(all, ",") {
		kind, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		rank := map[string]int{"*/*": 1, "application/*": 2, "application/json": 3}[kind]
		if rank < max(best, 1) {
			continue
		}
		q := 1.0
		if s, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(s, 64); err != nil {
				q = 1
			}
		}
		best, found = rank, q > 0
	}
	if best == 0 || !found {
		return problem.New(problem.NotAcceptable, "Answers are application/json, and application/problem+json for refusals; the header Accept does not take application/json.")
	}
	return nil
}
