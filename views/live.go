package views

import "context"

// Live says how an open page hears of changes. The zero value: not at all.
type Live struct {
	Kind   string // what it calls that which changes: "stock", "list" or "hold"
	Events string // address of the stream
	Digest string // fingerprint of what the page shows; "" for a hold
}

type liveKey struct{}

// WithLive gives the context how the page hears of changes.
func WithLive(ctx context.Context, l Live) context.Context {
	return context.WithValue(ctx, liveKey{}, l)
}

func liveOf(ctx context.Context) Live {
	l, _ := ctx.Value(liveKey{}).(Live)
	return l
}
