package browsertest

import (
	"strings"
	"testing"

	"ironhold/migrations/pgtest/fixture"
)

// Operators see the jobs on River's own pages, which load nothing from elsewhere; nobody else does, and
// neither reads nor changes them by the addresses that these pages ask.
func TestJobsAreForOperators(t *testing.T) {
	t.Parallel()
	v := begin(t, operator, Options{Jobs: true})
	id := fixture.Get[int64](t, v.Owner, `insert into river.river_job (args, kind, max_attempts, queue, state, scheduled_at)
		values ('{}', 'holds_sweep', 25, 'default', 'available', clock_timestamp()) returning id`)
	v.Go("/admin/orgs")
	v.Follow(func() { v.Click(`main a[href="/admin/jobs/"]`) })
	v.Wait("the list of running jobs", `document.body.innerText.includes("No jobs found")`)
	status := func(tab *Tab, method, at string) int {
		t.Helper()
		return Eval[int](tab, `(async () => (await fetch("`+at+`", {method: "`+method+`", headers: {"Content-Type": "application/json"}, body: "`+method+`" === "GET" ? null : '{"ids": ["`+fixture.Get[string](t, v.Owner, "select $1::bigint::text", id)+`"]}'})).status)()`)
	}
	if got := status(v.Tab, "GET", "/admin/jobs/api/jobs?state=available"); got != 200 {
		t.Errorf("the operator's list: %d", got)
	}
	for _, who := range []string{sales, orgAdmin, customer} {
		other := v.another(who)
		other.allow("403")
		other.Go("/admin/jobs/")
		if got := other.Outcome(); got != "forbidden" {
			t.Errorf("%s: %q", who, got)
		}
		for at, method := range map[string]string{"/admin/jobs/api/jobs": "GET", "/admin/jobs/api/jobs/cancel": "POST", "/admin/jobs/api/jobs/delete": "POST"} {
			if got := status(other.Tab, method, at); got != 403 {
				t.Errorf("%s %s as %s: %d", method, at, who, got)
			}
		}
	}
	if state := fixture.Get[string](t, v.Owner, "select state::text from river.river_job where id = $1", id); state != "available" {
		t.Errorf("somebody made the job %s", state)
	}
	if got := status(v.Tab, "POST", "/admin/jobs/api/jobs/cancel"); got != 200 {
		t.Errorf("the operator cancels: %d", got)
	}
	v.until("the end of the job", func() (bool, error) {
		return strings.Contains(fixture.Get[string](t, v.Owner, "select state::text from river.river_job where id = $1", id), "cancelled"), nil
	})
}
