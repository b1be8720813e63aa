package migrations_test

import (
	"testing"
	"time"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// What plain SQL may not do to holds, services and machines, as each role that may write.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 2, 50, 50)
	fixture.Equal(t, s.owner, "m", 12)
	s.must(insertHold("org-1", "m-1", "live", "1 hour"))
	s.must(insertHold("org-1", "m-2", "overdue", "1 hour"))
	s.must(insertHold("org-1", "m-3", "cancelled", "1 hour"), setHold("cancelled", "state = 'cancelled'"))
	s.must(insertHold("org-1", "m-4", "expired", "1 hour"))
	s.must(insertHold("org-1", "m-5", "sold", "1 hour"))
	s.must(sale("sold", "m-5")...)
	s.must(insertHold("org-1", "m-6", "ended", "1 hour"))
	s.must(sale("ended", "m-6")...)
	s.must(`update services set ended_at = clock_timestamp() where hold_id = (select id from holds where idempotency_key = 'ended')`,
		setMachine("m-6", "status = 'cleaning'"))
	s.asReplica(setHold("overdue", "expires_at = clock_timestamp() - interval '1 s'"),
		setHold("expired", "expires_at = clock_timestamp() - interval '1 s', state = 'expired'"))

	const (
		otherOrg     = `(select id from organisations where slug = 'org-2')`
		otherMachine = `(select id from machines where asset_tag = 'm-9')`
	)
	for name, c := range map[string]struct {
		constraint string
		statements []string
	}{
		"machine of a hold":             {"holds_keep_parties", []string{setHold("live", "machine_id = "+otherMachine)}},
		"organisation of a hold":        {"holds_keep_parties", []string{setHold("live", "org_id = "+otherOrg)}},
		"machine of an ended hold":      {"holds_keep_parties", []string{setHold("cancelled", "machine_id = "+otherMachine)}},
		"cancelled held again":          {"holds_end_once", []string{setHold("cancelled", "state = 'held'")}},
		"expired held again":            {"holds_end_once", []string{setHold("expired", "state = 'held'")}},
		"converted held again":          {"holds_end_once", []string{setHold("sold", "state = 'held'")}},
		"converted cancelled":           {"holds_end_once", []string{setHold("sold", "state = 'cancelled'")}},
		"cancelled expires":             {"holds_end_once", []string{setHold("cancelled", "state = 'expired'")}},
		"cancelled converted":           {"holds_end_once", []string{setHold("cancelled", "state = 'converted'")}},
		"held again with time":          {"holds_end_once", []string{setHold("expired", "state = 'held', expires_at = clock_timestamp() + interval '1 hour'")}},
		"unknown state":                 {"holds_state_known", []string{setHold("live", "state = 'paused'")}},
		"overdue deadline moved":        {"holds_deadline_passed", []string{setHold("overdue", "expires_at = clock_timestamp() + interval '1 hour'")}},
		"deadline of an ended hold":     {"holds_deadline_passed", []string{setHold("cancelled", "expires_at = clock_timestamp() + interval '1 hour'")}},
		"overdue converted":             {"holds_deadline_passed", []string{setHold("overdue", "state = 'converted'")}},
		"overdue moved and converted":   {"holds_deadline_passed", []string{setHold("overdue", "state = 'converted', expires_at = clock_timestamp() + interval '1 hour'")}},
		"live expires":                  {"holds_expire_late", []string{setHold("live", "state = 'expired'")}},
		"live expires with a past time": {"holds_expire_late", []string{setHold("live", "state = 'expired', expires_at = clock_timestamp() - interval '1 s'")}},
		"service of an overdue hold":    {"services_live_hold", []string{insertService("overdue")}},
		"service of a cancelled hold":   {"services_live_hold", []string{insertService("cancelled")}},
		"service of another's machine": {"services_own_hold", []string{`insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
			select org_id, ` + otherMachine + `, id, 0, 0, 'EUR' from holds where idempotency_key = 'live'`}},
		"service of another's hold": {"services_own_hold", []string{`insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
			select ` + otherOrg + `, machine_id, id, 0, 0, 'EUR' from holds where idempotency_key = 'live'`}},
		"service at another price": {"services_price_of_hold", []string{`insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
			select org_id, machine_id, id, 1, 0, 'EUR' from holds where idempotency_key = 'live'`}},
		"converted without a service":       {"holds_converted_has_service", []string{setHold("live", "state = 'converted'")}},
		"inserted as converted":             {"holds_converted_has_service", []string{`insert into holds (org_id, machine_id, state, idempotency_key, expires_at) select id, ` + otherMachine + `, 'converted', 'x', clock_timestamp() + interval '1 h' from organisations where slug = 'org-1'`}},
		"service without a conversion":      {"services_hold_converted", []string{insertService("live"), setMachine("m-1", "status = 'in_service'")}},
		"service and a cancelled hold":      {"services_hold_converted", []string{insertService("live"), setHold("live", "state = 'cancelled'"), setMachine("m-1", "status = 'in_service'")}},
		"second service of a hold":          {"machines_ready_to_occupy", []string{insertService("sold")}},
		"machine of a service":              {"services_keep_parties", []string{`update services set machine_id = ` + otherMachine}},
		"hold of a service":                 {"services_keep_parties", []string{`update services set hold_id = (select id from holds where idempotency_key = 'live')`}},
		"ended service begun again":         {"services_end_once", []string{`update services set ended_at = null where ended_at is not null`}},
		"sold and ended at once":            {"machines_wiped_before_sale", []string{insertService("live"), setHold("live", "state = 'converted'"), "update services set ended_at = clock_timestamp() where ended_at is null and machine_id = (select id from machines where asset_tag = 'm-1')"}},
		"retired while held":                {"machines_occupied_stay", []string{setMachine("m-1", "status = 'retired'")}},
		"retired in service":                {"machines_occupied_stay", []string{setMachine("m-5", "status = 'retired'")}},
		"deleted while held":                {"machines_occupied_stay", []string{`delete from machines where asset_tag = 'm-1'`}},
		"deleted in service":                {"machines_occupied_stay", []string{`delete from machines where asset_tag = 'm-5'`}},
		"deleted with a past":               {"holds_machine_id_fkey", []string{`delete from machines where asset_tag = 'm-3'`}},
		"ready while in service":            {"machines_status_facts", []string{setMachine("m-5", "status = 'maintenance'"), setMachine("m-5", "status = 'ready'")}},
		"in service without a service":      {"machines_status_facts", []string{setMachine("m-9", "status = 'in_service'")}},
		"added in service":                  {"machines_status_facts", []string{`insert into machines (asset_tag, site_code, cpu, cores, ram_gb, status) values ('new', 'SITE1', 'x', 1, 1, 'in_service')`}},
		"ready to cleaning":                 {"machines_legal_move", []string{setMachine("m-9", "status = 'cleaning'")}},
		"back from the dead":                {"machines_legal_move", []string{setMachine("m-9", "status = 'retired'"), setMachine("m-9", "status = 'ready'")}},
		"ready without a wipe":              {"machines_wiped_before_sale", []string{setMachine("m-6", "status = 'ready'")}},
		"a detour without a wipe":           {"machines_wiped_before_sale", []string{setMachine("m-6", "status = 'maintenance'"), setMachine("m-6", "status = 'ready'")}},
		"a wipe before the end":             {"machines_wiped_before_sale", []string{setMachine("m-6", "wiped_at = clock_timestamp() - interval '1 day'"), setMachine("m-6", "status = 'ready'")}},
		"a wipe in the future":              {"machines_wiped_at_past", []string{setMachine("m-9", "wiped_at = 'infinity'")}},
		"hold of a machine in cleaning":     {"machines_ready_to_occupy", []string{insertHold("org-2", "m-6", "x", "1 hour")}},
		"hold of a sold machine":            {"machines_ready_to_occupy", []string{insertHold("org-2", "m-5", "x", "1 hour")}},
		"hold of a held machine":            {"holds_one_held_per_machine", []string{insertHold("org-2", "m-1", "x", "1 hour")}},
		"hold of an overdue one":            {"holds_one_held_per_machine", []string{insertHold("org-2", "m-2", "x", "1 hour")}},
		"a new machine wiped in the future": {"machines_wiped_at_past", []string{`insert into machines (asset_tag, site_code, cpu, cores, ram_gb, status, wiped_at) values ('new', 'SITE1', 'x', 1, 1, 'ready', 'infinity')`}},
		"a wipe before a backdated end": {"machines_wiped_before_sale", []string{setMachine("m-5", "wiped_at = clock_timestamp()"),
			"update services set started_at = '2000-01-01', ended_at = '2000-01-02' where ended_at is null", setMachine("m-5", "status = 'cleaning'"), setMachine("m-5", "status = 'ready'")}},
		"ended in the future":  {"services_ended_at_past", []string{"update services set ended_at = 'infinity' where ended_at is null"}},
		"another key":          {"holds_frozen", []string{setHold("live", "idempotency_key = 'other'"), insertHold("org-1", "m-9", "live", "1 hour")}},
		"another request":      {"holds_frozen", []string{setHold("live", "request_hash = 'x'")}},
		"another price":        {"holds_frozen", []string{setHold("live", "price_month_minor = price_month_minor + 1")}},
		"a class that changes": {"machine_classes_frozen", []string{`update machine_classes set ram_gb = 1`}},
	} {
		for _, a := range writers {
			err := s.try(a, c.statements...)
			// The application's roles may not even try some of these.
			denied := a.name != asOwner.name && pg.Code(err) == "42501"
			if pg.Constraint(err) != c.constraint && !denied {
				t.Errorf("%s, as %s: %v, want a refusal by %s", name, a.name, err, c.constraint)
			}
		}
	}
	s.invariant("one_occupant", "converted_one_to_one", "status_facts", "wiped_before_sale", "caps", "one_end", "held_machine_stays")
	// And the legal ones still work, as the application.
	for _, statements := range [][]string{
		{setHold("live", "expires_at = clock_timestamp() + interval '2 hours'")},
		sale("live", "m-1"),
		{setHold("overdue", "state = 'expired'")},
		{setMachine("m-5", "status = 'maintenance'")},
		{`update services set ended_at = clock_timestamp() where ended_at is null`, setMachine("m-1", "status = 'cleaning'")},
		{setMachine("m-6", "wiped_at = clock_timestamp()"), setMachine("m-6", "status = 'ready'")},
		{insertHold("org-2", "m-6", "again", "1 hour")},
		{setMachine("m-9", "status = 'retired'")},
	} {
		if err := s.run(asLogin, "read committed", statements...); err != nil {
			t.Errorf("%v: %v", statements, err)
		}
	}
	s.invariant("one_occupant", "converted_one_to_one", "status_facts", "wiped_before_sale")
}

