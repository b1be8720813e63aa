package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

const (
	// batchRows is how many rows one transaction takes in.
	batchRows = 500
	// batchTries bounds how often a batch is tried again after a lock it did not get.
	batchTries = 5
	// importKey is the advisory lock of imports; any constant will do.
	importKey = 727_003_002
	// importWait is how long an import waits for another one unless the options say otherwise.
	importWait = 10 * time.Second
	// maxNotices bounds the warnings of one report.
	maxNotices = 200
)

// Import takes in a CSV file: machines that are not known yet are added, facts that differ are
// changed, everything else stays. Rows with faults are refused one by one, with their line and all
// their faults; a file that is no fleet CSV is refused whole with *FileError. The status of a
// machine that exists is never changed, a machine that the file lacks is left as it is, and a hold
// keeps its price.
//
// The file is read as a stream and written in batches, each in a transaction of its own that locks
// only the machines it changes. So after an error (of the database, of the reader, or of ctx) the
// batches before it stay, and the report counts them; importing the same file again goes on.
// Imports exclude each other: *ImportBusy says that the other one did not end in time.
func (r *Registry) Import(ctx context.Context, by pg.By, in io.Reader, o ImportOptions) (Report, error) {
	im := &importer{
		registry: r, by: by, dry: o.DryRun,
		report: Report{Refused: []Notice{}, Warnings: []Notice{}, DryRun: o.DryRun},
		tags:   map[string]int{}, faulty: map[string]bool{}, serials: map[string]serialSeen{}, sites: map[string]bool{},
	}
	header, records, err := open(in)
	if err != nil {
		return im.report, err
	}
	im.header = header
	if !o.DryRun {
		unlock, err := r.lockImports(ctx, cmp.Or(o.Wait, importWait))
		if err != nil {
			return im.report, err
		}
		defer unlock()
	}
	err = im.run(ctx, records, o.Progress)
	slices.SortStableFunc(im.report.Refused, func(a, b Notice) int { return cmp.Compare(a.Line, b.Line) })
	return im.report, err
}

// lockImports takes the lock of imports for as long as a transaction of its own is open; that
// transaction has no snapshot and keeps no row alive. Who waits holds no connection meanwhile.
func (r *Registry) lockImports(ctx context.Context, wait time.Duration) (unlock func(), err error) {
	for waited := time.Duration(0); ; {
		tx, err := r.db.Begin(ctx)
		if err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		// Committed, not rolled back: over a transaction it is a savepoint that the batches follow.
		end := func() { _ = tx.Commit(context.WithoutCancel(ctx)) }
		var got bool
		err = tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)
			from (select set_config('idle_in_transaction_session_timeout', '0', true)) as no_limit`, importKey).Scan(&got)
		if err != nil {
			_ = tx.Rollback(context.WithoutCancel(ctx))
			return nil, fmt.Errorf("import: %w", err)
		}
		if got {
			return end, nil
		}
		end()
		if waited >= wait {
			return nil, &ImportBusy{Waited: wait}
		}
		pause := min(100*time.Millisecond, wait-waited)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("import: %w", ctx.Err())
		case <-time.After(pause):
			waited += pause
		}
	}
}

// importer is one run of an import.
type importer struct {
	registry *Registry
	by       pg.By
	dry      bool
	header   header
	report   Report

	tags     map[string]int        // asset tag -> line, of the rows taken
	serials  map[string]serialSeen // real serials only
	faulty   map[string]bool       // asset tags of refused rows
	sites    map[string]bool
	moved    []string // machines whose status differs from the file's, at most a few
	nMoved   int
	priced   int // new machines without a price
	nNotices int
}

type serialSeen struct {
	line int
	tag  string
}

func (im *importer) run(ctx context.Context, records *records, progress func(int)) error {
	var (
		batch []row
		done  int
	)
	flush := func() error {
		if err := im.batch(ctx, batch); err != nil {
			return err
		}
		batch = batch[:0]
		if progress != nil {
			progress(done)
		}
		return nil
	}
	for {
		rec, err := records.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(flush(), unreadable(err))
		}
		done++
		if row, ok := im.take(rec); ok {
			batch = append(batch, row)
		}
		if len(batch) == batchRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return im.warnings(ctx)
}

// take checks a record; false when it is refused.
func (im *importer) take(rec record) (row, bool) {
	row, fault := im.header.parse(rec)
	if fault != "" {
		im.refuse(rec.line, fault)
		if tag := im.header.tag(rec); tag != "" {
			im.faulty[tag] = true
		}
		return row, false
	}
	tag := row.machine.AssetTag
	if first, dup := im.tags[tag]; dup {
		im.refuse(rec.line, fmt.Sprintf("asset_tag: %s is on line %d already; the first counts", show(tag), first))
		return row, false
	}
	im.tags[tag] = rec.line
	im.sites[row.machine.SiteCode] = true
	if serial := row.machine.Serial; realSerial(serial) {
		if first, dup := im.serials[serial]; dup {
			im.warn(rec.line, fmt.Sprintf("serial: %s is that of %s on line %d too", show(serial), first.tag, first.line))
		} else {
			im.serials[serial] = serialSeen{line: rec.line, tag: tag}
		}
	}
	return row, true
}

func (im *importer) refuse(line int, reason string) {
	im.report.Refused = append(im.report.Refused, Notice{Line: line, Reason: reason})
}

func (im *importer) warn(line int, reason string) {
	if im.nNotices++; im.nNotices <= maxNotices {
		im.report.Warnings = append(im.report.Warnings, Notice{Line: line, Reason: reason})
	}
}

// batch takes in rows in one transaction. When the database refuses one of them although it was
// checked, the batch is halved until that row is alone.
func (im *importer) batch(ctx context.Context, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	var (
		out outcome
		err error
	)
	for try := 1; ; try++ {
		err = pg.Engine(ctx, im.registry.db, im.by, func(tx pgx.Tx) error {
			out, err = im.apply(ctx, tx, rows)
			return err
		})
		if err == nil || try == batchTries || !pg.Busy(err) || pg.Away(err) || ctx.Err() != nil {
			break
		}
	}
	switch {
	case err == nil:
		im.count(out)
		if !im.dry {
			im.registry.onChange()
		}
		return nil
	case !refusedRow(err):
		return fmt.Errorf("import, lines %d to %d: %w", rows[0].line, rows[len(rows)-1].line, err)
	case len(rows) == 1:
		im.refuse(rows[0].line, "the database refused it: "+cmp.Or(pg.Constraint(err), "SQLSTATE "+pg.Code(err)))
		return nil
	}
	half := len(rows) / 2
	if err := im.batch(ctx, rows[:half]); err != nil {
		return err
	}
	return im.batch(ctx, rows[half:])
}

// refusedRow reports errors that are about the data: classes 22 and 23.
func refusedRow(err error) bool {
	code := pg.Code(err)
	return len(code) == 5 && (code[:2] == "22" || code[:2] == "23")
}

func (im *importer) count(out outcome) {
	im.report.Added += out.added
	im.report.Changed += out.changed
	im.report.Unchanged += out.unchanged
	im.report.Refused = append(im.report.Refused, out.refused...)
	im.priced += out.unpriced
	im.nMoved += len(out.moved)
	im.moved = append(im.moved, out.moved[:min(len(out.moved), max(0, 5-len(im.moved)))]...)
}
