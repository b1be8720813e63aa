package web

import (
	"net/http"

	"ironhold/accounts"
	"ironhold/web/problem"
)

// JobsPrefix is where the pages of the jobs are mounted.
const JobsPrefix = "/admin/jobs"

// jobsPolicy lets the pages of the jobs load what they bring along, and nothing from elsewhere. They
// set styles by script, which the policy of all other pages refuses.
const jobsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"

// jobRoutes are the pages of the jobs, for operators, behind the session and the protection against
// other sites' forms like every page.
func (s *server) jobRoutes() []route {
	var list []route
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, pattern := range []string{JobsPrefix, JobsPrefix + "/*"} {
			list = append(list, route{method: method, pattern: pattern, function: accounts.ManageJobs, handle: s.jobs})
		}
	}
	return list
}

func (s *server) jobs(w http.ResponseWriter, r *http.Request) error {
	if s.Jobs == nil {
		return problem.NoSuch()
	}
	w.Header().Set("Content-Security-Policy", jobsPolicy)
	s.Jobs.ServeHTTP(w, r)
	return nil
}
