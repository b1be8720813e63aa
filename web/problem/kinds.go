package problem

import (
	"net/http"
	"slices"
)

// Name is the last part of a problem's type: /problems/NAME.
type Name string

// The closed list of problems.
const (
	SomeoneWasFaster      Name = "someone-was-faster"
	NoneLeft              Name = "none-left"
	AllHeld               Name = "all-held"
	TryAgainShortly       Name = "try-again-shortly"
	Busy                  Name = "busy"
	Checking              Name = "checking"
	OrganisationSuspended Name = "organisation-suspended"
	LimitReached          Name = "limit-reached"
	AlreadyYours          Name = "already-yours"
	CoolDown              Name = "cool-down"
	NotRolledOut          Name = "not-rolled-out"
	HoldExpired           Name = "hold-expired"
	HoldCancelled         Name = "hold-cancelled"
	HoldConverted         Name = "hold-converted"
	MachineWithdrawn      Name = "machine-withdrawn"
	NotWithdrawn          Name = "not-withdrawn"
	NoSubstitute          Name = "no-substitute"
	ExtensionUsed         Name = "extension-used"
	CeilingReached        Name = "ceiling-reached"
	ServiceEnded          Name = "service-ended"
	WaitingListFull       Name = "waiting-list-full"
	KeyMissing            Name = "key-missing"
	KeyReused             Name = "key-reused"
	Invalid               Name = "invalid"
	IllegalMove           Name = "illegal-move"
	Unauthenticated       Name = "unauthenticated"
	Forbidden             Name = "forbidden"
	CrossOrigin           Name = "cross-origin"
	NotFound              Name = "not-found"
	MethodNotAllowed      Name = "method-not-allowed"
	NotAcceptable         Name = "not-acceptable"
	UnsupportedMediaType  Name = "unsupported-media-type"
	TooLarge              Name = "too-large"
	TooManyRequests       Name = "too-many-requests"
	Internal              Name = "internal"
)

// Kind is what all problems of one name have in common.
type Kind struct {
	Name        Name
	Status      int
	Title       string
	Explanation string // for the page /problems/NAME: what it means and what to do
}

// Type is the problem's type as a relative reference.
func (k Kind) Type() string { return "/problems/" + string(k.Name) }

