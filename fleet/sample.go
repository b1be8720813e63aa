package fleet

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

//go:embed sample/*.csv
var sampleFiles embed.FS

// sampleSites are invented; the places and their time zones are real.
var sampleSites = []struct {
	Site
	file string
}{
	{Site{Code: "GOT1", Name: "Gothenburg", Country: "SE", TimeZone: "Europe/Stockholm", DeliveryHours: new(4)}, "sample/gothenburg.csv"},
	{Site{Code: "LEJ1", Name: "Leipzig", Country: "DE", TimeZone: "Europe/Berlin", DeliveryHours: new(4)}, "sample/leipzig.csv"},
	{Site{Code: "OPO1", Name: "Porto", Country: "PT", TimeZone: "Europe/Lisbon", DeliveryHours: new(24)}, "sample/porto.csv"},
	{Site{Code: "YUL1", Name: "Montreal", Country: "CA", TimeZone: "America/Toronto"}, "sample/montreal.csv"},
}

var sampleMoves = []struct {
	tag    string
	to     Status
	reason string
}{
	{"GOT-1058", Maintenance, "Fan 3 has failed, part ordered"},
	{"LEJ-1056", Maintenance, "Correctable memory errors in slot A2"},
	{"OPO-1028", Maintenance, "Second power supply is being replaced"},
	{"YUL-1025", Maintenance, "Firmware update did not finish"},
	{"GOT-1059", Retired, "End of life: no more spare parts"},
	{"LEJ-1057", Retired, "End of life: mainboard failed"},
	{"YUL-1026", Retired, "End of life: replaced by a newer model"},
}

// Sample loads the sample fleet: 196 machines at four sites, six large classes and some single
// machines, in every status but in_service, which comes by sales. Loading it again changes
// nothing but the sites. What is delivered from Montreal is asked for: nothing is promised there.
func (r *Registry) Sample(ctx context.Context, by pg.By) error {
	err := pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		for _, s := range sampleSites {
			_, err := tx.Exec(ctx, `insert into sites (code, name, country, time_zone, delivery_hours) values ($1, $2, $3, $4, $5)
				on conflict (code) do update set name = excluded.name, country = excluded.country, time_zone = excluded.time_zone,
					delivery_hours = excluded.delivery_hours`, s.Code, s.Name, s.Country, s.TimeZone, s.DeliveryHours)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sample sites: %w", err)
	}
	for _, s := range sampleSites {
		if err := r.sampleFile(ctx, by, s.file); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
	}
	for _, move := range sampleMoves {
		m, err := r.Machine(ctx, move.tag)
		if err == nil && m.Status == Ready {
			_, err = r.SetStatus(ctx, by, move.tag, move.to, move.reason)
		}
		if err != nil {
			return fmt.Errorf("sample machine %s: %w", move.tag, err)
		}
	}
	return nil
}

func (r *Registry) sampleFile(ctx context.Context, by pg.By, name string) error {
	f, err := sampleFiles.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // embedded
	report, err := r.Import(ctx, by, f, ImportOptions{})
	if err != nil {
		return err
	}
	if len(report.Refused) > 0 {
		return fmt.Errorf("line %d: %s", report.Refused[0].Line, report.Refused[0].Reason)
	}
	return nil
}
