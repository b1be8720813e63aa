package driver

import "context"

type checkKey struct{}

// WithCheck gives a driver that needs several requests for one call the question to ask before each
// that changes something: is this attempt still the one that counts? An error means no, and the driver
// stops with it. A process that was stopped between two requests thereby finds out that the machine has
// another customer by now.
func WithCheck(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// Check asks the question of WithCheck; without one the answer is yes.
func Check(ctx context.Context) error {
	if check, ok := ctx.Value(checkKey{}).(func(context.Context) error); ok {
		return check(ctx)
	}
	return nil
}
