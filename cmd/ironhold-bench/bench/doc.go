// Package bench measures claims: the allocator's orders beside the cheapest correct single
// statement that writes the same rows, on one database, in interleaved rounds. Developers use it;
// nothing of the product imports it.
//
//	fleet of equal machines, organisations -> round: clear, ours, clear, statement -> medians, spread
//
// Both sides make the same number of claims with the same number of clients, each client with
// organisations of its own. The rate is read from the middle of a round, so that neither the first
// plans nor the last client's end count.
package bench
