// Package request carries what is known about one HTTP request through its context: its id, who
// makes it and what the access log is to say about it.
package request

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"net/http"
	"net/url"

	"ironhold/accounts"
	"ironhold/migrations/pg"
)

// Info is filled in on the way through the middleware; one request, one goroutine.
type Info struct {
	ID      string         // shown to people and written into the history
	Actor   accounts.Actor // zero until authenticated
	Known   bool           // whether Actor is set
	Method  string
	Route   string // the pattern that matched
	Problem string // the name of the refusal that was answered, if any

	// Log writes the line of the access log, once; nil where there is none.
	Log func()
}

// Answered writes the line of the access log now: for answers that go on for long.
func (i *Info) Answered() {
	if i.Log != nil {
		i.Log()
	}
}

type key struct{}

// With returns a context that carries info.
func With(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, key{}, info)
}

// From returns the request's info; outside a request an empty one.
func From(ctx context.Context) *Info {
	if info, ok := ctx.Value(key{}).(*Info); ok {
		return info
	}
	return &Info{}
}

// ID is the request's id.
func ID(ctx context.Context) string { return From(ctx).ID }

// Actor is who makes the request; the zero Actor for strangers.
func Actor(ctx context.Context) accounts.Actor { return From(ctx).Actor }

// By is the actor and the request as the history records them.
func By(ctx context.Context) pg.By {
	info := From(ctx)
	return info.Actor.By(info.ID)
}

// PathValue is the part of the address that a pattern's {name} matched, unescaped.
func PathValue(r *http.Request, name string) string {
	v := r.PathValue(name)
	if r.URL.RawPath == "" {
		return v
	}
	// The router matched the path as it was sent.
	if plain, err := url.PathUnescape(v); err == nil {
		return plain
	}
	return v
}

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID makes an id that can be read out on the telephone: 16 characters, 80 random bits.
func NewID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return idEncoding.EncodeToString(b[:])
}
