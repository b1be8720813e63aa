package web

import (
	"net/http"
	"sync"

	"ironhold/views"
	"ironhold/web/api"
)

// apiReference shows the description of the API as a page.
func (s *server) apiReference(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, views.API(apiPage()))
}

// apiPage is the same for everybody and made once.
var apiPage = sync.OnceValue(func() views.APIPage {
	page := views.APIPage{Spec: api.SpecPath}
	for _, d := range api.New(api.Config{}).Reference() {
		op := views.APIOperation{Method: d.Method, Path: d.Path, Summary: d.Summary, Text: d.Text}
		for _, f := range d.Takes {
			op.Takes = append(op.Takes, views.APIField(f))
		}
		for _, a := range d.Answers {
			op.Answers = append(op.Answers, views.APIAnswer(a))
		}
		if n := len(page.Groups); n == 0 || page.Groups[n-1].Name != d.Group {
			page.Groups = append(page.Groups, views.APIGroup{Name: d.Group})
		}
		last := &page.Groups[len(page.Groups)-1]
		last.Operations = append(last.Operations, op)
	}
	return page
})
