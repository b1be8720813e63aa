package allocator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/rollout"
)

// stage is a database with two equal machines, M and S, and three organisations: one has what the
// scene gives it, two and three order. Every run begins with a scene.
type stage struct {
	owner *pgxpool.Pool
	reset *pgxpool.Conn // without triggers, to set scenes
	watch *pgxpool.Conn

	app   *pgxpool.Pool
	alloc *allocator.Allocator
	book  *holds.Book
	fleet *fleet.Registry
	orgs  *accounts.Directory
	roll  *rollout.Store

	org  map[string]uuid.UUID
	turn time.Duration // to the deadline of the scene "turning"
}

const (
	sceneHold    = "00000000-0000-7000-8000-000000000001" // one's on M
	spareHold    = "00000000-0000-7000-8000-000000000002" // three's on S
	sceneService = "00000000-0000-7000-8000-000000000003" // one's on M
)

// scenes are what a run begins with, after the reset: both machines ready, nobody has any.
var scenes = map[string]string{
	"free": "",
	"live": heldByOne("M", "held", "10 minutes"),
	// The deadline passes while the first operation is stopped; see pass.
	"turning": heldByOne("M", "held", "%s"),
	// Held, but past the deadline: it counts as free.
	"overdue": heldByOne("M", "held", "-5 minutes"),
	// The held machine was taken out of sale.
	"withdrawn": heldByOne("M", "held", "10 minutes") + "update machines set status = 'maintenance' where asset_tag = 'M';",
	// The same, and the only machine equal to it has an overdue hold of another organisation.
	"withdrawn-overdue": heldByOne("M", "held", "10 minutes") +
		"update machines set status = 'maintenance' where asset_tag = 'M';" + `
insert into holds (id, org_id, machine_id, state, idempotency_key, price_month_minor, created_at, expires_at)
select '` + spareHold + `', o.id, m.id, 'held', 'scene', 4000, clock_timestamp() - interval '20 minutes', clock_timestamp() - interval '5 minutes'
  from organisations o, machines m where o.slug = 'three' and m.asset_tag = 'S';`,
	"sold": heldByOne("M", "converted", "10 minutes") + sold("null") +
		"update machines set status = 'in_service' where asset_tag = 'M';",
	// The service ended, the wipe is not recorded yet.
	"dirty": heldByOne("M", "converted", "-5 minutes") + sold("clock_timestamp() - interval '1 minute'") +
		"update machines set status = 'cleaning' where asset_tag = 'M';",
}

func heldByOne(tag, state, left string) string {
	return `
insert into holds (id, org_id, machine_id, state, idempotency_key, price_month_minor, created_at, expires_at)
select '` + sceneHold + `', o.id, m.id, '` + state + `', 'scene', 4000, clock_timestamp() - interval '10 minutes',
       clock_timestamp() + interval '` + left + `'
  from organisations o, machines m where o.slug = 'one' and m.asset_tag = '` + tag + `';`
}

func sold(ended string) string {
	return `
insert into services (id, org_id, machine_id, hold_id, started_at, ended_at, price_month_minor, setup_minor, currency)
select '` + sceneService + `', org_id, machine_id, id, created_at, ` + ended + `, 4000, 0, 'EUR'
  from holds where id = '` + sceneHold + `';
insert into provisionings (service_id, kind, org_id, machine_id, state, finished_at, finished_by)
select s.id, k.kind, s.org_id, s.machine_id, k.state, case when k.state <> 'queued' then s.started_at end, case when k.state <> 'queued' then 'scene' end
  from services s cross join (values ('install', 'done'), ('wipe', 'queued')) k (kind, state)
 where s.id = '` + sceneService + `' and (k.kind = 'install' or s.ended_at is not null);`
}

func newStage(t *testing.T) *stage {
	t.Helper()
	owner := pgtest.DB(t)
	fixture.NoDeadlock(t, owner)
	s := &stage{owner: owner, org: map[string]uuid.UUID{}}
	for _, slug := range []string{"one", "two", "three"} {
		s.org[slug] = fixture.Org(t, owner, slug, 5, 50)
	}
	fixture.Add(t, owner, fixture.Machine{Tag: "M"}, fixture.Machine{Tag: "S"})
	fixture.Exec(t, owner, "update rollout_launch set launch = 'on'")
	fixture.Exec(t, owner, "create table scene_machines as table machines")
	s.reset, s.watch = acquire(t, owner), acquire(t, owner)
	s.app = tracedApp(t, owner, 6)
	s.roll = rollout.New(s.app)
	s.alloc = allocator.New(s.app, allocator.Options{Budget: patience, Precondition: s.roll.Precondition()})
	t.Cleanup(func() { s.alloc.Close(context.Background()) })
	s.book = holds.New(s.app, holds.DefaultPolicy())
	s.fleet, s.orgs = fleet.New(s.app), accounts.New(s.app)
	return s
}

func acquire(t *testing.T, pool *pgxpool.Pool) *pgxpool.Conn {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn
}

