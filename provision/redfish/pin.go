package redfish

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"ironhold/fleet"
	"ironhold/notify/outbound"
	"ironhold/provision/driver"
)

// StrangerError says that a BMC showed another certificate than the inventory has.
type StrangerError struct{ Address, Got string }

func (e *StrangerError) Error() string {
	return fmt.Sprintf("the BMC at %s shows a certificate with the fingerprint %s, which is not the one in the inventory; nothing was sent", e.Address, e.Got)
}

// dialer connects to one BMC, whatever is asked for: a BMC's answers name addresses, and those are no
// way to anywhere else.
type dialer struct {
	address string
	pinned  string // SHA-256 in hexadecimal
	allow   []netip.Prefix
	timeout time.Duration
}

func (d *Driver) dialer(m driver.Machine) (*dialer, error) {
	if m.BMC.Address == "" {
		return nil, driver.Permanent(fmt.Errorf("the inventory has no BMC address of %s", m.Tag))
	}
	b, err := fleet.ParseBMC(m.BMC.Address, m.BMC.Fingerprint)
	if err != nil {
		return nil, driver.Permanent(fmt.Errorf("BMC of %s: %w", m.Tag, err))
	}
	if b.Fingerprint == "" {
		return nil, driver.Permanent(fmt.Errorf("the inventory has no certificate fingerprint of the BMC of %s; nothing was sent", m.Tag))
	}
	host, port, err := fleet.SplitBMC(b.Address)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	return &dialer{net.JoinHostPort(host, port), b.Fingerprint, d.cfg.Allow, d.cfg.Timeout}, nil
}

func (d *dialer) dialTLS(ctx context.Context, network, _ string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: d.timeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if a := to.Addr(); !outbound.Public(a) && !outbound.Contains(d.allow, a) {
			return &outbound.Blocked{Addr: a}
		}
		return nil
	}}
	host, _, err := net.SplitHostPort(d.address)
	if err != nil {
		return nil, err
	}
	secure := &tls.Dialer{NetDialer: plain, Config: &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: host,
		// BMCs sign their certificates themselves: the inventory says which is the right one.
		InsecureSkipVerify: true, //nolint:gosec // verified against the pinned fingerprint
		VerifyConnection: func(c tls.ConnectionState) error {
			sum := sha256.Sum256(leaf(c.PeerCertificates))
			if got := hex.EncodeToString(sum[:]); got != d.pinned {
				return &StrangerError{d.address, got}
			}
			return nil
		},
	}}
	return secure.DialContext(ctx, network, d.address)
}

func leaf(chain []*x509.Certificate) []byte {
	if len(chain) == 0 {
		return nil
	}
	return chain[0].Raw
}

// transport makes a connection for each request, through no proxy and never unprotected.
func (d *dialer) transport() *http.Transport {
	return &http.Transport{
		Proxy:          nil,
		DialTLSContext: d.dialTLS,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("BMCs are asked by https only")
		},
		ResponseHeaderTimeout:  d.timeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true,
	}
}
