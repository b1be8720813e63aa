// Package allocator decides orders: which machine an organisation gets, or why it gets none.
//
//	validate -> key? -> look (candidates) -> lock organisation -> suspended? rollout? key? yours? caps?
//	                                                |
//	    .------- walk: one candidate at a time <----'
//	    |          savepoint
//	    |          lock machine, SKIP LOCKED ---- not obtained --> skipped
//	    |          check it under the lock ------ not eligible --> changed } roll back to
//	    |          insert the hold -------------- unique violation -> lost } the savepoint
//	    |          won ---> decision frozen, attempt written, commit -> held
//	    |
//	    '- no candidate left -> wait for the skipped ones -> look afresh -> key? -> survey -> refusal
//
// There are two passes. The survey asks why each machine is or is not eligible; the walk finds out
// what can be had at this instant. When the survey saw something and the walk got nothing, somebody
// was faster; that is another message than "none left".
//
// Equal candidates go by lot: each order draws a number and starts there, so that simultaneous
// orders do not all start at the same machine. Ranking and filters are pure functions over machine
// classes, which never change; only occupancy is asked of the database, and always by a statement
// that began after the request arrived.
//
// The allocator knows no rollout: whether the module is on is a Precondition that is handed in and
// read under the organisation's lock.
package allocator
