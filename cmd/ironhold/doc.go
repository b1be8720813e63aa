// Command ironhold is the whole product in one binary: the server with its workers, the commands of
// its operators, and the client of its API. This package holds flags and wiring, nothing else.
//
//	settings (environment) -> database (address, or embedded in the data folder) -> migrate
//	    -> pools: interactive (web, orders)   background (River's workers, as ironhold_engine)
//	    -> services: accounts, rollout, fleet, holds, allocator, invariants
//	    -> web.New -> listener        River client -> sweep, partitions, old sessions
//
// The listener is there first: pages of the product say that it starts, until the site is open.
//
// Stopping goes the other way round: /readyz fails, and after a notice requests end, running jobs end,
// attempts are written, pools close, the embedded server stops last.
package main
