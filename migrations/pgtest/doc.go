// Package pgtest gives each test a migrated PostgreSQL database of its own.
//
//	IRONHOLD_TEST_DATABASE_URL (make test sets it) | a server that this package starts
//	        |
//	template database, migrated once per content of the migrations
//	        |  create database ... template ...
//	one clone per test (DB, URL) | one clone per package, rolled back (Tx)
//
// Without the variable, the first test binary starts an embedded server as a process of
// its own in the temporary folder; all test binaries of the same user share it, also
// those that `go test ./...` runs at once. It ends by itself, and removes its data,
// ten minutes after its last user.
//
// Tests fail when there is no PostgreSQL; they never skip.
//
// The package is for tests alone: nothing of it may be linked into the program.
package pgtest
