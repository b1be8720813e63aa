package fleet

import (
	"fmt"
	"strings"
)

// NotFound says that there is no machine with this asset tag, or no site with this code.
type NotFound struct {
	Tag, Site string
}

func (e *NotFound) Error() string {
	if e.Site != "" {
		return fmt.Sprintf("no site has the code %q", e.Site)
	}
	return fmt.Sprintf("no machine has the asset tag %q", e.Tag)
}

// IllegalMove says that a machine cannot take this step in its life: what it is now, which moves
// are possible for it now, and why this one is not.
type IllegalMove struct {
	Tag      string
	From, To Status
	Legal    []Status
	Why      string
}

func (e *IllegalMove) Error() string {
	s := fmt.Sprintf("machine %s cannot go from %s to %s: %s", e.Tag, e.From, e.To, e.Why)
	if len(e.Legal) == 0 {
		return s + "; no other move is possible"
	}
	return s + "; possible: " + joinStatuses(e.Legal)
}

// Invalid says which field of the input is wrong and what is allowed.
type Invalid struct {
	Field   string
	Message string
}

func (e *Invalid) Error() string { return e.Field + ": " + e.Message }

func joinStatuses(list []Status) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
