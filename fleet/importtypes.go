package fleet

import (
	"fmt"
	"time"
)

// ImportOptions say how a file is taken in.
type ImportOptions struct {
	DryRun   bool           // compare and report, write nothing
	Progress func(done int) // called after each batch with the number of rows seen; may be nil
	Wait     time.Duration  // how long to wait for another import to end; 10 s when zero
}

// Report is the outcome of an import. Every data row is counted once:
// Added + Changed + Unchanged + len(Refused) is the number of data rows.
type Report struct {
	Added     int      `json:"added"`
	Changed   int      `json:"changed"`
	Unchanged int      `json:"unchanged"`
	Refused   []Notice `json:"refused"`
	Warnings  []Notice `json:"warnings"` // imported all the same
	DryRun    bool     `json:"dry_run"`
}

// Notice is about one line of the file. Line counts physical lines from 1; 0 means the whole file.
type Notice struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// FileError says why a file was refused as a whole, before any row: one line for people.
type FileError struct {
	Reason string
}

func (e *FileError) Error() string { return e.Reason }

// ImportBusy says that another import was still running after the wait.
type ImportBusy struct {
	Waited time.Duration
}

func (e *ImportBusy) Error() string {
	return fmt.Sprintf("another import is running; waited %s for it to end, try again later", e.Waited)
}
