package fleet

import (
	"context"
	"errors"
	"ironhold/migrations/pg"
)

// Sample loads the sample fleet.
func (r *Registry) Sample(ctx context.Context, by pg.By) error { return errors.New("not yet") }
