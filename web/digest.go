package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/a-h/templ"

	"ironhold/views"
)

// digestHeader asks for a page's fingerprint instead of the page, and carries it in the answer. So
// a page finds out by itself, under its own address and rights, whether what it shows has changed.
const digestHeader = "Ironhold-Digest"

func digestAsked(r *http.Request) bool { return r.Header.Get(digestHeader) != "" }

// renderLive is render for a page that says when shown, the part of it that may change, is not as
// it was. kind names what the page calls it: "stock" or "list".
func (s *server) renderLive(w http.ResponseWriter, r *http.Request, kind string, shown any, page templ.Component) error {
	text, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	digest := base64.RawURLEncoding.EncodeToString(sum[:12])
	if digestAsked(r) {
		w.Header().Set(digestHeader, digest)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	r = r.WithContext(views.WithLive(r.Context(), views.Live{Kind: kind, Events: "/events", Digest: digest}))
	return s.render(w, r, http.StatusOK, page)
}

// renderHold is render for a page about a hold that can still change.
func (s *server) renderHold(w http.ResponseWriter, r *http.Request, m views.HoldPage, page templ.Component) error {
	if m.State == "held" {
		r = r.WithContext(views.WithLive(r.Context(), views.Live{Kind: "hold", Events: "/events?hold=" + m.ID}))
	}
	return s.render(w, r, http.StatusOK, page)
}
