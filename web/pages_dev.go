//go:build dev

package web

import (
	"net/http"

	"ironhold/views/sample"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// devRoutes show every page in every state with made-up contents; /dev/components lists them.
func (s *server) devRoutes() []route {
	return []route{
		{method: http.MethodGet, pattern: "/dev/components", public: true, handle: s.components},
		{method: http.MethodGet, pattern: "/dev/components/{name}", public: true, handle: s.component},
	}
}

func (s *server) components(w http.ResponseWriter, r *http.Request) error {
	var names []string
	for _, p := range sample.Pages() {
		names = append(names, p.Name)
	}
	return s.render(w, r, http.StatusOK, sample.Index(names))
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
