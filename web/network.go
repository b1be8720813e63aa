package web

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"ironhold/web/request"
)

// So many wrong passwords, or wrong links, of one network are taken in a minute, by this process.
// The count by account, which the database keeps, is the one that decides; this one is for those who
// try one password on many accounts.
const (
	guessLimit    = 60
	allGuessLimit = 600 // of all networks together; beyond, each has but fewGuesses
	fewGuesses    = 5
	guessWindow   = time.Minute
)

// clientAddr is where a request comes from. A header counts only from a trusted proxy, and of its
// list the last address that is no trusted proxy: what stands before it, anybody may have written.
func (s *server) clientAddr(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := at.Addr().Unmap().WithZone("")
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(list) - 1; i >= 0 && s.trusted(addr); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(list[i]))
		if err != nil {
			return addr
		}
		addr = before.Unmap().WithZone("")
	}
	return addr
}

// noteProxy warns once, when a request says that it came through a proxy and none is trusted: then
// all people count as one network, and whoever guesses passwords locks out everybody. Anybody can
// write the header, so it is a hint to the operator and changes nothing.
func (s *server) noteProxy(r *http.Request) {
	if len(s.TrustedProxies) == 0 && r.Header.Get("X-Forwarded-For") != "" && s.behindProxy.CompareAndSwap(false, true) {
		s.Logger.WarnContext(r.Context(), "a request came with X-Forwarded-For, but TRUSTED_PROXIES is not set: behind a proxy all people count as one network",
			"request_id", request.ID(r.Context()), "from", s.network(r))
	}
}

func (s *server) trusted(addr netip.Addr) bool {
	for _, p := range s.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// network is what guesses are counted under: an IPv4 address, or the network of an IPv6 address that
// one customer of a provider has.
func (s *server) network(r *http.Request) string {
	addr := s.clientAddr(r)
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// everyNetwork is what the guesses of all networks are counted under.
const everyNetwork = "all"

// tooManyGuesses reports whether the network has had too many.
func (s *server) tooManyGuesses(r *http.Request) bool {
	_, rate, err := s.guesses.Status(s.network(r))
	limit := guessLimit
	if _, all, err2 := s.allGuesses.Status(everyNetwork); err2 == nil && all >= allGuessLimit-1 {
		limit = fewGuesses
	}
	return err == nil && rate >= float64(limit)
}

func (s *server) countGuess(r *http.Request) {
	s.allGuesses.OnLimit(nowhere{}, r, everyNetwork)
	if s.guesses.OnLimit(nowhere{}, r, s.network(r)) {
		s.Logger.WarnContext(r.Context(), "too many wrong passwords or links", "request_id", request.ID(r.Context()), "network", s.network(r))
	}
}

// nowhere takes the headers of the limiter, which would tell how much is left.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}
