// Package web serves the pages and the JSON API over HTTP.
//
//	request id -> access log -> recover -> headers -> router (one list of routes)
//	    -> [cross-origin check, session | bearer token] -> role may? -> body limit -> handler -> error?
//	                                                                              |
//	                                  a page of the problem | application/problem+json
//
// A sign-in by password of somebody with a second factor stops half-way (factors.go); staff who must
// have one reach nothing before they do. Passkeys and the company's sign-in are whole sign-ins.
//
// Handlers return an error; the adapter in handler.go alone writes error responses, and package
// problem alone knows status codes. Routes of pages and API stand in one table, so that tests walk
// all of them.
package web
