package browsertest

import (
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
)

// The pages of the desk.
func init() {
	states = append(states, []state{
		{name: "attempt-machines", who: sales, show: func(v *visit) {
			v.attempts()
			v.Go("/desk/attempts/" + v.attempt("none_left") + "/machines")
		}},
		{name: "desk-holds", who: sales, show: func(v *visit) {
			v.past()
			v.leave(v.holdTag(v.rival, "GOT-3"), -time.Minute)
			v.Go("/desk/holds")
		}},
		{name: "desk-holds-empty", who: sales, show: at("/desk/holds")},
		{name: "desk-give-back", who: sales, show: func(v *visit) { v.Go(path("/desk/holds/", v.holdTag(v.rival, "GOT-1"), "/give-back")) }},
		{name: "desk-give-back-no-reason", who: sales, title: "Error", show: func(v *visit) {
			v.Post(path("/desk/holds/", v.holdTag(v.rival, "GOT-1"), "/give-back"), "reason", "")
		}},
		{name: "desk-find", who: sales, show: at("/desk/find?q=GOT")},
		{name: "desk-find-nothing", who: sales, show: at("/desk/find?q=nothing-like-it")},
		{name: "desk-requests", who: sales, show: func(v *visit) {
			v.attempts()
			v.Post("/desk/requests", "where", "LEJ1", "min_cores", "24", "attempt", v.attempt("none_left"), "note", "Three orders in a week")
		}},
		{name: "desk-requests-empty", who: sales, show: at("/desk/requests")},
		{name: "desk-demand", who: sales, show: func(v *visit) { v.attempts(); v.attempt("none_left"); v.Go("/desk/demand") }},
		{name: "desk-demand-empty", who: sales, show: at("/desk/demand")},
		{name: "desk-simulated", who: sales, show: func(v *visit) { v.Post("/desk/simulate", "org", "acme", "min_ram_gb", "128") }},
		{name: "desk-simulated-none", who: sales, show: func(v *visit) { v.Post("/desk/simulate", "org", "acme", "min_ram_gb", "512") }},
		{name: "attempt-faster", who: sales, options: Options{Budget: 20 * time.Second, LockTimeout: 20 * time.Second}, show: func(v *visit) {
			v.contend("OPO-1", func() {
				go func() {
					_, _ = v.Allocator.Order(v.t.Context(), allocator.Order{OrgID: v.acme, By: by, Key: uuid.NewString(), Request: allocator.Request{Machine: "OPO-1"}})
				}()
			}, nil)
			v.Go("/desk/attempts/" + v.attempt("someone_was_faster"))
		}},
	}...)
}