// The application's roles can rewrite neither history nor what occupies.
func TestNothingIsDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 1, 5, 5)
	fixture.Equal(t, s.owner, "m", 1)
	s.must(insertHold("org-1", "m-1", "k", "1 hour"))
	for _, a := range []actor{asEngine, asLogin, asWeb} {
		for _, sql := range []string{
			"delete from holds", "delete from services", "delete from hold_events", "update hold_events set actor = 'x'",
			"delete from machine_events", "update machine_events set actor = 'x'", "delete from service_events",
			"delete from allocation_attempts", "update allocation_attempts set outcome = 'held'", "truncate holds cascade",
			"delete from organisations", "delete from org_limits", "drop trigger holds_guard on holds", "drop index holds_one_held_per_machine",
			"alter table holds disable trigger all", "set local session_replication_role = replica",
			"delete from hold_states", "update hold_states set occupies = false", "create table public.mine (a int)",
		} {
			if err := s.run(a, "read committed", sql); pg.Code(err) != "42501" {
				t.Errorf("%s: %s: %v", a.name, sql, err)
			}
		}
	}
}

// An UPDATE that waited for a lock holder across the deadline is refused, although the row did not
// change meanwhile and is not evaluated again.
func TestDeadlinePassesWhileWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock       string // held across the deadline and rolled back
		statements []string
		constraint string
	}{
		"convert, hold locked":    {"select from holds for update", sale("k", "m-1")[1:], "holds_deadline_passed"},
		"convert, machine locked": {"select from machines for update", sale("k", "m-1"), "services_live_hold"},
		"convert, limits locked":  {"select from org_limits for update", sale("k", "m-1"), "services_live_hold"},
		"extend, hold locked":     {"select from holds for update", []string{setHold("k", "expires_at = expires_at + interval '1 hour'")}, "holds_deadline_passed"},
		"extend, limits locked":   {"select from org_limits for update", []string{setHold("k", "expires_at = expires_at + interval '1 hour'")}, "holds_deadline_passed"},
		"both, hold locked":       {"select from holds for update", []string{setHold("k", "state = 'converted', expires_at = expires_at + interval '1 hour'")}, "holds_deadline_passed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			orgs(t, s, 1, 5, 5)
			fixture.Equal(t, s.owner, "m", 1)
			s.must(insertHold("org-1", "m-1", "k", "700 ms"))
			blocker := s.begin(asOwner, "read committed")
			mustExec(t, blocker, c.lock)
			tx := s.begin(asLogin, "read committed")
			done := exec(tx, c.statements[0])
			s.waits(tx)
			for s.count("select count(*) from holds where expires_at > clock_timestamp()") > 0 {
				time.Sleep(20 * time.Millisecond)
			}
			if err := blocker.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; pg.Constraint(err) != c.constraint {
				t.Errorf("%v, want a refusal by %s", err, c.constraint)
			}
			s.invariant("converted_in_time", "converted_one_to_one")
		})
	}
}

