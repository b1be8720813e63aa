package fleet

import (
	"context"
	"errors"
	"io"
	"ironhold/migrations/pg"
)

// Import takes in a CSV file.
func (r *Registry) Import(ctx context.Context, by pg.By, in io.Reader, o ImportOptions) (Report, error) {
	return Report{}, errors.New("not yet")
}
