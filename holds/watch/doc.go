// Package watch asks the invariants each minute and says what it found where people look.
//
//	invariants ──> invariant_states ──> metrics of every process, the fleet's board
//	     │
//	     ├──> an error in the log for each violation
//	     └──> machine_alarms ──> the machine leaves sale: ready ──> maintenance
//
// Nothing is repaired. A machine that a violation names is not sold until a person has looked: its
// move is an ordinary one, by actor "watch" with the check's name as the reason, so that refusals
// (not_ready), the history and the page of the machine say so without knowing of this package. Putting
// it back on sale there, with a reason, clears the alarm. The same violation then does not take it off
// again; one that was gone and came back does.
//
// Machines that are not for sale stay as they are: a customer's server keeps running. They are taken
// off at the first check after they become ready, as long as the violation is there.
package watch
