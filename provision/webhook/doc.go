// Package webhook is the driver that hands work on machines to a provisioner of the operator's own, by
// HTTP.
//
//	Begin --install or wipe, signed--> provisioner --progress--> Running | Done | Failed
//	Look ---status, signed-----------> provisioner --progress--> Running | Done | Failed
//	                                        |
//	                              410, 422 and the like: Permanent
//	                              5xx, 429, 401, no answer: tried again, not before Retry-After
//
// A message is a CloudEvent with the signature of Standard Webhooks. Its id follows from service, kind
// and attempt: whoever sends the same attempt twice, whichever process it is, sends the same id and the
// same body, and a receiver that remembers ids does nothing twice. Each status question has an id of
// its own and carries the whole task, so that a provisioner which lost its memory can begin anew.
//
// Nothing comes back but answers: there is no address that a stranger could tell that a machine is ready.
package webhook
