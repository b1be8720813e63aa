package redfish

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"

	"ironhold/provision/driver"
)

// bootOnce orders that the next start alone is from the network, and looks whether the BMC has the order.
// A machine must not be restarted without: it would start what is on its drives.
func (s *session) bootOnce() error {
	target := redfish.BootSourceOverrideTarget(s.cfg.Boot)
	if allowed := s.allowedTargets(); len(allowed) > 0 && !slices.Contains(allowed, target) {
		return driver.Permanent(fmt.Errorf("the BMC cannot start the machine from %s, only from %s", target, clean(fmt.Sprint(allowed))))
	}
	if s.bootIsSet() {
		return nil
	}
	want := redfish.Boot{BootSourceOverrideEnabled: redfish.OnceBootSourceOverrideEnabled, BootSourceOverrideTarget: target}
	if target == redfish.UefiHTTPBootSourceOverrideTarget {
		want.BootSourceOverrideMode = redfish.UEFIBootSourceOverrideMode
	}
	if err := s.setBoot(want); err != nil {
		return err
	}
	return s.until("the order to start from the network", s.bootIsSet)
}

// setBoot sends the order under the ETag of what was read. When the BMC says that this is not the
// present one, it is read again: another ETag means that somebody changed something; the same one means
// that this BMC compares wrongly, and then it is sent without.
func (s *session) setBoot(want redfish.Boot) error {
	const tries = 3
	var err error
	for range tries {
		tag := s.tag
		if err = s.system.SetBoot(want); status(err) != http.StatusPreconditionFailed {
			break
		}
		if failed := s.renew(); failed != nil {
			return failed
		}
		if s.bootIsSet() {
			return nil
		}
		s.system.DisableEtagMatch(s.tag == tag)
	}
	if err != nil {
		return s.failed("start from the network once", err)
	}
	return s.finish("start from the network once")
}

// bootIsSet reports whether the next start alone is from the network.
func (s *session) bootIsSet() bool {
	b := s.system.Boot
	return b.BootSourceOverrideEnabled == redfish.OnceBootSourceOverrideEnabled && string(b.BootSourceOverrideTarget) == s.cfg.Boot
}

// allowedTargets are what the BMC says it can start from; none when it does not say.
func (s *session) allowedTargets() []redfish.BootSourceOverrideTarget {
	var v struct {
		Boot struct {
			Allowed []redfish.BootSourceOverrideTarget `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
		}
	}
	if json.Unmarshal(s.system.RawData, &v) != nil {
		return nil
	}
	return v.Boot.Allowed
}

// bodyTag is the ETag inside a resource, for BMCs that send none as a header.
func bodyTag(raw []byte) string {
	var v struct {
		Tag string `json:"@odata.etag"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return v.Tag
}

// status is that of a BMC's refusal; 0 when the error is none.
func status(err error) int {
	if e, ok := errors.AsType[*common.Error](err); ok {
		return e.HTTPReturnedStatusCode
	}
	return 0
}
