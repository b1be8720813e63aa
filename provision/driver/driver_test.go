package driver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ironhold/provision/driver"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	inner := fmt.Errorf("outer: %w", driver.Permanent(driver.Wait(cause, time.Minute)))
	if !driver.IsPermanent(inner) || driver.Waits(inner) != time.Minute || !errors.Is(inner, cause) || inner.Error() != "outer: cause" {
		t.Errorf("%v: permanent %v, waits %s", inner, driver.IsPermanent(inner), driver.Waits(inner))
	}
	if driver.IsPermanent(cause) || driver.Waits(cause) != 0 || driver.Permanent(nil) != nil || driver.IsPermanent(nil) || driver.Wait(nil, time.Second) != nil {
		t.Error("an error without a mark has one")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	stale := errors.New("stale")
	if err := driver.Check(t.Context()); err != nil {
		t.Errorf("without a question: %v", err)
	}
	ctx := driver.WithCheck(t.Context(), func(context.Context) error { return stale })
	if err := driver.Check(ctx); !errors.Is(err, stale) {
		t.Errorf("with one: %v", err)
	}
}