// set begins a run with a scene.
func (s *stage) set(t *testing.T, scene string) {
	t.Helper()
	sql, ok := scenes[scene]
	if !ok {
		t.Fatalf("no scene is named %q", scene)
	}
	if scene == "turning" {
		sql = fmt.Sprintf(sql, s.turn)
	}
	_, err := s.reset.Conn().PgConn().Exec(t.Context(), `
begin;
set local session_replication_role = replica;
delete from services; delete from holds; delete from machines; delete from hold_events; delete from service_events;
delete from machine_events; delete from allocation_attempts; delete from provisionings; delete from provisioning_events;
insert into machines select * from scene_machines;
update org_limits set rollout = 'inherit', max_holds = 5 where (rollout, max_holds) <> ('inherit', 5);
update rollout_launch set launch = 'on' where launch <> 'on';`+sql+`
insert into hold_events (hold_id, org_id, machine_id, event, actor, after)
select h.id, h.org_id, h.machine_id, e.event, 'scene', '{}' from holds h, (values ('held'), ('converted')) e(event) where e.event in ('held', h.state);
insert into service_events (service_id, org_id, machine_id, event, actor, after)
select s.id, s.org_id, s.machine_id, e.event, 'scene', '{}' from services s, (values ('started'), ('ended')) e(event)
 where e.event = 'started' or s.ended_at is not null;
insert into machine_events (machine_id, event, actor, after)
select id, 'added', 'scene', jsonb_build_object('status', status) from machines;
commit`).ReadAll()
	if err != nil {
		t.Fatalf("scene %s: %v", scene, err)
	}
}

// sound asks everything that must always be true.
func (s *stage) sound(ctx context.Context, t *testing.T) {
	t.Helper()
	all, err := invariants.New(s.owner).WithSweepInterval(time.Hour).Check(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, v := range invariants.Violated(all) {
		t.Errorf("%s: %v", v.Name, v.Examples)
	}
}

// pass waits until the deadline of the scene's hold has passed. It is false when it had already: the
// machine is too busy to tell anything.
func (s *stage) pass(ctx context.Context) (bool, error) {
	var left time.Duration
	if err := s.watch.QueryRow(ctx, "select expires_at - clock_timestamp() from holds where id = $1", sceneHold).Scan(&left); err != nil {
		return false, err
	}
	time.Sleep(left + time.Millisecond)
	return left > 0, nil
}

// state is what is in the database, in words: status of M, status of S unless it is ready, what
// each organisation has on M, or on S where it says so, and settings that were changed. "+" marks
// an extended hold, "@" a price other than 4000. broken names what must never be so, or is "".
func (s *stage) state(ctx context.Context) (state, broken string, err error) {
	err = s.watch.QueryRow(ctx, "select "+stateInWords+", "+neverSo).Scan(&state, &broken)
	return state, broken, err
}

const stateInWords = `
concat_ws(' ',
  (select status || case when wiped_at is not null then ' wiped' else '' end
          || case when price_month_minor <> 4000 then '@' || price_month_minor else '' end from machines where asset_tag = 'M'),
  (select 'S:' || status || case when price_month_minor <> 4000 then '@' || price_month_minor else '' end from machines
    where asset_tag = 'S' and (status, price_month_minor) <> ('ready', 4000)),
  (select string_agg(o.slug || case when m.asset_tag = 'S' then ':S' else '' end || '=' || h.state
          || case when h.extended_at is not null then '+' else '' end
          || case when h.price_month_minor <> 4000 then '@' || h.price_month_minor else '' end, ' ' order by o.slug, h.created_at)
     from holds h join organisations o on o.id = h.org_id join machines m on m.id = h.machine_id),
  (select string_agg(case when v.ended_at is null then 'service' else 'ended' end, ' ') from services v),
  (select string_agg(o.slug || ':off', ' ') from org_limits l join organisations o on o.id = l.org_id where l.rollout = 'off'),
  (select string_agg(o.slug || ':cap' || l.max_holds, ' ') from org_limits l join organisations o on o.id = l.org_id where l.max_holds <> 5),
  (select 'launch:' || launch from rollout_launch where launch <> 'on'))`

const neverSo = `
concat_ws('; ',
  (select 'two occupants' from machines m
    where (select count(*) from holds where machine_id = m.id and state = 'held')
        + (select count(*) from services where machine_id = m.id and ended_at is null) > 1 limit 1),
  (select 'converted without a service' from holds h
    where state = 'converted' and not exists (select from services where hold_id = h.id) limit 1),
  (select 'a service whose hold is not converted' from services v join holds h on h.id = v.hold_id
    where h.state <> 'converted' limit 1),
  (select 'retired with an occupant' from machines m where status = 'retired'
      and (exists (select from holds where machine_id = m.id and state = 'held' and expires_at > clock_timestamp())
        or exists (select from services where machine_id = m.id and ended_at is null)) limit 1),
  (select 'for sale, but not wiped' from machines m where status = 'ready'
      and exists (select from services where machine_id = m.id and ended_at > coalesce(m.wiped_at, '-infinity')) limit 1),
  (select 'in service without a service' from machines m where status = 'in_service'
      and not exists (select from services where machine_id = m.id and ended_at is null) limit 1),
  (select 'a hold ended more than once: ' || count(*) from hold_events e where event in ('converted', 'expired', 'cancelled')
    group by hold_id having count(*) > 1 limit 1),
  (select 'an end without its history' from holds h where closed_at is not null
      and not exists (select from hold_events e where e.hold_id = h.id and e.event = h.state) limit 1))`
