// Package invariants asks the database whether everything that must always be true is true.
//
// Each invariant is one query that must return no row; a row names what is wrong. The queries only
// read, each is one statement with one snapshot, and nothing is ever repaired here: a violation is
// for people to understand first.
//
// The schema makes most of them impossible to break. They are asked all the same, since a restored
// backup, a dropped index or a superuser with triggers off does not ask the schema.
package invariants