// An extension takes the organisation's lock: a hold that an order counted as gone does not come
// back beside it.
func TestExtensionCountsAgainstTheCap(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 1, 1, 5)
	fixture.Equal(t, s.owner, "m", 2)
	s.must(insertHold("org-1", "m-1", "k1", "500 ms"))
	extend := s.begin(asLogin, "read committed")
	order := s.begin(asLogin, "read committed")
	mustExec(t, order, "select from org_limits for no key update")
	done := exec(extend, setHold("k1", "expires_at = expires_at + interval '1 hour'"))
	s.waits(extend)
	for s.count("select count(*) from holds where expires_at > clock_timestamp()") > 0 {
		time.Sleep(20 * time.Millisecond)
	}
	mustExec(t, order, insertHold("org-1", "m-2", "k2", "1 hour"))
	if err := order.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; pg.Constraint(err) != "holds_deadline_passed" {
		t.Errorf("extension: %v", err)
	}
	s.invariant("caps")
}

// Retiring or deleting a machine beside an order for it: one of both is refused.
func TestRetireBesideHold(t *testing.T) {
	t.Parallel()
	for _, leave := range []string{setMachine("m-1", "status = 'retired'"), "delete from machines where asset_tag = 'm-1'"} {
		for _, level := range levels {
			s := newScene(t)
			orgs(t, s, 1, 5, 5)
			fixture.Equal(t, s.owner, "m", 1)
			hold := s.begin(asLogin, "read committed")
			retire := s.begin(asOwner, level)
			mustExec(t, retire, "select count(*) from holds")
			mustExec(t, hold, insertHold("org-1", "m-1", "k1", "1 hour"))
			done := exec(retire, leave)
			s.waits(retire)
			if err := hold.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; pg.Constraint(err) != "machines_occupied_stay" && pg.Code(err) != pg.CodeSerializationFailure {
				t.Errorf("%s: %s: %v", level, leave, err)
			}
			if err := s.run(asLogin, "read committed", setHold("k1", "state = 'cancelled'")); err != nil {
				t.Fatal(err)
			}
			_ = retire.Rollback(t.Context())
			// The other way round.
			retire = s.begin(asOwner, "read committed")
			mustExec(t, retire, setMachine("m-1", "status = 'retired'"))
			hold = s.begin(asLogin, "read committed")
			done = exec(hold, insertHold("org-1", "m-1", "k2", "1 hour"))
			s.waits(hold)
			if err := retire.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; pg.Constraint(err) != "machines_ready_to_occupy" {
				t.Errorf("%s: %v", level, err)
			}
		}
	}
}

