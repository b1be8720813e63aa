// Package sign makes messages that a receiver can check: CloudEvents 1.0 in JSON as the body and the
// signature of Standard Webhooks over it.
//
//	webhook-id: the event's id, the same at each attempt
//	webhook-timestamp: seconds since 1970 of this attempt
//	webhook-signature: v1,BASE64 [v1,BASE64 ...]   one for each secret that is in use
//	v1 = HMAC-SHA256(secret, id + "." + timestamp + "." + body)
//
// While a secret is being changed, messages carry a signature of the new and one of the old, and a
// receiver takes either.
package sign
