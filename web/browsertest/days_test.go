package browsertest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/migrations/pgtest/fixture"
)

// day runs a person's day on the phone and at the desk.
func day(t *testing.T, who string, o Options, f func(v *visit)) {
	t.Helper()
	for _, size := range []Size{Phone, Desktop} {
		t.Run(size.Name, func(t *testing.T) {
			t.Parallel()
			v := begin(t, who, o)
			v.Size(size)
			f(v)
		})
	}
}

// open follows the link of the row that bears the text.
func (v *visit) open(text string) {
	v.t.Helper()
	row := fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].find(r => r.innerText.includes(%s))`, quote(text))
	v.Follow(func() { v.press("the row "+text, row+`?.querySelector("a")`, 1) })
}

// pick chooses from a list.
func (v *visit) pick(name, value string) {
	v.t.Helper()
	v.Wait("the list "+name, field(name))
	Eval[bool](v.Tab, fmt.Sprintf(`(e => { e.value = %s; return e.value === %[1]s })(%s)`, quote(value), field(name)))
}

// send presses a button that leads to another page, which then fits.
func (v *visit) send(button string) {
	v.t.Helper()
	v.Follow(func() { v.Press(button) })
	v.fits()
}

func (v *visit) holdOf(org uuid.UUID, tag string) uuid.UUID {
	v.t.Helper()
	return fixture.Get[uuid.UUID](v.t, v.Owner, `select h.id from holds h join machines m on m.id = h.machine_id
		where h.org_id = $1 and m.asset_tag = $2 and h.state = 'held'`, org, tag)
}

// What sales does: the refused orders of the night, both kinds of no side by side, and what helps
// against each; the holds; what somebody quotes on the phone.
func TestADayAtTheSalesDesk(t *testing.T) {
	t.Parallel()
	day(t, sales, Options{}, func(v *visit) {
		t := v.t
		order := func(r allocator.Request) {
			t.Helper()
			if _, err := v.Allocator.Order(t.Context(), allocator.Order{OrgID: v.acme, By: by, Key: uuid.NewString(), Request: r}); err != nil {
				t.Error(err)
			}
		}
		v.contend("OPO-1", func() { go order(allocator.Request{Machine: "OPO-1"}) }, nil)
		faster := v.attempt("someone_was_faster")
		order(allocator.Request{MinRAMGB: 1024})
		none := v.attempt("none_left")
		v.worn("GOT-1")
		order(allocator.Request{Machine: "GOT-1"})
		v.attempt("cool_down")

		v.Go("/")
		v.pick("outcome", "refused")
		v.send("Show")
		v.Says("Someone was faster", "None left", "Cool-down")
		// Lost to a rival, who gives it back: the same order again gets it.
		v.open("Someone was faster")
		v.Says("rival", "Earlier by", "ms", "try the same order again")
		v.cancel(v.rival, v.holdOf(v.rival, "OPO-1"))
		v.send("Try again for acme")
		v.WantOutcome("held")
		v.Says("For acme")
		v.Follow(func() { v.Click(`a[href$="/confirm"]`) })
		v.Follow(func() { v.Click(`form[action$="/confirm"] button`) })
		v.WantOutcome("service")
		// There is none: what is close, and a purchase request.
		v.Go("/desk/attempts/" + none)
		v.Says("Nothing fits as it was asked", "Too little memory")
		v.Fill("note", "Asked for on the phone")
		v.send("Send the purchase request")
		v.Says("Asked for on the phone", "One refused order")
		v.Press("Change the state")
		Eval[bool](v.Tab, `document.querySelector('[name="note"]').focus(), true`)
		v.Key("PO 4711")
		v.send("It is ordered")
		v.Says("PO 4711", "Ordered")
		v.Go("/desk/demand")
		v.Says("1,024")
		// Cooling down: held all the same, with a reason.
		v.Go("/desk?outcome=cool_down")
		v.open("Cool-down")
		v.Fill("override", "Promised by Sam")
		v.send("Hold it for acme all the same")
		v.WantOutcome("held")
		// Given back with a reason.
		v.Go("/desk/holds")
		v.Says("GOT-1", "acme", "Until")
		v.Follow(func() { v.Click(`a[href$="/give-back"]`) })
		v.Fill("reason", "Ordered by mistake")
		v.Follow(func() { v.Click(`main form.panel button`) })
		if n := fixture.Get[int](t, v.Owner, "select count(*)::int from holds where state = 'held'"); n != 0 {
			t.Errorf("%d holds are left", n)
		}
		// What somebody quotes leads to its page.
		v.Go("/desk")
		v.Fill("find", faster)
		v.Follow(func() { v.Click(`form[action="/desk/find"] button`) })
		if got := v.Path(); got != "/desk/attempts/"+faster {
			t.Errorf("the reference leads to %s", got)
		}
	})
}

// What an administrator of an organisation does.
func TestADayOfAnAdministrator(t *testing.T) {
	t.Parallel()
	day(t, orgAdmin, Options{}, func(v *visit) {
		t := v.t
		secret := func() string {
			t.Helper()
			link, err := url.Parse(Eval[string](v.Tab, `document.querySelector("main .secret code").innerText`))
			if err != nil {
				t.Fatal(err)
			}
			return link.RequestURI()
		}
		v.Go("/org")
		v.Says("0 of 5", "Ben Okafor")
		v.send("Invite somebody")
		v.Fill("email", "noor@acme.example")
		v.send("Make the invitation")
		v.WantOutcome("invitation-made")
		noor := v.another("")
		noor.Go(secret())
		noor.Fill("name", "Noor Haddad")
		noor.Fill("password", "tea with a llama")
		noor.Follow(func() { noor.Press("Make my account") })
		noor.Says("Welcome")
		// Somebody forgot the password.
		v.Go("/org")
		v.Says("Noor Haddad")
		v.open("Ben Okafor")
		v.Fill("own_password", password)
		v.send("Make a link")
		v.WantOutcome("reset-made")
		ben := v.another("")
		ben.Go(secret())
		ben.Fill("password", "coffee with a llama")
		ben.Follow(func() { ben.Click(`form[action="/reset"] button`) })
		ben.WantOutcome("reset-done")
		// A program's token, seen once.
		v.Go("/org")
		v.send("New token")
		v.Fill("name", "nightly build")
		v.Fill("own_password", password)
		v.send("Make the token")
		v.WantOutcome("token-made")
		v.Go("/org")
		v.Says("nightly build", "Never")
		v.open("nightly build")
		v.send("Revoke nightly build")
		// Ordering off and on again; what is held goes on.
		held := v.own("GOT-1")
		v.Go("/org/rollout")
		v.Click(`input[name="setting"][value="off"]`)
		v.send("Save")
		v.Says("Off for Acme", "by Eva Marek")
		noor.Go("/offers")
		noor.Says("Ordering is switched off")
		v.Go(path("/holds/", held))
		v.WantOutcome("held")
		v.Go("/org/rollout")
		v.Click(`input[name="setting"][value="on"]`)
		v.send("Save")
		v.Says("On for Acme")
		// Who leaves is out at once.
		v.Go("/org")
		noor.allow("401") // the page that is open there hears of it
		v.open("Noor Haddad")
		v.send("Disable Noor Haddad")
		noor.Go("/offers")
		noor.WantOutcome("unauthenticated")
		v.Go("/org/history")
		v.Says("Joined", "Disabled", "Token revoked", "Ordering switched", "Link to a new password")
	})
}

// What an operator does.
func TestADayOfAnOperator(t *testing.T) {
	t.Parallel()
	day(t, operator, Options{Jobs: true, Flags: "READY"}, func(v *visit) {
		t := v.t
		v.end(v.rent(v.acme, "GOT-1"))
		v.Go("/fleet")
		v.fits()
		v.open("GOT-1")
		v.Fill("reason", "Erased twice")
		v.send("Record a wipe")
		v.Says("The wipe was recorded", "Ready")
		v.Go("/fleet/machines/OPO-3")
		v.Fill("reason", "New fan")
		v.send("Set to Ready")
		v.Says("The status was changed", "New fan", "Ola Brandt")
		// A file, looked at before it counts.
		v.Go("/fleet/import")
		Eval[bool](v.Tab, `(() => { const t = new DataTransfer();
			t.items.add(new File(["asset_tag,site,cpu,cores,ram_gb,price_month_eur\nNEW-1,GOT1,EPYC 7402P,24,128,199\nNEW-2,GOT1,EPYC,many,64,99\n"], "march.csv", {type: "text/csv"}));
			document.getElementById("file").files = t.files; return true })()`)
		v.send("Look what it would do")
		v.Says("march.csv", "many")
		if n := fixture.Get[int](t, v.Owner, "select count(*)::int from machines where asset_tag like 'NEW-%'"); n != 0 {
			t.Error("looking took something in")
		}
		v.send("Take in one machine")
		v.Says("march.csv was taken in")
		// A new organisation, its first administrator, its limits; suspended and resumed.
		v.Go("/admin/orgs")
		v.Fill("slug", "newcomer")
		v.Fill("name", "New Comer")
		v.send("Add an organisation")
		v.Says("New Comer", "Nobody looks after")
		v.Follow(func() { v.Click(`a[href^="/admin/people/invite"]`) })
		v.Fill("email", "kim@newcomer.example")
		v.Fill("own_password", password)
		v.send("Make the invitation")
		v.WantOutcome("invitation-made")
		v.Go("/admin/orgs/newcomer")
		v.Fill("max_holds", "2")
		v.send("Save")
		v.Says("0 of 2")
		v.Fill("reason", "Invoice 4711 is open")
		v.send("Suspend the organisation")
		v.Says("Suspended since", "Invoice 4711 is open")
		v.Fill("reason", "Invoice 4711 is paid")
		v.send("Let it hold servers again")
		v.Says("Invoice 4711 is paid", "Invoice 4711 is open", "New holds allowed again")
		// A colleague for the desk.
		v.Go("/admin/people")
		v.send("Invite somebody")
		v.Fill("email", "nina@ironhold.example")
		v.Click(`input[name="role"][value="sales"]`)
		v.Fill("own_password", password)
		v.send("Make the invitation")
		v.Go("/admin/people")
		v.Says("nina@ironhold.example", "Sam Tanaka")
		// The launch, the checks, the jobs.
		v.Go("/admin/rollout")
		v.Says("Up to date")
		v.Click(`input[name="launch"][value="opt-in"]`)
		v.send("Save")
		v.Says("For those who switch it on", "by Ola Brandt")
		v.Go("/admin/checks")
		v.Says("checks are fine")
		v.Follow(func() { v.Click(`main a[href="/admin/jobs/"]`) })
		v.Wait("the jobs", `document.body.innerText.includes("No jobs found")`)
		if !strings.HasPrefix(v.Path(), "/admin/jobs") {
			t.Errorf("the jobs are at %s", v.Path())
		}
	})
}
