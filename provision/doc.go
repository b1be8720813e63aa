// Package provision does what a machine needs when a service begins and when it has ended: an operating
// system for the customer, a wipe of what the customer left.
//
// The work begins as a row that a trigger writes in the transaction that begins or ends the service; the
// job is inserted in the same transaction, and a periodic job makes one for a row that lost its own.
//
//	queued --take--> running --driver says done-----> done     install: the customer is told
//	   |    (attempt + 1,  |                                   wipe: wiped_at, the machine is ready
//	   |     committed)    +--driver says failed----> failed   install: the service ends, the machine goes
//	   |        ^          |  or error is permanent            to maintenance; twice in 30 days: set aside
//	   |        '- error --+  tried again, for a day           wipe: the machine goes to maintenance
//	   '--service ended before----------------------> dropped  (an installation)
//
// One step of a job: take reads the row, its service and its machine, and commits the attempt; then the
// driver is called, outside any transaction; then what came back is written if the attempt still is the
// row's. So a process that was killed loses no more than one answer, and one that was stopped for an hour
// neither reaches the driver in time (its time ran from before take) nor has a say afterwards.
//
// Rows of one machine are worked on in the order in which they began. The driver manual is a person: the
// row waits on the operators' board for Done or Failed. TakeOver gives a person what a driver had.
//
// Lock order: as in package holds, the provisioning after the service.
package provision
