// Package holds owns the life of a hold and of the service that it becomes, from the insertion of
// the row to its end, and the sweep of overdue holds.
//
//	             extend (once, while live)
//	              .----.
//	              v    |
//	insert ---> held --+--- convert (live) -----> converted  + service ---> ended
//	              |    +--- cancel  (live) -----> cancelled
//	              |    +--- substitute (live, --> cancelled  + another hold, same deadline
//	              |         machine withdrawn)                and price
//	              '-------- sweep, or an order -> expired
//	                        (overdue)
//
// Only held occupies the machine. A hold is live while it is held and its deadline lies ahead by
// the database's clock, else overdue: an overdue hold counts as free, and every step on it answers
// hold-expired whether it was swept or not. The deadline is enforced where it is used, here and in
// the triggers; the sweep is housekeeping. It has no switch: this package knows no rollout.
//
// A service ends at once or at a planned time, which can be withdrawn until then; a job ends those
// whose time has come. What is to be done to the machine, an installation when a service begins and a
// wipe when it has ended, begins as a row that a trigger writes (package provision); its job is
// inserted in the same transaction.
//
// Lock order, everywhere: the organisation's limits row, machines by ascending id, the hold, the
// service. Locks are taken FOR NO KEY UPDATE in statements of their own, and what was locked is
// read again before it is changed.
//
//	extend      organisation, hold
//	convert     organisation, machine, hold
//	cancel      organisation, machine, hold
//	substitute  organisation, both machines, hold
//	end         organisation, machine, service
//	plan        service
//	sweep       holds alone, SKIP LOCKED
package holds
