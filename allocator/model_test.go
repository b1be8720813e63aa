package allocator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// The tests in this file's neighbours compare the allocator with a naive reference: every machine
// on its own, every rule written out once more from the design, over random small fleets.

// modelMachine is one machine of a random fleet with everything that a decision may look at.
type modelMachine struct {
	id      uuid.UUID
	tag     string
	lot     int32
	spec    fleet.Spec
	status  fleet.Status
	hold    string // "", "live", "overdue"
	service bool
	mine    bool // hold or service are of the organisation that asks
	since   time.Duration
	left    time.Duration // of the hold, negative when overdue
	past    []modelGrant  // holds that the asking organisation had before
}

type modelGrant struct{ ago, granted time.Duration }

// modelFleet is a fleet in the database, with the two organisations of the test.
type modelFleet struct {
	base     time.Time // the database's clock when the fleet was put in
	machines []modelMachine
	me       uuid.UUID
}

var (
	modelSites    = []string{"HEL1", "fsn1", "NBG1"}
	modelVendors  = []string{"", "Dell", "DELL", "Supermicro"}
	modelCPUs     = []string{"AMD EPYC 7302P", "Intel Xeon E-2276G"}
	modelFeatures = []string{"ipmi", "raid", "IPv6"}
)

// drawSpec draws a configuration of few distinct values.
func drawSpec(t *rapid.T) fleet.Spec {
	s := fleet.Spec{
		SiteCode: rapid.SampledFrom(modelSites).Draw(t, "site"), Vendor: rapid.SampledFrom(modelVendors).Draw(t, "vendor"),
		CPU: rapid.SampledFrom(modelCPUs).Draw(t, "cpu"), CPUCount: 1, Cores: rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "cores"),
		RAMGB: rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "ram"), ECC: rapid.Bool().Draw(t, "ecc"),
		NVMeGB: rapid.SampledFrom([]int{0, 480, 960}).Draw(t, "nvme"), SSDGB: rapid.SampledFrom([]int{0, 960}).Draw(t, "ssd"),
		HDDGB: rapid.SampledFrom([]int{0, 8000}).Draw(t, "hdd"), GPU: rapid.SampledFrom([]string{"", "RTX 4000"}).Draw(t, "gpu"),
		NICMbps: rapid.SampledFrom([]int{1000, 10000}).Draw(t, "nic"), Currency: "EUR",
		PriceMonthMinor: rapid.SampledFrom([]int64{0, 3000, 4000, 5000}).Draw(t, "price"),
	}
	s.Threads = s.Cores * rapid.IntRange(1, 2).Draw(t, "smt")
	for _, f := range modelFeatures {
		if rapid.Bool().Draw(t, f) {
			s.Features = append(s.Features, f)
		}
	}
	return s
}

// drawFleet draws up to 40 machines around a few configurations, so that many are equal and many
// differ in one thing.
func drawFleet(t *rapid.T) []modelMachine {
	shapes := make([]fleet.Spec, rapid.IntRange(1, 5).Draw(t, "shapes"))
	for i := range shapes {
		if i > 0 && rapid.Bool().Draw(t, "near") {
			shapes[i] = mutate(t, shapes[0])
		} else {
			shapes[i] = drawSpec(t)
		}
	}
	out := make([]modelMachine, rapid.IntRange(0, 40).Draw(t, "machines"))
	for i := range out {
		m := &out[i]
		m.tag = fmt.Sprintf("M%03d", i)
		m.id = uuid.New()
		m.lot = rapid.Int32Range(0, 5).Draw(t, "lot") << 28 // few, so that lots are equal too
		m.spec = rapid.SampledFrom(shapes).Draw(t, "shape")
		drawState(t, m)
	}
	return out
}

// mutate changes one thing.
func mutate(t *rapid.T, s fleet.Spec) fleet.Spec {
	other := drawSpec(t)
	switch rapid.IntRange(0, 6).Draw(t, "mutation") {
	case 0:
		s.SiteCode = other.SiteCode
	case 1:
		s.Vendor = other.Vendor
	case 2:
		s.RAMGB = other.RAMGB
	case 3:
		s.PriceMonthMinor = other.PriceMonthMinor
	case 4:
		s.Features = other.Features
	case 5:
		s.NVMeGB, s.GPU = other.NVMeGB, other.GPU
	case 6:
		s.ECC = !s.ECC
	}
	return s
}

