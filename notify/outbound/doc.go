// Package outbound sends requests to addresses that customers chose.
//
//	URL -> CheckURL -> resolve -> each address: allowed? -> connect -> TLS -> answer, cut to size
//	          |                          |                                  |
//	       *Refused                  *Blocked                     a redirect is an answer
//
// The address is looked at where the connection is made, after the name was resolved, so that a name
// that resolves otherwise the second time changes nothing. Every request makes a connection of its own,
// goes through no proxy, follows no redirect and has one limit of time for all of it.
package outbound
