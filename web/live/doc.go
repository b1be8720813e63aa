// Package live tells open pages that stock or a hold has changed.
//
//	commit --> Touch --(at most 5 a second)--> NOTIFY ironhold_changes
//	                                              |
//	    every process: one LISTEN connection <----'
//	                       |                \
//	                       v                 '-- away: look every 5 s, Live() is false
//	                     fan out --> Subscribe ... one channel per open page
//
// A notification says only that something changed: who listens reads again. It is sent after the
// commit and apart from it, since NOTIFY inside a claim costs a third of the throughput; and it
// may be lost, so the hub also looks by itself every few seconds, and a change made by another
// program, or a deadline that passed, shows then. Nothing here decides anything.
package live
