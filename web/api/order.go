package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/web/problem"
	"ironhold/web/request"
)

const keyHeader = "Idempotency-Key"

// Bounds on what is read at all; what an order may ask for is the allocator's to say.
const (
	maxText  = 1000
	maxItems = 1000
)

func orderFields(r *allocator.Request) []field {
	return []field{
		textsField("sites", &r.Sites, maxText, maxItems),
		textsField("vendors", &r.Vendors, maxText, maxItems),
		textField("cpu", &r.CPU, maxText),
		intField("min_cores", &r.MinCores),
		intField("min_threads", &r.MinThreads),
		intField("min_ram_gb", &r.MinRAMGB),
		intField("min_nvme_gb", &r.MinNVMeGB),
		intField("min_ssd_gb", &r.MinSSDGB),
		intField("min_hdd_gb", &r.MinHDDGB),
		intField("min_nic_mbps", &r.MinNICMbps),
		boolField("ecc", &r.ECC),
		boolField("gpu", &r.GPU),
		textsField("features", &r.Features, maxText, maxItems),
		minorField("max_price_month_minor", &r.MaxPriceMonthMinor),
		textField("currency", &r.Currency, maxText),
		textField("machine", &r.Machine, maxText),
	}
}

// order holds a machine: POST /holds.
func (a *API) order(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	key, keyFaults, err := idempotencyKey(r, true)
	if err != nil {
		return err
	}
	req, org, faults, err := a.readOrder(r, true)
	if err != nil {
		return err
	}
	if faults = slices.Concat(keyFaults, faults, strayQuery(r)); len(faults) > 0 {
		return problem.Faulty(faults...)
	}
	res, err := a.Allocator.Order(ctx, allocator.Order{OrgID: org, By: request.By(ctx), Key: key, Request: req})
	if err != nil {
		return err
	}
	if p := problem.Of(res); p != nil {
		return p
	}
	if res.Hold == nil {
		return errors.New("api: an order was accepted without a hold")
	}
	doc, err := a.holdDocument(ctx, res.Hold)
	if err != nil {
		return err
	}
	w.Header().Set("Location", Prefix+"/holds/"+res.Hold.ID.String())
	if res.Outcome == allocator.Replayed {
		w.Header().Set("Idempotent-Replayed", "true")
		return write(w, http.StatusOK, doc)
	}
	return write(w, http.StatusCreated, doc)
}

// readOrder reads an order request and for whom it is. Faults of decoding and of the domain come
// in one list. Only staff name an organisation; when onBehalf is set, they must.
func (a *API) readOrder(r *http.Request, onBehalf bool) (req allocator.Request, org uuid.UUID, faults []allocator.Fault, err error) {
	actor := request.Actor(r.Context())
	var slug string
	fields := orderFields(&req)
	if actor.Role.Staff() {
		fields = append(fields, textField("org", &slug, maxText))
	}
	if faults, err = readBody(r, !onBehalf, fields...); err != nil {
		return req, org, nil, err
	}
	org = actor.OrgID
	if actor.Role.Staff() {
		var fault *allocator.Fault
		if org, fault, err = a.orgOf(r.Context(), slug, onBehalf); err != nil {
			return req, org, nil, err
		}
		if fault != nil && !named(faults, "org") {
			faults = append(faults, *fault)
		}
	}
	if len(faults) == 0 && len(req.Faults()) == 0 {
		return req, org, nil, nil
	}
	// The request is refused anyway: all that the domain has against it is said at once.
	more, err := a.Allocator.Check(r.Context(), req)
	if err != nil {
		return req, org, nil, err
	}
	return req, org, append(faults, more...), nil
}

// orgOf finds the organisation that staff named.
func (a *API) orgOf(ctx context.Context, slug string, required bool) (uuid.UUID, *allocator.Fault, error) {
	if slug == "" {
		if !required {
			return uuid.Nil, nil, nil
		}
		return uuid.Nil, &allocator.Fault{Field: "org", Message: "is required: the slug of the organisation that orders"}, nil
	}
	org, err := a.Accounts.OrgBySlug(ctx, slug)
	if _, missing := errors.AsType[*accounts.NotFound](err); missing {
		return uuid.Nil, &allocator.Fault{Field: "org", Message: "there is no such organisation"}, nil
	}
	return org.ID, nil, err
}

func named(faults []allocator.Fault, name string) bool {
	return slices.ContainsFunc(faults, func(f allocator.Fault) bool { return f.Field == name })
}

// idempotencyKey reads the key as it is given, quotes included.
func idempotencyKey(r *http.Request, required bool) (string, []allocator.Fault, error) {
	all := r.Header.Values(keyHeader)
	if len(all) == 0 || len(all) == 1 && all[0] == "" {
		if required {
			return "", nil, problem.New(problem.KeyMissing, "The header "+keyHeader+" is required: 1 to 255 visible ASCII characters.")
		}
		return "", nil, nil
	}
	if len(all) > 1 {
		return "", []allocator.Fault{{Field: keyHeader, Message: "is given more than once"}}, nil
	}
	if !allocator.ValidKey(all[0]) {
		return "", []allocator.Fault{{Field: keyHeader, Message: "must be 1 to 255 visible ASCII characters, without spaces"}}, nil
	}
	return all[0], nil, nil
}
