package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
)

// Refused says why a URL cannot be a target, before anything is sent.
type Refused struct{ Why Reason }

func (e *Refused) Error() string { return "the URL cannot be used: " + string(e.Why) }

// Blocked says that a name led to an address that requests may not go to.
type Blocked struct{ Addr netip.Addr }

func (e *Blocked) Error() string { return "requests to " + e.Addr.String() + " are not allowed" }

// Reason is why a URL is refused or a request got no answer; the words are keys of texts.
type Reason string

// The reasons. Those up to BadAddress are given for a URL, BadAddress and later for a request.
const (
	BadURL     Reason = "url"         // not a URL, or too long
	BadScheme  Reason = "scheme"      // neither https nor http
	BadUser    Reason = "credentials" // a user or password inside
	BadPart    Reason = "fragment"    // a fragment
	BadAddress Reason = "address"     // not public and not allowed, or http to one that is not allowed
	BadName    Reason = "name"        // the name does not resolve
	BadTLS     Reason = "tls"         // certificate or handshake
	TimedOut   Reason = "timeout"
	NoAnswer   Reason = "connection" // refused, reset, no HTTP
)

// Why sorts the error of a request into what a person can act upon; it tells nothing about the network
// inside.
func Why(err error) Reason {
	if r, ok := errors.AsType[*Refused](err); ok {
		return r.Why
	}
	if _, ok := errors.AsType[*Blocked](err); ok {
		return BadAddress
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return TimedOut
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return BadName
	}
	_, verify := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	if verify || record || alert || host {
		return BadTLS
	}
	return NoAnswer
}
