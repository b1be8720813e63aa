package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Site is a place with machines.
type Site struct {
	Code     string `db:"code" json:"code"`
	Name     string `db:"name" json:"name"`
	Country  string `db:"country" json:"country"` // of ISO 3166, as SE, or ""
	TimeZone string `db:"time_zone" json:"time_zone"`
	// Within how many hours of the confirmation a machine is ready; nil: on request.
	DeliveryHours *int `db:"delivery_hours" json:"delivery_hours"`
}

// The bounds of what an operator says about a site.
const (
	MaxSiteName      = 100  // characters
	MaxDeliveryHours = 8760 // a year
)

var countryPattern = regexp.MustCompile(`^([A-Z]{2})?$`)

const siteColumns = "code, name, country, time_zone, delivery_hours"

// Sites returns all sites by code.
func (r *Registry) Sites(ctx context.Context) (list []Site, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "select "+siteColumns+" from sites order by code")
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Site])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	return list, nil
}

// Site returns one site; *NotFound when there is none of this code.
func (r *Registry) Site(ctx context.Context, code string) (s Site, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		s, err = siteByCode(ctx, tx, code, "")
		return err
	})
	return s, err
}

func siteByCode(ctx context.Context, tx pgx.Tx, code, lock string) (Site, error) {
	rows, err := tx.Query(ctx, "select "+siteColumns+" from sites where code = $1 "+lock, storable(code))
	if err != nil {
		return Site{}, fmt.Errorf("site %s: %w", code, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Site])
	if err != nil {
		return Site{}, fmt.Errorf("site %s: %w", code, err)
	}
	if len(list) == 0 {
		return Site{}, &NotFound{Site: code}
	}
	return list[0], nil
}

// SetSite says what a site is; its code stays. Errors: *Invalid with the field, *NotFound.
// Saying again what is known changes nothing and leaves no trace in the history.
func (r *Registry) SetSite(ctx context.Context, by pg.By, s Site) error {
	s.Name, s.Country, s.TimeZone = strings.TrimSpace(s.Name), strings.ToUpper(strings.TrimSpace(s.Country)), strings.TrimSpace(s.TimeZone)
	if err := s.check(); err != nil {
		return err
	}
	return r.changed(pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		if _, err := siteByCode(ctx, tx, s.Code, "for no key update"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update sites set name = $2, country = $3, time_zone = $4, delivery_hours = $5
			where code = $1 and (name, country, time_zone, delivery_hours) is distinct from ($2, $3, $4, $5::int)`,
			s.Code, s.Name, s.Country, s.TimeZone, s.DeliveryHours)
		if err != nil {
			return fmt.Errorf("site %s: %w", s.Code, err)
		}
		return nil
	}))
}

func (s Site) check() error {
	switch n := utf8.RuneCountInString(s.Name); {
	case n == 0:
		return &Invalid{Field: "name", Message: "is required: how people call the place"}
	case n > MaxSiteName:
		return &Invalid{Field: "name", Message: fmt.Sprintf("has %d characters; at most %d are allowed", n, MaxSiteName)}
	case !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, unprintable):
		return &Invalid{Field: "name", Message: "must be text in one line"}
	case !countryPattern.MatchString(s.Country):
		return &Invalid{Field: "country", Message: "must be two letters of ISO 3166, as SE, or empty"}
	case !knownZone(s.TimeZone):
		return &Invalid{Field: "time_zone", Message: fmt.Sprintf("%s is none; allowed: a name of the zone database, as Europe/Stockholm", show(s.TimeZone))}
	case s.DeliveryHours != nil && (*s.DeliveryHours < 1 || *s.DeliveryHours > MaxDeliveryHours):
		return &Invalid{Field: "delivery_hours", Message: fmt.Sprintf("must be a whole number from 1 to %d, or empty", MaxDeliveryHours)}
	}
	return nil
}

func knownZone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// SiteEvent is one entry of a site's history. Before is nil when the site was added.
type SiteEvent struct {
	At     time.Time
	Actor  string
	Before *Site
	After  Site
}

// maxSiteEvents bounds how much history one answer carries; the newest count.
const maxSiteEvents = 50

// SiteEvents returns the newest entries of a site's history, the newest first.
func (r *Registry) SiteEvents(ctx context.Context, code string) (list []SiteEvent, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select at, actor, before, after from site_events where site_code = $1
			order by at desc, id desc limit $2`, storable(code), maxSiteEvents)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e SiteEvent, err error) {
			var before, after []byte
			if err = row.Scan(&e.At, &e.Actor, &before, &after); err != nil {
				return e, err
			}
			if before != nil {
				if err = json.Unmarshal(before, &e.Before); err != nil {
					return e, err
				}
			}
			return e, json.Unmarshal(after, &e.After)
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("history of site %s: %w", code, err)
	}
	return list, nil
}
