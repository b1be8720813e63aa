// Package fleet keeps the machines: what they are, where they stand, and where each is in its
// life. It owns the tables sites, machines and machine_classes.
// What a site promises (in how many hours a machine is ready) belongs to the site and not to the
// class of a machine: it may change, and classes never do.
//
// The life of a machine; only ready is sellable, and who has a machine is not written here:
//
//	           wipe not older            sale (conversion)           end of service
//	           than last service
//	intake ---------> ready ------------------> in_service ------------------> cleaning
//	  |               ^  |  ^                       |  ^                       |  |  ^
//	  |               |  |  +-- wipe recorded ------|--|-----------------------+  |  |
//	  |               |  v                          v  |                          v  |
//	  |             maintenance <-------------------+  +------ maintenance --------+-+
//	  |                  |
//	  +--> retired <-----+---- also from ready and cleaning, never while held or in service
//
// The moves are checked by the database (machines_guard); LegalMoves is the same table in Go, for
// explaining. Every move has a reason, an actor and a time, written to machine_events by triggers.
//
// Intake of a CSV file:
//
//	bytes -> lines (capped, numbered) -> records -> rows (checked) -> batches of 500
//	      -> compare with what is there -> lock the changed rows by id -> write -> report
//
// An import adds machines and changes their facts. It never changes the status of a machine that
// exists, and it never removes one.
package fleet
