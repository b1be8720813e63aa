package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// planAnew has a statement planned at each call: a plan kept from when the table was small would
// read all of it for every batch.
const planAnew = pgx.QueryExecModeCacheDescribe

// outcome is what became of one batch.
type outcome struct {
	added, changed, unchanged int
	refused                   []Notice
	moved                     []string // have another status than the file says
	unpriced                  int      // added without a price
}

// apply compares the rows with the machines and, unless it is a dry run, writes the differences:
// locks first, in the order of the machines' ids, then the comparison again on what is locked.
func (im *importer) apply(ctx context.Context, tx pgx.Tx, rows []row) (outcome, error) {
	tags := make([]string, len(rows))
	for i, row := range rows {
		tags[i] = row.machine.AssetTag
	}
	known, err := machinesBy(ctx, tx, "join unnest($1::text[]) as wanted(tag) on asset_tag = tag", tags)
	if err != nil {
		return outcome{}, err
	}
	if !im.dry {
		var ids []uuid.UUID
		for _, row := range rows {
			if old, ok := known[row.machine.AssetTag]; ok {
				if m, fault := im.header.merge(old, row.machine); fault == "" && !sameFacts(old, m) {
					ids = append(ids, old.ID)
				}
			}
		}
		if len(ids) > 0 {
			locked, err := machinesBy(ctx, tx, "join unnest($1::uuid[]) as wanted(machine) on id = machine order by id for no key update of machines", ids)
			if err != nil {
				return outcome{}, err
			}
			for tag, m := range locked {
				known[tag] = m
			}
		}
	}
	var (
		out     outcome
		added   []Machine
		changed []Machine
	)
	for _, row := range rows {
		old, ok := known[row.machine.AssetTag]
		if !ok {
			m := row.machine
			if m.ID, err = uuid.NewV7(); err != nil {
				return outcome{}, fmt.Errorf("machine id: %w", err)
			}
			added = append(added, m)
			if m.PriceMonthMinor == 0 && m.Status != Retired {
				out.unpriced++
			}
			continue
		}
		m, fault := im.header.merge(old, row.machine)
		switch {
		case fault != "":
			out.refused = append(out.refused, Notice{Line: row.line, Reason: fault})
			continue
		case sameFacts(old, m):
			out.unchanged++
		default:
			changed = append(changed, m)
		}
		if im.header.has(colStatus) && old.Status != row.machine.Status {
			out.moved = append(out.moved, old.AssetTag)
		}
	}
	out.added, out.changed = len(added), len(changed)
	if im.dry {
		return out, nil
	}
	return out, write(ctx, tx, added, changed)
}

