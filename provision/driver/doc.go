// Package driver is what the work on machines is handed to: installing an operating system for a
// customer, and wiping what one left.
//
//	Begin -> Running -> Look ... -> Done | Failed
//	  |                  |
//	  +------ error -----+--- tried again by the caller, with a higher attempt, unless Permanent
//
// The caller reads the service again right before each call, commits the attempt before it, and never
// calls inside a transaction.
package driver