// drawState draws a state that the database lets happen.
func drawState(t *rapid.T, m *modelMachine) {
	minutes := func(from, to int, label string) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Minute
	}
	m.status = fleet.Ready
	m.mine = rapid.Bool().Draw(t, "mine")
	switch rapid.IntRange(0, 9).Draw(t, "state") {
	case 0, 1:
		m.hold, m.since, m.left = "live", minutes(1, 20, "since"), minutes(5, 30, "left")
	case 2:
		m.hold, m.since, m.left = "overdue", minutes(20, 60, "since"), -minutes(1, 15, "over")
	case 3:
		m.service, m.status = true, rapid.SampledFrom([]fleet.Status{fleet.InService, fleet.InService, fleet.Maintenance, fleet.Ready}).Draw(t, "status")
	case 4:
		m.status = rapid.SampledFrom([]fleet.Status{fleet.Intake, fleet.Cleaning, fleet.Maintenance, fleet.Retired, fleet.InService}).Draw(t, "status")
	case 5:
		m.status, m.hold, m.since, m.left = fleet.Maintenance, "live", minutes(1, 20, "since"), minutes(5, 30, "left")
	case 6:
		m.status, m.hold, m.since, m.left = fleet.Retired, "overdue", minutes(20, 60, "since"), -minutes(1, 15, "over")
	}
	if rapid.IntRange(0, 3).Draw(t, "past") == 0 {
		for range rapid.IntRange(1, 4).Draw(t, "grants") {
			m.past = append(m.past, modelGrant{ago: time.Duration(rapid.SampledFrom([]int{2, 20, 23, 25}).Draw(t, "hours")) * time.Hour,
				granted: minutes(1, 4, "five") * 5})
		}
	}
}

// drawRequest draws a request in which most constraints are absent.
func drawRequest(t *rapid.T, machines []modelMachine) Request {
	var r Request
	some := func(label string) bool { return rapid.IntRange(0, 4).Draw(t, label) == 0 }
	if some("has sites") {
		r.Sites = rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"hel1"}, modelSites...)), 1, 2, strings.ToLower).Draw(t, "sites")
	}
	if some("has vendors") {
		r.Vendors = rapid.SliceOfN(rapid.SampledFrom([]string{"dell", "Supermicro", "HPE"}), 1, 2).Draw(t, "vendors")
	}
	if some("has cpu") {
		r.CPU = rapid.SampledFrom([]string{"epyc", "Xeon", "amd", "POWER"}).Draw(t, "cpu")
	}
	for _, f := range []struct {
		to     *int
		values []int
	}{
		{&r.MinCores, []int{4, 6, 8, 16, 32}}, {&r.MinThreads, []int{8, 16, 32}}, {&r.MinRAMGB, []int{32, 48, 64, 128, 256}},
		{&r.MinNVMeGB, []int{1, 480, 960}}, {&r.MinSSDGB, []int{960}}, {&r.MinHDDGB, []int{8000, 9000}}, {&r.MinNICMbps, []int{1000, 10000}},
	} {
		if some("has minimum") {
			*f.to = rapid.SampledFrom(f.values).Draw(t, "minimum")
		}
	}
	if some("has ecc") {
		r.ECC = new(rapid.Bool().Draw(t, "ecc"))
	}
	if some("has gpu") {
		r.GPU = new(rapid.Bool().Draw(t, "gpu"))
	}
	if some("has features") {
		r.Features = rapid.SliceOfN(rapid.SampledFrom([]string{"ipmi", "RAID", "ipv6", "rescue"}), 1, 3).Draw(t, "features")
	}
	if some("has price") {
		r.MaxPriceMonthMinor = new(rapid.SampledFrom([]int64{0, 2999, 3000, 4500}).Draw(t, "price"))
	}
	if len(machines) > 0 && some("has machine") {
		r.Machine = rapid.SampledFrom(machines).Draw(t, "machine").tag
	}
	return r
}

