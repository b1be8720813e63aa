package views

import (
	"context"
	"time"
)

// OrgRolloutPage shows and sets the module of an organisation.
type OrgRolloutPage struct {
	Org, Setting, Launch, Reason string
	Effective                    bool
	ChangedAt                    *time.Time
	ChangedBy                    string
	CanSet                       bool
	Faults                       []Fault
	Action                       string
	Flag                         *FlagState
	History                      []RolloutChange
}

// LaunchPage shows and sets the launch.
type LaunchPage struct {
	Launch    string // off, opt-in, on or a percentage
	Percent   string
	ChangedAt time.Time
	ChangedBy string
	Faults    []Fault
	Flag      *FlagState
	History   []RolloutChange
}

func (p LaunchPage) kind() string {
	switch p.Launch {
	case "off", "opt-in", "on":
		return p.Launch
	}
	return "percent"
}

// FlagState is where pages know from whether the module is on. State is "ready", "stale" or
// "away"; with Asked set, On is what they know for the organisation of the page.
type FlagState struct {
	State, Provider string
	Asked, On       bool
}

func (f FlagState) look() look {
	switch f.State {
	case "ready":
		return look{"ok", "check"}
	case "stale":
		return look{"few", "clock"}
	}
	return look{"few", "plug"}
}

// RolloutChange is one change of an organisation's setting, or of the launch.
type RolloutChange struct {
	At            time.Time
	Launch        bool
	Org           string
	Before, After string
	By            string
}

type rolloutReason struct {
	code, who string
	on        bool
}

func rolloutReasonList() []rolloutReason {
	return []rolloutReason{
		{"launch_off", "operator", false}, {"org_on", "", true}, {"org_off", "org-admin", false}, {"not_opted_in", "org-admin", false},
		{"percentage_in", "", true}, {"percentage_out", "org-admin", false}, {"launch_on", "", true},
	}
}

// rolloutValue puts a setting, or a launch, into words.
func rolloutValue(ctx context.Context, launch bool, value string) string {
	if !launch {
		return t(ctx, "rollout.setting."+value)
	}
	switch value {
	case "off", "opt-in", "on":
		return t(ctx, "launch.setting."+value)
	}
	return value
}
