//go:build linux

package prove

import "context"

// HoldTime is how long callers of one kind kept a connection.
type HoldTime struct {
	Pool, Caller string
	Count        int
	Mean, Max    float64 // seconds
}

type hygiene struct{}

func (r *run) measure(ctx context.Context) {}
