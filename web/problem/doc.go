// Package problem is the one place that turns outcomes, refusals and errors into HTTP: names,
// status codes, titles and the members that each type carries. Pages and API share it; the API
// writes RFC 9457 documents, pages reuse name, status and title.
//
//	allocator.Result --Of--.
//	error ------------From-+-> Problem -> Write (API) or a page
//	name -------------New--'
//
// What is not in the closed list becomes "busy" (the database is busy or away) or "internal"; the
// error's own text is for the log and never leaves the process.
package problem
