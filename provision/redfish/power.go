package redfish

import (
	"fmt"
	"slices"

	"github.com/stmcginnis/gofish/redfish"

	"ironhold/provision/driver"
)

// Ways to switch a machine on, and to restart one that runs what nobody needs any more, by preference.
var (
	waysOn      = []redfish.ResetType{redfish.OnResetType, redfish.ForceOnResetType, redfish.PushPowerButtonResetType}
	waysRestart = []redfish.ResetType{redfish.ForceRestartResetType, redfish.PowerCycleResetType}
	waysOff     = []redfish.ResetType{redfish.ForceOffResetType, redfish.PushPowerButtonResetType}
)

// start switches the machine on, or restarts it, and looks whether it is on.
func (s *session) start() error {
	// Between two states is neither: what would be on is off a moment later.
	if err := s.until("the machine to be on or off", func() bool { return s.is(redfish.OnPowerState) || s.is(redfish.OffPowerState) }); err != nil {
		return err
	}
	if s.is(redfish.OnPowerState) {
		if way, ok := s.way(waysRestart); ok {
			return s.reset(way)
		}
		way, ok := s.way(waysOff)
		if !ok {
			return driver.Permanent(fmt.Errorf("the BMC can neither restart the machine nor switch it off, only %s", s.canReset()))
		}
		if err := s.post(way); err != nil {
			return err
		}
		if err := s.until("the machine to be off", func() bool { return s.is(redfish.OffPowerState) }); err != nil {
			return err
		}
		if !s.bootIsSet() { // some forget it when switched off
			if err := s.bootOnce(); err != nil {
				return err
			}
		}
	}
	way, ok := s.way(waysOn)
	if !ok {
		return driver.Permanent(fmt.Errorf("the BMC cannot switch the machine on, only %s", s.canReset()))
	}
	return s.reset(way)
}

// reset does it and looks whether the machine is on.
func (s *session) reset(way redfish.ResetType) error {
	if err := s.post(way); err != nil {
		return err
	}
	return s.until("the machine to be on", func() bool { return s.is(redfish.OnPowerState) })
}

func (s *session) post(way redfish.ResetType) error {
	// An ETag guards what is overwritten, and here nothing is.
	s.system.DisableEtagMatch(true)
	what := fmt.Sprintf("set the power: %s", way)
	if err := s.system.Reset(way); err != nil {
		return s.failed(what, err)
	}
	return s.finish(what)
}

func (s *session) is(state redfish.PowerState) bool { return s.system.PowerState == state }

// way is the first that the BMC offers; when it does not say what it offers, the first of all.
func (s *session) way(ways []redfish.ResetType) (redfish.ResetType, bool) {
	offered := s.system.SupportedResetTypes
	if len(offered) == 0 {
		return ways[0], true
	}
	for _, w := range ways {
		if slices.Contains(offered, w) {
			return w, true
		}
	}
	return "", false
}

func (s *session) canReset() string { return clean(fmt.Sprint(s.system.SupportedResetTypes)) }
