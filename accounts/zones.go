package accounts

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed zones.txt
var zoneNames string

// TimeZones lists the names of time zones to choose from, one for each place that has its own;
// other names of the zone database are accepted too.
func TimeZones() []string { return slices.Clone(zones) }

var zones = strings.Fields(zoneNames)

// KnownTimeZone reports whether a person may have the time zone.
func KnownTimeZone(name string) bool { return name != "" && checkTimeZone(name) == nil }
