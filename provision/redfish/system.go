package redfish

import (
	"fmt"
	"strings"

	"github.com/stmcginnis/gofish/redfish"

	"ironhold/provision/driver"
)

// find looks for the system with the machine's serial, and takes no other. One BMC may have several
// systems, as in a chassis of blades.
func (s *session) find(serial string) error {
	serial = strings.TrimSpace(serial)
	if serial == "" {
		return driver.Permanent(fmt.Errorf("the inventory has no serial number of %s; nothing was changed", s.task.Machine.Tag))
	}
	all, err := s.api.Service.Systems()
	if err != nil {
		return s.failed("list its systems", err)
	}
	var seen []string
	for _, c := range all {
		switch {
		case !isMachine(c, serial):
			seen = append(seen, strings.Join(serials(c), " or "))
		case s.system != nil:
			return driver.Permanent(fmt.Errorf("the BMC has two systems with the serial number %s; nothing was changed", serial))
		default:
			s.system = c
		}
	}
	if s.system == nil {
		return driver.Permanent(&WrongMachineError{Tag: s.task.Machine.Tag, Want: serial, Got: clean(strings.Join(seen, ", "))})
	}
	return s.renew() // once more, by itself: the ETag is that of the last answer
}

// WrongMachineError says that another machine is behind the address: a wrong cable or a wrong inventory.
type WrongMachineError struct{ Tag, Want, Got string }

func (e *WrongMachineError) Error() string {
	got := "a machine with the serial number " + e.Got
	if e.Got == "" {
		got = "no machine with a serial number"
	}
	return fmt.Sprintf("behind the BMC address of %s is %s, not %s; nothing was changed", e.Tag, got, e.Want)
}

func isMachine(c *redfish.ComputerSystem, serial string) bool {
	for _, has := range serials(c) {
		if strings.EqualFold(has, serial) {
			return true
		}
	}
	return false
}

// serials are what may be on the machine's label. Dell has the service tag, which is on the label and in
// inventories, as the SKU, and the mainboard's number as the serial. With others the SKU is the model's
// and tells no machine from its neighbour.
func serials(c *redfish.ComputerSystem) []string {
	var all []string
	if v := strings.TrimSpace(c.SerialNumber); v != "" {
		all = append(all, v)
	}
	if v := strings.TrimSpace(c.SKU); v != "" && strings.Contains(strings.ToLower(c.Manufacturer), "dell") {
		all = append(all, v)
	}
	return all
}

// renew reads the system again, and makes sure that it is still the same machine.
func (s *session) renew() error {
	again, err := redfish.GetComputerSystem(s.api, s.system.ODataID)
	if err != nil {
		return s.failed("read its system", err)
	}
	if !isMachine(again, strings.TrimSpace(s.task.Machine.Serial)) {
		return driver.Permanent(&WrongMachineError{s.task.Machine.Tag, s.task.Machine.Serial, clean(strings.Join(serials(again), " or "))})
	}
	if s.tag == "" {
		s.tag = bodyTag(again.RawData)
		again.SetETag(s.tag)
	}
	s.system = again
	return nil
}

// told is what the BMC sees, for staff.
func (s *session) told() string {
	text := fmt.Sprintf("power %s, next start %s %s", s.system.PowerState, s.system.Boot.BootSourceOverrideEnabled, s.system.Boot.BootSourceOverrideTarget)
	if p := s.system.BootProgress.LastState; p != "" {
		text += ", boot progress " + string(p)
	}
	return clean(text)
}