// Ending a service beside the machine's return from maintenance into service: never an in_service
// machine without a service, in either order.
func TestEndBesideReturnToService(t *testing.T) {
	t.Parallel()
	const end = "update services set ended_at = clock_timestamp()"
	for _, returnFirst := range []bool{true, false} {
		s := newScene(t)
		orgs(t, s, 1, 5, 5)
		fixture.Equal(t, s.owner, "m", 1)
		s.must(insertHold("org-1", "m-1", "k", "1 hour"))
		s.must(sale("k", "m-1")...)
		s.must(setMachine("m-1", "status = 'maintenance'"))
		first, second := end, setMachine("m-1", "status = 'in_service'")
		if returnFirst {
			first, second = second, first
		}
		a, b := s.begin(asLogin, "read committed"), s.begin(asLogin, "read committed")
		mustExec(t, a, first)
		done := exec(b, second)
		s.waits(b)
		if err := a.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := <-done
		if err == nil {
			err = b.Commit(t.Context())
		}
		// Ended first, it cannot return; returned first, it goes on to be cleaned.
		want := map[bool]string{false: "machines_status_facts", true: ""}[returnFirst]
		if got := pg.Constraint(err); got != want || (err != nil) != (want != "") {
			t.Errorf("%s after %s: %v", second, first, err)
		}
		s.invariant("status_facts")
	}
}

// Plain SQL that begins or ends a service and forgets the machine: its status follows.
func TestStatusFollowsServices(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 1, 5, 5)
	fixture.Equal(t, s.owner, "m", 1)
	s.must(insertHold("org-1", "m-1", "k", "1 hour"))
	s.must(insertService("k"), setHold("k", "state = 'converted'"))
	status := func() string { return fixture.Get[string](t, s.owner, "select status from machines") }
	if got := status(); got != "in_service" {
		t.Errorf("sold by plain SQL, the machine is %s", got)
	}
	s.must("update services set ended_at = clock_timestamp()")
	if got := status(); got != "cleaning" {
		t.Errorf("ended by plain SQL, the machine is %s", got)
	}
	s.invariant("status_facts")
	s.invariant("wiped_before_sale")
}
