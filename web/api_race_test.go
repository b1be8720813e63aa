package web

import (
	"fmt"
	"sync"
	"testing"

	"ironhold/migrations/pgtest/fixture"
)

// Many orders at one instant for one machine: one hold, and an honest answer for each of the others.
func TestBurstForOneMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for round := range 3 {
		fixture.Exec(t, s.owner, "update holds set state = 'cancelled' where state = 'held'")
		fixture.Exec(t, s.owner, "update machines set status = 'maintenance' where status = 'ready'")
		tag := fmt.Sprintf("M-%d", round)
		fixture.Add(t, s.owner, fixture.Machine{Tag: tag})
		answers := make([]answer, 40)
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for i := range answers {
			who := customer
			if i%2 == 1 {
				who = foreign
			}
			wg.Go(func() {
				<-gate
				answers[i] = s.order(who, "{}")
			})
		}
		close(gate)
		wg.Wait()
		got := map[string]int{}
		for _, a := range answers {
			if a.status == 201 {
				got["held"]++
				continue
			}
			name := a.text("type")
			got[name]++
			if name != "/problems/someone-was-faster" && name != "/problems/all-held" || a.text("attempt") == "" {
				t.Errorf("%s: %s", a.what, a.body)
			}
		}
		if got["held"] != 1 {
			t.Errorf("answers: %v", got)
		}
	}
	fixture.NoDeadlock(t, s.owner)
}
