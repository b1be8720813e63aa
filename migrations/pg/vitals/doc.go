// Package vitals reads how the database server itself is: who waits for locks, who keeps a
// transaction open, what autovacuum has left, how far replicas and jobs are behind.
//
//	Keeper.Run, every Interval, on a pool of its own
//	    Read -> Reading -> kept: the last one for metrics, an hour of them for charts
//
// Nothing is asked because somebody scrapes or opens a page: a hundred scrapers cost what one
// costs. The pool is its own, since the figures matter most when the others are exhausted.
// pg_blocking_pids, which stops the lock manager for a moment, is asked only when somebody has
// waited for a second.
package vitals
