package web

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// knownFor is how long this process remembers who was signed in, knownMost how many of them.
const (
	knownFor  = 15 * time.Minute
	knownMost = 10_000
)

// known remembers who was signed in by which session, by the hash of its token: enough to show the
// last catalogue while the database is away, and good for nothing else.
type known struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]knownActor
}

type knownActor struct {
	actor accounts.Actor
	at    time.Time
}

func (k *known) remember(token string, actor accounts.Actor) {
	if token == "" {
		return
	}
	now := time.Now() //nolint:forbidigo // the age of a copy in this process
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil || len(k.seen) >= knownMost {
		fresh := map[[sha256.Size]byte]knownActor{}
		for key, v := range k.seen {
			if now.Sub(v.at) < knownFor && len(fresh) < knownMost/2 {
				fresh[key] = v
			}
		}
		k.seen = fresh
	}
	k.seen[sha256.Sum256([]byte(token))] = knownActor{actor, now}
}

func (k *known) forget(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.seen, sha256.Sum256([]byte(token)))
}

func (k *known) recall(token string) (accounts.Actor, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.seen[sha256.Sum256([]byte(token))]
	return v.actor, ok && time.Since(v.at) < knownFor //nolint:forbidigo // see remember
}

// offersFromMemory answers the catalogue as it was last read when the database is away, to whom
// this process knows to have been signed in a moment ago. It says that it is old and offers no
// order. False when it did not answer.
func (s *server) offersFromMemory(w http.ResponseWriter, r *http.Request, cause error) bool {
	if r.URL.Path != "/offers" || r.Method != http.MethodGet && r.Method != http.MethodHead || !pg.Away(cause) {
		return false
	}
	actor, ok := s.pages.known.recall(s.cookie(r, "session"))
	if !ok {
		return false
	}
	info := request.From(r.Context())
	info.Actor, info.Known = actor, true
	ctx := i18n.With(r.Context(), s.locale(r))
	query := r.URL.Query()
	a := readAsk(ctx, s.lastChoices(), query)
	a.request.Machine, a.form.Machine = "", ""
	at := catalogue{sort: query.Get("sort"), req: a.request}
	if !slices.Contains(allocator.Sorts(), at.sort) {
		at.sort = ""
	}
	list, age, ok := s.Allocator.LastOffers(allocator.OfferQuery{Request: at.req, Sort: at.sort})
	if !ok {
		return false
	}
	if at.sort == "" {
		availableFirst(list.Items)
	}
	if err := s.renderStale(w, r.WithContext(ctx), at, a, list, age); err != nil {
		s.fail(w, r, false, err)
	}
	s.Logger.WarnContext(ctx, "offers from memory", "request_id", info.ID, "age", age.String(), "error", cause.Error())
	return true
}

func (s *server) renderStale(w http.ResponseWriter, r *http.Request, at catalogue, a asked, list allocator.Offers, age time.Duration) error {
	s.pages.mu.Lock()
	c := s.pages.choices // however old
	s.pages.mu.Unlock()
	m := views.OffersPage{
		Form: a.form, Ask: askOf(at.req), Faults: a.faults, Total: len(list.Items), AsOf: list.AsOf, Sort: at.sort, Sorts: at.sortLinks(),
		Filtered: len(formValues(at.req, "")) > 0, Here: at.url(1), Stale: true, Age: max(age, time.Second),
	}
	m.Form.Faults = a.faults
	c.fill(&m.Form, a.request)
	for i := range list.Items {
		m.Free += list.Items[i].Free
	}
	at.turnPage(r, &m)
	for _, o := range list.Items[max(m.From-1, 0):m.To] {
		m.Items = append(m.Items, offerOf(o, c))
	}
	return s.render(w, r, http.StatusOK, views.Offers(m))
}