// reasonsOf is the reference: all reasons why m is not for the organisation that asks.
func reasonsOf(r *Request, m *modelMachine) []Reason {
	var out []Reason
	not := func(reason Reason, excluded bool) {
		if excluded {
			out = append(out, reason)
		}
	}
	among := func(list []string, s string) bool {
		for _, x := range list {
			if strings.ToLower(x) == strings.ToLower(s) { //nolint:staticcheck // another way than the code under test
				return true
			}
		}
		return false
	}
	s := &m.spec
	not(WrongSite, len(r.Sites) != 0 && !among(r.Sites, s.SiteCode))
	not(WrongVendor, len(r.Vendors) != 0 && !among(r.Vendors, s.Vendor))
	not(WrongCPU, strings.Index(strings.ToUpper(s.CPU), strings.ToUpper(r.CPU)) < 0) //nolint:staticcheck // as above
	not(TooFewCores, r.MinCores > s.Cores)
	not(TooFewThreads, r.MinThreads > s.Threads)
	not(TooLittleRAM, r.MinRAMGB > s.RAMGB)
	not(TooLittleNVMe, r.MinNVMeGB > s.NVMeGB)
	not(TooLittleSSD, r.MinSSDGB > s.SSDGB)
	not(TooLittleHDD, r.MinHDDGB > s.HDDGB)
	not(TooSlowNetwork, r.MinNICMbps > s.NICMbps)
	not(NoECC, r.ECC != nil && *r.ECC && !s.ECC)
	not(NoGPU, r.GPU != nil && *r.GPU && len(s.GPU) == 0)
	lacks := false
	for _, f := range r.Features {
		lacks = lacks || !among(s.Features, f)
	}
	not(MissingFeature, lacks)
	not(OverBudget, r.MaxPriceMonthMinor != nil && *r.MaxPriceMonthMinor < s.PriceMonthMinor)
	not(OtherMachine, r.Machine != "" && r.Machine != m.tag)
	not(NotReady, m.status != fleet.Ready && (m.status != fleet.InService || !m.service))
	not(HeldByAnother, m.hold == "live")
	not(InService, m.service)
	not(CoolingDown, m.granted()+15*time.Minute > 45*time.Minute)
	return out
}

// granted is the time that the asking organisation was given for m within a day.
func (m *modelMachine) granted() time.Duration {
	var sum time.Duration
	for _, g := range m.past {
		if g.ago < 24*time.Hour {
			sum += g.granted
		}
	}
	if m.hold != "" && m.mine {
		sum += m.since + m.left
	}
	return sum
}

// surplus is the over-fulfilment in eight-thousandths of a core.
func surplus(r *Request, s *fleet.Spec) int64 {
	cores := 0.0
	for _, x := range []struct{ have, want, perCore int }{
		{s.Cores, r.MinCores, 1}, {s.RAMGB, r.MinRAMGB, 4}, {s.NVMeGB, r.MinNVMeGB, 400}, {s.SSDGB, r.MinSSDGB, 800},
		{s.HDDGB, r.MinHDDGB, 8000}, {s.NICMbps, r.MinNICMbps, 4000},
	} {
		cores += float64(x.have-x.want) / float64(x.perCore)
	}
	if s.GPU != "" && (r.GPU == nil || !*r.GPU) {
		cores += 25
	}
	if s.ECC && (r.ECC == nil || !*r.ECC) {
		cores++
	}
	return int64(cores * 8000)
}

