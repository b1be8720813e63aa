package redfish

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/stmcginnis/gofish/redfish"

	"ironhold/provision/driver"
)

// LateError says that a BMC took an order and nothing came of it.
type LateError struct{ For, Sees string }

func (e *LateError) Error() string {
	return fmt.Sprintf("waited for %s, but the BMC sees: %s", e.For, e.Sees)
}

// until looks at the system until it is as awaited, for Patience at most. A BMC that is busy with the
// order does not answer each look; that is not yet a failure.
func (s *session) until(what string, awaited func() bool) error {
	begun := time.Now() //nolint:forbidigo // a duration
	for {
		err := s.renew()
		if err == nil && awaited() {
			return nil
		}
		if driver.IsPermanent(err) {
			return err
		}
		if time.Since(begun) >= s.cfg.Patience {
			if err != nil {
				return err
			}
			return &LateError{what, s.told()}
		}
		if err := s.pause(); err != nil {
			return err
		}
	}
}

func (s *session) pause() error {
	t := time.NewTimer(s.cfg.Poll)
	defer t.Stop()
	select {
	case <-s.ctx.Done():
		return s.ctx.Err()
	case <-t.C:
		return nil
	}
}

// finish waits for an order that the BMC took as a task. How the task ended is looked at, since a task
// may fail; one that has vanished says nothing, and what came of the order is looked at in any case.
func (s *session) finish(what string) error {
	monitor := s.monitor
	if monitor == "" {
		return nil
	}
	begun := time.Now() //nolint:forbidigo // a duration
	for {
		state, code, err := s.lookAtTask(monitor)
		switch {
		case status(err) == http.StatusNotFound || status(err) == http.StatusGone:
			return nil
		case err != nil && status(err) != http.StatusServiceUnavailable:
			return s.failed(what, err)
		case state == redfish.ExceptionTaskState || state == redfish.KilledTaskState || state == redfish.CancelledTaskState:
			return fmt.Errorf("the BMC's task to %s ended as %s", what, state)
		case err == nil && code != http.StatusAccepted && !unfinished(state):
			return nil
		case time.Since(begun) >= s.cfg.Patience:
			return &LateError{"the BMC's task to " + what, clean(string(state))}
		}
		if err := s.pause(); err != nil {
			return err
		}
	}
}

// lookAtTask reads a task or its monitor. A monitor answers 202 while the task runs.
func (s *session) lookAtTask(monitor string) (redfish.TaskState, int, error) {
	resp, err := s.api.Get(monitor)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	var v struct{ TaskState redfish.TaskState }
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		v.TaskState = "" // a finished monitor may answer with nothing
	}
	return v.TaskState, resp.StatusCode, nil
}

func unfinished(s redfish.TaskState) bool {
	switch s {
	case redfish.NewTaskState, redfish.StartingTaskState, redfish.RunningTaskState, redfish.SuspendedTaskState, redfish.InterruptedTaskState,
		redfish.PendingTaskState, redfish.StoppingTaskState, redfish.ServiceTaskState, redfish.CancellingTaskState:
		return true
	}
	return false
}