var kinds = []Kind{
	{
		SomeoneWasFaster, http.StatusConflict, "Someone was faster",
		"A matching machine was free when your order was looked at, and another order took it before yours could. Nothing was held and nothing was charged. Send the order again: other matching machines may be free.",
	},
	{
		NoneLeft, http.StatusConflict, "None left",
		"No machine for sale matches what was asked for. Waiting alone will not change that. The near misses say which single constraint, when relaxed, would make how many machines available. Nothing was held and nothing was charged.",
	},
	{
		AllHeld, http.StatusConflict, "All held at the moment",
		"Machines match, but each of them is on hold for somebody. Holds end at their deadline unless they are confirmed, so a machine may come free at the time named in next_free_at. Nothing was held and nothing was charged.",
	},
	{
		TryAgainShortly, http.StatusServiceUnavailable, "Try again shortly",
		"Many orders want the same machines at this moment, and the time set aside for one order ran out before a free one was secured. Nothing was held. Send the same request, with the same key, again after the time named in Retry-After.",
	},
	{
		Busy, http.StatusServiceUnavailable, "Busy",
		"The system could not carry out your request in time. Send the same request, with the same key, again after the time named in Retry-After: if it was carried out after all, you get its result and never a second one.",
	},
	{
		Checking, http.StatusServiceUnavailable, "We are checking",
		"The connection to the database broke at the very moment of the decision, so that it is not known yet whether it was made. Send the same request with the same key after the time named in Retry-After: you get the result of the first, never a second one.",
	},
	{
		OrganisationSuspended, http.StatusForbidden, "Organisation suspended",
		"New holds are suspended for your organisation. Running services and live holds are not touched. Please contact sales.",
	},
	{
		LimitReached, http.StatusConflict, "Limit reached",
		"Your organisation has as many live holds, or as many machines in all, as it may have. Confirm or give back a hold, end a service, or ask sales to raise the limit.",
	},
	{
		AlreadyYours, http.StatusConflict, "Already yours",
		"Your organisation holds or rents exactly this machine already. The answer names the hold or the service.",
	},
	{
		CoolDown, http.StatusTooManyRequests, "Cooling down",
		"Your organisation held this machine again and again today. It can be held anew at the time named in until.",
	},
	{
		NotRolledOut, http.StatusForbidden, "Not available for your organisation",
		"Ordering is switched off for your organisation. The answer says why and who can switch it on. Live holds can still be confirmed or given back, and services run on.",
	},
	{
		HoldExpired, http.StatusGone, "The hold has expired",
		"The deadline of the hold has passed, so the machine is free for others. Nothing was charged. If it is still free it can be held again with a new order.",
	},
	{
		HoldCancelled, http.StatusConflict, "The hold was given back",
		"The hold was cancelled before, by you or on your behalf. Nothing was charged. If the machine is still free it can be held again with a new order.",
	},
	{
		HoldConverted, http.StatusConflict, "The hold was confirmed",
		"The hold has become a service, which the answer names. A service is ended, not cancelled.",
	},
	{
		MachineWithdrawn, http.StatusConflict, "The machine was withdrawn",
		"The machine of this hold has left sale, for example for a repair. Ask for a substitute: an equal machine at the same price and with the same deadline.",
	},
	{
		NotWithdrawn, http.StatusConflict, "The machine was not withdrawn",
		"A substitute is given only when the machine of a live hold has left sale. This one is still yours to confirm.",
	},
	{
		NoSubstitute, http.StatusConflict, "No equal machine is free",
		"The machine of this hold was withdrawn and no equal one is free at this moment. The hold stays until its deadline; ask again, or order another machine.",
	},
	{
		ExtensionUsed, http.StatusConflict, "Extended before",
		"A hold can be extended once. Confirm it or give it back before its deadline.",
	},
	{
		CeilingReached, http.StatusConflict, "No more time for this machine",
		"The time that one organisation may hold one machine within 24 hours is used up. Confirm the hold or give it back before its deadline.",
	},
	{
		ServiceEnded, http.StatusConflict, "The service has ended",
		"An end can be planned or withdrawn only while the service runs. This one has ended.",
	},
	{
		WaitingListFull, http.StatusConflict, "The waiting list is full for you",
		"Your organisation waits for as many things at once as it may. Take an entry off the list that is no longer needed.",
	},
	{
		KeyMissing, http.StatusBadRequest, "Idempotency-Key is missing",
		"An order must carry the header Idempotency-Key: 1 to 255 visible ASCII characters, made by the caller, one for each order that is meant. With it, sending an order twice gives one hold.",
	},
	{
		KeyReused, http.StatusUnprocessableEntity, "The key was used for another order",
		"A hold was made with this Idempotency-Key by an order with other contents. Use a new key for a new order.",
	},
	{
		Invalid, http.StatusUnprocessableEntity, "Please check your request",
		"Something in the request cannot be used as it is. Every fault is listed with the field it belongs to. The status is 400 when the body cannot be read as JSON at all.",
	},
	{
		IllegalMove, http.StatusConflict, "The machine cannot go there",
		"A machine's status changes along fixed ways only, and not against who has it. The answer lists the legal next statuses.",
	},
	{
		Unauthenticated, http.StatusUnauthorized, "Please sign in",
		"The request does not say who makes it. The API takes a token in the header Authorization: Bearer; pages take a sign-in.",
	},
	{
		Forbidden, http.StatusForbidden, "Not allowed",
		"Your role does not include this function. An administrator of your organisation, or of the portal, can say who may.",
	},
	{
		CrossOrigin, http.StatusForbidden, "Sent from another site",
		"The form was sent from a page of another site, so it was not carried out. Open the page here and send it again.",
	},
	{
		NotFound, http.StatusNotFound, "Not found",
		"There is nothing at this address, or nothing that you may see.",
	},
	{
		MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed",
		"The address exists but does not take this method. The header Allow lists those that it takes.",
	},
	{
		NotAcceptable, http.StatusNotAcceptable, "No answer in this form",
		"The header Accept of the request takes none of the forms in which the API answers. Send Accept: application/json, or none. Nothing was carried out.",
	},
	{
		UnsupportedMediaType, http.StatusUnsupportedMediaType, "Body in another form",
		"The body of a request to the API is JSON in UTF-8 with the header Content-Type: application/json. Nothing was carried out.",
	},
	{
		TooLarge, http.StatusRequestEntityTooLarge, "Too large",
		"The request's body is larger than this address takes.",
	},
	{
		TooManyRequests, http.StatusTooManyRequests, "Too many requests",
		"More requests came in a short time than are taken. Wait for the time named in Retry-After.",
	},
	{
		Internal, http.StatusInternalServerError, "Something went wrong on our side",
		"An unexpected fault, which has been recorded under the request's id. Please try again, and give that id when you ask for help.",
	},
}

// All is the closed list, in the order in which it is explained.
func All() []Kind { return slices.Clone(kinds) }

// Lookup finds a kind by its name.
func Lookup(name string) (Kind, bool) {
	for _, k := range kinds {
		if string(k.Name) == name {
			return k, true
		}
	}
	return Kind{}, false
}
