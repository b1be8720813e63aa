// Package migrations brings a database up to the schema of this build: roles, tables, triggers,
// row-level security, and River's tables in a schema of their own.
//
//	roles (cluster-wide) -> sql/*.sql by goose, forward only -> River's own migrations
//	|__________________ under one session-level advisory lock ________________________|
//
// Running it twice changes nothing, and two processes may run it at once: the second waits for
// the lock and then finds nothing to do. There is no way down: a release stays compatible with
// the schema of the release before it.
package migrations
