// Package allocator decides orders: which machine an organisation gets, or why it gets none.
//
//	validate -> refused a moment ago? -> ask together: anything free, key, caps? -> refusal, or
//	   look (candidates) -> lock organisation -> suspended? rollout? key? yours?       one round trip
//	                                                |
//	    .------- walk: one candidate at a time <----'
//	    |          savepoint
//	    |          lock machine, SKIP LOCKED ---- not obtained --> skipped
//	    |          check it under the lock ------ not eligible --> changed } roll back to
//	    |          insert the hold -------------- unique violation -> lost } the savepoint
//	    |          won ---> decision frozen, attempt written, commit -> held
//	    |                   (lock and check are one round trip; insert, attempt and commit another)
//	    |
//	    '- no candidate left -> wait for the skipped ones -> look afresh -> key? caps? -> survey -> refusal
//
// There are two passes. The survey asks why each machine is or is not eligible; the walk finds out
// what can be had at this instant. When the survey saw something and the walk got nothing, somebody
// was faster; that is another message than "none left".
//
// The caps are counted by the trigger of the insert; an order counts itself only to explain. Where a
// request was refused a moment ago, those who come now are answered by one look at the database that
// began after each of them had arrived (soldout.go); whoever finds anything there but "nothing is
// left" goes the long way as if it had not asked.
//
// Equal candidates go by lot: each order draws a number and starts there, so that simultaneous
// orders do not all start at the same machine. Ranking and filters are pure functions over machine
// classes, which never change; only occupancy is asked of the database, and always by a statement
// that began after the request arrived.
//
// The allocator knows no rollout: whether the module is on is a Precondition that is handed in and
// read under the organisation's lock.
package allocator