// onFleets runs f on random fleets that are in the database, one after another.
func onFleets(t *testing.T, f func(rt *rapid.T, a *Allocator, fl modelFleet)) {
	t.Helper()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	a := New(app, Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	me, other := fixture.Org(t, owner, "me", 1000, 1000), fixture.Org(t, owner, "other", 1000, 1000)
	for _, s := range append([]string{"EMPTY"}, modelSites...) {
		fixture.Exec(t, owner, "insert into sites (code, name) values ($1, $1)", s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		machines := drawFleet(rt)
		fl := modelFleet{machines: machines, me: me}
		if err := fl.store(t.Context(), owner, other); err != nil {
			t.Fatalf("store the fleet: %v", err) // not the fleet's fault: no use in shrinking it
		}
		f(rt, a, fl)
	})
}

// store replaces the fleet in the database. Occupancy is written with the triggers off: they are
// proven elsewhere, and here the past has to be made up.
func (fl *modelFleet) store(ctx context.Context, owner *pgxpool.Pool, other uuid.UUID) error {
	type row map[string]any
	machines, held, sold := []row{}, []row{}, []row{}
	return pgx.BeginFunc(ctx, owner, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&fl.base); err != nil {
			return err
		}
		hold := func(m *modelMachine, org uuid.UUID, state holds.State, since, granted time.Duration) uuid.UUID {
			id := uuid.New()
			held = append(held, row{"id": id, "org_id": org, "machine_id": m.id, "state": state, "key": id.String(),
				"created_at": fl.base.Add(-since), "expires_at": fl.base.Add(granted - since)})
			return id
		}
		for i := range fl.machines {
			m := &fl.machines[i]
			org := other
			if m.mine {
				org = fl.me
			}
			machines = append(machines, row{"id": m.id, "asset_tag": m.tag, "site_code": m.spec.SiteCode, "vendor": m.spec.Vendor,
				"cpu": m.spec.CPU, "cores": m.spec.Cores, "threads": m.spec.Threads, "ram_gb": m.spec.RAMGB, "ecc": m.spec.ECC,
				"nvme_gb": m.spec.NVMeGB, "ssd_gb": m.spec.SSDGB, "hdd_gb": m.spec.HDDGB, "gpu": m.spec.GPU, "nic_mbps": m.spec.NICMbps,
				"features": append([]string{}, m.spec.Features...), "price": m.spec.PriceMonthMinor, "lot": m.lot, "status": m.status})
			if m.hold != "" {
				hold(m, org, holds.Held, m.since, m.since+m.left)
			}
			if m.service {
				id := hold(m, org, holds.Converted, 48*time.Hour, 15*time.Minute)
				sold = append(sold, row{"org_id": org, "machine_id": m.id, "hold_id": id})
			}
			for _, g := range m.past {
				hold(m, fl.me, holds.Cancelled, g.ago, g.granted)
			}
		}
		for _, step := range []struct {
			sql  string
			rows any
		}{
			{"set local session_replication_role = replica", nil},
			{"delete from services", nil}, {"delete from holds", nil}, {"delete from machines", nil},
			{"set local session_replication_role = origin", nil},
			{`insert into machines (id, asset_tag, site_code, vendor, cpu, cores, threads, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb, gpu,
			   nic_mbps, features, price_month_minor, lot)
			 select id, asset_tag, site_code, vendor, cpu, cores, threads, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb, gpu, nic_mbps, features, price, lot
			   from jsonb_to_recordset($1) x(id uuid, asset_tag text, site_code text, vendor text, cpu text, cores int, threads int, ram_gb int,
			     ecc boolean, nvme_gb int, ssd_gb int, hdd_gb int, gpu text, nic_mbps int, features text[], price bigint, lot int)`, machines},
			{"set local session_replication_role = replica", nil},
			{"update machines m set status = x.status from jsonb_to_recordset($1) x(id uuid, status text) where m.id = x.id", machines},
			{`insert into holds (id, org_id, machine_id, state, idempotency_key, created_at, expires_at)
			 select id, org_id, machine_id, state, key, created_at, expires_at from jsonb_to_recordset($1)
			   x(id uuid, org_id uuid, machine_id uuid, state text, key text, created_at timestamptz, expires_at timestamptz)`, held},
			{`insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
			 select org_id, machine_id, hold_id, 0, 0, 'EUR' from jsonb_to_recordset($1) x(org_id uuid, machine_id uuid, hold_id uuid)`, sold},
		} {
			var args []any
			if step.rows != nil {
				args = []any{step.rows}
			}
			if _, err := tx.Exec(ctx, step.sql, args...); err != nil {
				return fmt.Errorf("%s: %w", step.sql[:min(30, len(step.sql))], err)
			}
		}
		return nil
	})
}

// eligible counts the machines that the reference finds no reason against.
func (fl *modelFleet) eligible(r *Request) []*modelMachine {
	var out []*modelMachine
	for i := range fl.machines {
		if len(reasonsOf(r, &fl.machines[i])) == 0 {
			out = append(out, &fl.machines[i])
		}
	}
	return out
}

// excludedBy lists the machines that exactly these reasons exclude.
func (fl *modelFleet) excludedBy(r *Request, reasons ...Reason) []*modelMachine {
	var out []*modelMachine
	for i := range fl.machines {
		if slices.Equal(reasonsOf(r, &fl.machines[i]), reasons) {
			out = append(out, &fl.machines[i])
		}
	}
	return out
}

// relaxed is the request with one field set as an API client would set it.
func relaxed(t interface{ Fatalf(string, ...any) }, r *Request, field string, value any) Request {
	fields := map[string]any{}
	if err := json.Unmarshal(toJSON(r), &fields); err != nil {
		t.Fatalf("request: %v", err)
	}
	fields[field] = value
	var out Request
	d := json.NewDecoder(strings.NewReader(string(toJSON(fields))))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%s = %v: %v", field, value, err)
	}
	return out
}
