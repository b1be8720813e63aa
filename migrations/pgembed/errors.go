//go:build unix

package pgembed

import "fmt"

// RunningError says that another process holds the data folder's lock.
type RunningError struct {
	Dir string // the data folder
	PID int    // the process that holds it, 0 when unknown
}

func (e *RunningError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("already running on data folder %s: stop the other process first or choose another folder", e.Dir)
	}
	return fmt.Sprintf("already running on data folder %s (process %d): stop it first or choose another folder", e.Dir, e.PID)
}

// NotRunningError says that there is no server to attach to.
type NotRunningError struct {
	Dir string
}

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("no server is running on data folder %s", e.Dir)
}

// DiskFullError says that the data folder's file system has no room. Nothing was
// removed; the server starts again when there is room.
type DiskFullError struct {
	Dir  string
	Free uint64 // bytes left for ordinary users
}

func (e *DiskFullError) Error() string {
	return fmt.Sprintf("disk full: %d MB free for data folder %s; nothing was removed, make room and start again", e.Free>>20, e.Dir)
}

// VersionError says that no installed PostgreSQL can read the existing data.
type VersionError struct {
	Dir  string
	Need int   // major version that wrote the data
	Have []int // major versions found
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("data folder %s was written by PostgreSQL %d, found only %v: install PostgreSQL %d or set IRONHOLD_PG_BIN to its bin folder",
		e.Dir, e.Need, e.Have, e.Need)
}
