// Package api is the JSON API under /api/v1: the same domain calls as the pages, for programs.
//
//	bearer token -> role may? -> strict decoding (every fault, by field) -> domain call
//	     -> JSON document | error -> package problem
//
// A customer's token sees its own organisation alone: other organisations' objects answer as
// missing ones do. Staff see all. What a customer is shown never names another organisation.
// Cookies are never looked at.
package api
