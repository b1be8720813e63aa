package holds

import (
	"errors"
	"time"
)

func asRefused(err error) (*Refused, bool) { return errors.AsType[*Refused](err) }

func nop[T any](T) {}

func nopStamp(_, _ time.Time) {}
