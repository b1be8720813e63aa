// Package pg is how the application speaks to PostgreSQL: pools, transactions and the reading of
// the server's errors. It knows no table.
//
//	pool (login, NOINHERIT) -> begin read committed; set local role; set local app.* -> statements -> commit
//
// A transaction acts either as the engine, which decides across organisations, or as the web role,
// which row-level security confines to one organisation. The login itself may read nothing: a
// statement outside such a transaction fails.
package pg
