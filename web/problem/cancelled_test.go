package problem_test

import (
	"context"
	"fmt"
	"testing"

	"ironhold/web/problem"
)

// A client that hangs up while its request runs is no fault of the program.
func TestACancelledRequestIsNoFault(t *testing.T) {
	t.Parallel()
	p := problem.From(fmt.Errorf("machines by tag: begin: %w", context.Canceled))
	if p.Name != problem.Busy || p.RetryAfter == 0 {
		t.Errorf("it is answered with %s", p.Name)
	}
}
