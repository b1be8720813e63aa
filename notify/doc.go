// Package notify tells others what happened: organisations by webhooks, people by mail.
//
// Nothing is sent by whoever decides. Triggers write what is to be told into a table, in the
// transaction that decided; the relay makes River jobs of it, in the transaction that takes it out; a
// job sends and writes down the answer. So nothing is lost by a kill, and a message may arrive twice but
// keeps its id.
//
//	hold_events, service_events -trigger-> webhook_messages      (somebody listens)
//	        relay: sequence number, body, one delivery for each endpoint, one job for each delivery
//	webhook_deliveries: waiting -> queued -> delivered
//	                       ^          +----> failed     given up, or 410, which disables the endpoint
//	                       |          +----> dropped    the endpoint is disabled or gone
//	                       +---- once more, by a person (round + 1)
//
//	waiting_list, provisioning -trigger-+
//	one-use link, by who makes it ------+--> mails: waiting -> queued -> sent | failed | skipped
//	holds about to end, by the relay ---+                        read anew right before sending
//
// A job of the queue Queue waits for its receiver without a connection to the database. At most
// perEndpoint of them do so for one endpoint; further ones come back later, so that a slow receiver
// delays itself alone.
package notify
