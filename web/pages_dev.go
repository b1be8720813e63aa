//go:build dev

package web

import (
	"net/http"

	"ironhold/views/sample"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// devRoutes show every page in every state with made-up contents: /dev/components/NAME.
func (s *server) devRoutes() []route {
	return []route{{method: http.MethodGet, pattern: "/dev/components/{name}", public: true, handle: s.component}}
}

func (s *server) component(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "name")
	for _, p := range sample.Pages() {
		if p.Name == name {
			return s.render(w, r, http.StatusOK, p.Page)
		}
	}
	return problem.NoSuch()
}
