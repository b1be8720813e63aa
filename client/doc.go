// Package client speaks to the JSON API for the commands hold, holds and services.
//
//	request -> send -> answer 2xx ------------------------------> document
//	             |       problem busy, checking, try-again-shortly
//	             |         or no answer at all: the same request, with the same key, after a pause,
//	             |         until Patience has passed
//	             +----> any other problem -> *Problem, whose ExitCode a script can tell apart
//
// Every request that it repeats is safe to repeat: reads, orders and extensions with their key, and
// steps that answer the second time as they did the first.
package client
