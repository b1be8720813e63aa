package outbound_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ironhold/notify/outbound"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func TestPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "::": false, "0.0.0.0": false, "0.1.2.3": false,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "::ffff:10.0.0.1": false, "fd00::1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "2606:4700::1%eth0": false, "100.64.0.1": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "192.0.2.1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "2001:0:1::1": false, "fec0::1": false, "::127.0.0.1": false,
	} {
		if got := outbound.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	open := outbound.New(outbound.Options{Allow: loopback})
	closed := outbound.New(outbound.Options{})
	for _, c := range []struct {
		client *outbound.Client
		url    string
		want   outbound.Reason
	}{
		{closed, "https://hooks.example/a?b=c", ""},
		{closed, "https://hooks.example:8443/", ""},
		{closed, "http://hooks.example/", outbound.BadScheme},
		{open, "http://127.0.0.1:80/", ""},
		{open, "http://8.8.8.8/", outbound.BadAddress},
		{open, "https://10.0.0.1/", outbound.BadAddress},
		{closed, "https://127.0.0.1/", outbound.BadAddress},
		{closed, "https://[::1]/", outbound.BadAddress},
		{closed, "https://[::ffff:169.254.169.254]/", outbound.BadAddress},
		{closed, "", outbound.BadURL},
		{closed, "hooks.example", outbound.BadURL},
		{closed, "https://", outbound.BadURL},
		{closed, "https:hooks.example", outbound.BadURL},
		{closed, "https://a b/", outbound.BadURL},
		{closed, "https://" + strings.Repeat("a", 2000), outbound.BadURL},
		{closed, "ftp://hooks.example/", outbound.BadScheme},
		{closed, "file:///etc/passwd", outbound.BadURL},
		{closed, "https://user:secret@hooks.example/", outbound.BadUser},
		{closed, "https://hooks.example/#x", outbound.BadPart},
	} {
		_, err := c.client.CheckURL(c.url)
		var got outbound.Reason
		if err != nil {
			got = outbound.Why(err)
		}
		if got != c.want {
			t.Errorf("%q: %q, not %q", c.url, got, c.want)
		}
	}
}

// A name is no way round: the address counts that the connection goes to. localhost resolves to
// addresses that are not public, as a name does whose owner rebinds it.
func TestNamesOfPrivateAddressesAreBlocked(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := outbound.New(outbound.Options{RootCAs: pool(server)})
	_, err = c.Post(t.Context(), "https://localhost:"+port+"/", nil, nil)
	if _, ok := errors.AsType[*outbound.Blocked](err); !ok || outbound.Why(err) != outbound.BadAddress {
		t.Errorf("a request to localhost: %v", err)
	}
	// http goes to allowed networks only, also by a name.
	far := outbound.New(outbound.Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}})
	if _, err = far.Post(t.Context(), "http://localhost:"+port+"/", nil, nil); outbound.Why(err) != outbound.BadAddress {
		t.Errorf("http to localhost: %v", err)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("X-Sent"))
		_, _ = w.Write([]byte("fine"))
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/followed", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/followed", func(http.ResponseWriter, *http.Request) { followed.Add(1) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("."))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	c := outbound.New(outbound.Options{Allow: loopback, RootCAs: pool(server), Timeout: 30 * time.Second, MaxAnswer: 100})
	hasty := outbound.New(outbound.Options{Allow: loopback, RootCAs: pool(server), Timeout: time.Second})

	a, err := c.Post(t.Context(), server.URL+"/ok", http.Header{"X-Sent": {"yes"}}, []byte("{}"))
	if err != nil || !a.OK() || string(a.Body) != "fine" || a.Header.Get("X-Seen") != "yes" || a.Truncated {
		t.Errorf("ok: %+v, %v", a, err)
	}
	if a, err = c.Post(t.Context(), server.URL+"/big", nil, nil); err != nil || len(a.Body) != 100 || !a.Truncated {
		t.Errorf("big: %d bytes, %v", len(a.Body), err)
	}
	if a, err = c.Post(t.Context(), server.URL+"/moved", nil, nil); err != nil || a.Status != http.StatusTemporaryRedirect || a.OK() || followed.Load() != 0 {
		t.Errorf("moved: %d, %v, followed %d times", a.Status, err, followed.Load())
	}
	if _, err = hasty.Post(t.Context(), server.URL+"/slow", nil, nil); outbound.Why(err) != outbound.TimedOut {
		t.Errorf("slow: %v", err)
	}
	// The status came; a body without end does not hold us longer than the limit.
	if a, err = hasty.Post(t.Context(), server.URL+"/drip", nil, nil); a.Took > time.Minute || err != nil && outbound.Why(err) != outbound.TimedOut {
		t.Errorf("drip: took %s, %v", a.Took, err)
	}
	strangers := outbound.New(outbound.Options{Allow: loopback})
	if _, err = strangers.Post(t.Context(), server.URL+"/ok", nil, nil); outbound.Why(err) != outbound.BadTLS {
		t.Errorf("an unknown certificate: %v (%s)", err, outbound.Why(err))
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if _, err = c.Post(t.Context(), gone.URL, nil, nil); outbound.Why(err) != outbound.NoAnswer {
		t.Errorf("nobody there: %v", err)
	}
	if _, err = c.Post(t.Context(), "https://name.invalid/", nil, nil); outbound.Why(err) != outbound.BadName && outbound.Why(err) != outbound.TimedOut {
		t.Errorf("no such name: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.Post(ended, server.URL+"/ok", nil, nil); err == nil {
		t.Error("a request under an ended context was sent")
	}
}

// What a proxy of the environment would connect to is out of our sight.
func TestNoProxy(t *testing.T) {
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("HTTP_PROXY", proxy.URL)
	c := outbound.New(outbound.Options{Allow: loopback, Timeout: 5 * time.Second})
	for _, u := range []string{"http://name.invalid/", "https://name.invalid/"} {
		if _, err := c.Post(t.Context(), u, nil, nil); err == nil {
			t.Errorf("%s answered", u)
		}
	}
	if n := proxied.Load(); n != 0 {
		t.Errorf("the proxy was asked %d times", n)
	}
}

func pool(s *httptest.Server) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(s.Certificate())
	return p
}