// machinesBy returns machines by asset tag, their features sorted as those of rows are: the
// database sorts them by its own collation.
func machinesBy(ctx context.Context, tx pgx.Tx, where string, arg any) (map[string]Machine, error) {
	rows, err := tx.Query(ctx, "select "+columns+" from machines "+where, planAnew, arg)
	if err != nil {
		return nil, fmt.Errorf("read machines: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Machine])
	if err != nil {
		return nil, fmt.Errorf("read machines: %w", err)
	}
	known := make(map[string]Machine, len(list))
	for _, m := range list {
		slices.Sort(m.Features)
		known[m.AssetTag] = m
	}
	return known, nil
}

// sent is a machine as it travels to the server: all rows of a batch in one JSON array.
type sent struct {
	ID       uuid.UUID `json:"id"`
	AssetTag string    `json:"asset_tag"`
	SiteCode string    `json:"site_code"`
	Room     string    `json:"room"`
	Rack     string    `json:"rack"`
	Vendor   string    `json:"vendor"`
	Model    string    `json:"model"`
	Serial   string    `json:"serial"`
	CPU      string    `json:"cpu"`
	CPUCount int       `json:"cpu_count"`
	Cores    int       `json:"cores"`
	Threads  int       `json:"threads"`
	RAM      string    `json:"ram"`
	RAMGB    int       `json:"ram_gb"`
	ECC      bool      `json:"ecc"`
	NVMeGB   int       `json:"nvme_gb"`
	SSDGB    int       `json:"ssd_gb"`
	HDDGB    int       `json:"hdd_gb"`
	Drives   []Drive   `json:"drives"`
	GPU      string    `json:"gpu"`
	NICMbps  int       `json:"nic_mbps"`
	Features []string  `json:"features"`
	Price    int64     `json:"price_month_minor"`
	Setup    int64     `json:"setup_minor"`
	Currency string    `json:"currency"`
	Status   Status    `json:"status"`
}

// sentFacts are the columns that an import writes.
var sentFacts = strings.Fields(`site_code room rack vendor model serial cpu cpu_count cores threads ram ram_gb ecc
	nvme_gb ssd_gb hdd_gb drives gpu nic_mbps features price_month_minor setup_minor currency`)

const sentRows = `jsonb_to_recordset($1) as r(id uuid, asset_tag text, site_code text, room text, rack text, vendor text,
	model text, serial text, cpu text, cpu_count int, cores int, threads int, ram text, ram_gb int, ecc boolean,
	nvme_gb int, ssd_gb int, hdd_gb int, drives jsonb, gpu text, nic_mbps int, features text[],
	price_month_minor bigint, setup_minor bigint, currency text, status text)`

func addSQL() string {
	facts := strings.Join(sentFacts, ", ")
	return `insert into machines (id, asset_tag, status, status_reason, status_by, ` + facts + `)
		select id, asset_tag, status, 'imported', (select ironhold_actor()), ` + facts + ` from ` + sentRows + ` order by asset_tag`
}

func changeSQL() string {
	var sets strings.Builder
	for _, column := range sentFacts {
		sets.WriteString(column + " = r." + column + ", ")
	}
	return `update machines m set ` + sets.String() + `updated_at = clock_timestamp() from ` + sentRows + ` where m.id = r.id`
}

func send(list []Machine) []sent {
	out := make([]sent, len(list))
	for i, m := range list {
		out[i] = sent{
			ID: m.ID, AssetTag: m.AssetTag, SiteCode: m.SiteCode, Room: m.Room, Rack: m.Rack, Vendor: m.Vendor,
			Model: m.Model, Serial: m.Serial, CPU: m.CPU, CPUCount: m.CPUCount, Cores: m.Cores, Threads: m.Threads,
			RAM: m.RAM, RAMGB: m.RAMGB, ECC: m.ECC, NVMeGB: m.NVMeGB, SSDGB: m.SSDGB, HDDGB: m.HDDGB, Drives: m.Drives,
			GPU: m.GPU, NICMbps: m.NICMbps, Features: m.Features, Price: m.PriceMonthMinor, Setup: m.SetupMinor,
			Currency: m.Currency, Status: m.Status,
		}
	}
	return out
}

// write stores the added and the changed machines; the changed ones are locked. Sites come first,
// and new classes come last of all locks, since importers and others queue for adding classes.
func write(ctx context.Context, tx pgx.Tx, added, changed []Machine) error {
	if len(added)+len(changed) == 0 {
		return nil
	}
	sites := map[string]bool{}
	for _, m := range slices.Concat(added, changed) {
		sites[m.SiteCode] = true
	}
	if err := addSites(ctx, tx, sites); err != nil {
		return err
	}
	if len(changed) > 0 {
		tell, err := tx.Exec(ctx, changeSQL(), planAnew, send(changed))
		if err != nil {
			return fmt.Errorf("change machines: %w", err)
		}
		if tell.RowsAffected() != int64(len(changed)) {
			return fmt.Errorf("change machines: %d of %d locked rows are there", tell.RowsAffected(), len(changed))
		}
	}
	if len(added) > 0 {
		_, err := tx.Exec(ctx, addSQL(), planAnew, send(added))
		if err != nil {
			return fmt.Errorf("add machines: %w", err)
		}
	}
	return nil
}

func addSites(ctx context.Context, tx pgx.Tx, codes map[string]bool) error {
	list := make([]string, 0, len(codes))
	for code := range codes {
		list = append(list, code)
	}
	slices.Sort(list)
	_, err := tx.Exec(ctx, `insert into sites (code, name, time_zone)
		select c, c, 'UTC' from unnest($1::text[]) c
		where not exists (select from sites where code = c) order by c on conflict (code) do nothing`, list)
	if err != nil {
		return fmt.Errorf("add sites: %w", err)
	}
	return nil
}
