package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Launch states besides a percentage such as "25%".
const (
	LaunchOff   = "off"
	LaunchOptIn = "opt-in"
	LaunchOn    = "on"
)

// Settings of an organisation.
const (
	Inherit = "inherit"
	On      = "on"
	Off     = "off"
)

// Reasons for the effective value.
const (
	ReasonLaunchOff     = "launch_off"
	ReasonOrgOn         = "org_on"
	ReasonOrgOff        = "org_off"
	ReasonNotOptedIn    = "not_opted_in"
	ReasonPercentageIn  = "percentage_in"
	ReasonPercentageOut = "percentage_out"
	ReasonLaunchOn      = "launch_on"
)

// Who can change an off; the names are roles.
const (
	byOperator = "operator"
	byOrgAdmin = "org-admin"
)

var launchPattern = regexp.MustCompile(`^(off|opt-in|on|([0-9]|[1-9][0-9]|100)%)$`)

// ValidLaunch reports whether s is off, opt-in, on, or 0% to 100%.
func ValidLaunch(s string) bool { return launchPattern.MatchString(s) }

// ValidSetting reports whether s is inherit, on or off.
func ValidSetting(s string) bool { return s == Inherit || s == On || s == Off }

// Decide tells whether the module is on for the organisation, and why. It depends on nothing else;
// values that it does not know are off.
func Decide(launch, setting string, org uuid.UUID) (on bool, reason string) {
	switch {
	case launch == LaunchOff || !ValidLaunch(launch):
		return false, ReasonLaunchOff
	case setting == On:
		return true, ReasonOrgOn
	case setting != Inherit:
		return false, ReasonOrgOff
	case launch == LaunchOptIn:
		return false, ReasonNotOptedIn
	case launch == LaunchOn:
		return true, ReasonLaunchOn
	}
	if percent, err := strconv.Atoi(strings.TrimSuffix(launch, "%")); err == nil && Share(org) < percent {
		return true, ReasonPercentageIn
	}
	return false, ReasonPercentageOut
}

// Share is the organisation's stable place among the undecided, 0 to 99: it is in from "share+1 %"
// on, and stays in as the percentage grows.
func Share(org uuid.UUID) int {
	sum := sha256.Sum256(org[:])
	return int(binary.BigEndian.Uint64(sum[:8]) % 100) //nolint:gosec // below 100
}

// WhoCanChange names the role that can turn a refusal with this reason into yes: nobody but the
// operator while the launch is off, else the organisation's admin by saying on. It is "" for the
// reasons that are no refusal.
func WhoCanChange(reason string) string {
	switch reason {
	case ReasonLaunchOff:
		return byOperator
	case ReasonOrgOff, ReasonNotOptedIn, ReasonPercentageOut:
		return byOrgAdmin
	}
	return ""
}
