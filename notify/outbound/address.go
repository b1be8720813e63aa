package outbound

import (
	"net/netip"
	"slices"
)

// special are the networks inside global unicast that no customer's server is reached by: those of
// IANA's special-purpose registries, and those that carry another address inside.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo, ORCHID and others
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"),
}

// global is the part of IPv6 that is given out to the public; what lies outside, such as NAT64's
// 64:ff9b::/96, leads elsewhere.
var global = netip.MustParsePrefix("2000::/3")

// Public reports whether a is an address of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !global.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Contains reports whether one of the networks has a.
func Contains(networks []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap()
	return a.Zone() == "" && slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}
