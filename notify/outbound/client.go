package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Options bound what a client may do. Zero values take the defaults named beside them.
type Options struct {
	Allow     []netip.Prefix // networks that requests may go to although they are not public; http only there
	Timeout   time.Duration  // 10 s, for the whole exchange
	MaxAnswer int            // 4096 bytes of the answer's body are kept, the rest is not read
	RootCAs   *x509.CertPool // nil: the system's
}

// maxURL bounds the length of a target, in bytes.
const maxURL = 2000

// Client sends requests. It is safe for concurrent use.
type Client struct {
	opt  Options
	http *http.Client
}

// Answer is what the other side said. Status is that of a redirect when it was one.
type Answer struct {
	Status    int
	Body      []byte // at most MaxAnswer bytes
	Truncated bool
	Header    http.Header
	Took      time.Duration
}

// OK reports a status from 200 to 299.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status <= 299 }

// New makes a client.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = 4096
	}
	c := &Client{opt: o}
	c.http = &http.Client{
		Transport:     byScheme{https: c.transport(c.mayUse), http: c.transport(c.mayUsePlain)},
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// byScheme keeps a transport for each: unprotected requests go to fewer addresses.
type byScheme struct{ https, http *http.Transport }

func (b byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.URL.Scheme {
	case "https":
		return b.https.RoundTrip(r)
	case "http":
		return b.http.RoundTrip(r)
	}
	return nil, &Refused{BadScheme}
}

func (c *Client) transport(may func(netip.Addr) bool) *http.Transport {
	dialer := &net.Dialer{Timeout: c.opt.Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		// Here the name has been resolved, and this is the address that the connection goes to.
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		if !may(to.Addr()) {
			return &Blocked{to.Addr()}
		}
		return nil
	}}
	return &http.Transport{
		Proxy:                  nil, // a proxy would connect for us, to where we must not
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.opt.RootCAs},
		TLSHandshakeTimeout:    c.opt.Timeout,
		ResponseHeaderTimeout:  c.opt.Timeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true,
		DisableCompression:     true, // what is cut to size is what was sent
		ForceAttemptHTTP2:      true,
	}
}

func (c *Client) mayUse(a netip.Addr) bool { return Public(a) || Contains(c.opt.Allow, a) }

func (c *Client) mayUsePlain(a netip.Addr) bool { return Contains(c.opt.Allow, a) }

// CheckURL reads a target as somebody typed it. What can be said without asking the network is
// answered here as a *Refused; where a name leads is looked at when a request is sent.
func (c *Client) CheckURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Hostname() == "" || u.Opaque != "" || strings.ContainsAny(text, " \t\r\n") {
		return nil, &Refused{BadURL}
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, &Refused{BadScheme}
	case u.User != nil:
		return nil, &Refused{BadUser}
	case u.Fragment != "":
		return nil, &Refused{BadPart}
	}
	may := c.mayUse
	if u.Scheme == "http" {
		may = c.mayUsePlain
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !may(a) {
		return nil, &Refused{BadAddress}
	}
	if u.Scheme == "http" && len(c.opt.Allow) == 0 {
		return nil, &Refused{BadScheme}
	}
	return u, nil
}

// Post sends body and reads the answer, whatever its status. An error means that there was none; Why
// sorts it.
func (c *Client) Post(ctx context.Context, target string, header http.Header, body []byte) (Answer, error) {
	u, err := c.CheckURL(target)
	if err != nil {
		return Answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("request: %w", err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	begun := time.Now() //nolint:forbidigo // a duration
	resp, err := c.http.Do(r)
	if err != nil {
		return Answer{Took: time.Since(begun)}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	// The status counts although the body breaks off.
	a.Body, _ = io.ReadAll(io.LimitReader(resp.Body, int64(c.opt.MaxAnswer)+1))
	if len(a.Body) > c.opt.MaxAnswer {
		a.Body, a.Truncated = a.Body[:c.opt.MaxAnswer], true
	}
	a.Took = time.Since(begun)
	return a, nil
}
