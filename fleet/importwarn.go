package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// serialChunk is how many serials one statement looks for.
const serialChunk = 20_000

// warnings says at the end of a file what was imported all the same but deserves a look.
func (im *importer) warnings(ctx context.Context) error {
	err := im.registry.read(ctx, func(tx pgx.Tx) error {
		if err := im.sharedSerials(ctx, tx); err != nil {
			return err
		}
		return im.absent(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("import, warnings: %w", err)
	}
	if im.priced > 0 {
		im.warn(0, fmt.Sprintf("%d new machines have no price: they are offered at 0", im.priced))
	}
	if im.nMoved > 0 {
		im.warn(0, fmt.Sprintf("%d machines have another status than the file says, which an import never changes: %s",
			im.nMoved, some(im.moved, im.nMoved)))
	}
	if more := im.nNotices - maxNotices; more > 0 {
		im.report.Warnings = append(im.report.Warnings, Notice{Reason: fmt.Sprintf("%d more warnings are not listed", more)})
	}
	return nil
}

// sharedSerials flags real serials that a machine outside the file has too.
func (im *importer) sharedSerials(ctx context.Context, tx pgx.Tx) error {
	all := slices.Sorted(maps.Keys(im.serials))
	for chunk := range slices.Chunk(all, serialChunk) {
		rows, err := tx.Query(ctx, `select serial, asset_tag
			from (select unnest($1::text[]) as serial) f join machines using (serial)
			order by serial, asset_tag`, planAnew, chunk)
		if err != nil {
			return err
		}
		var serial, tag string
		_, err = pgx.ForEachRow(rows, []any{&serial, &tag}, func() error {
			seen := im.serials[serial]
			if _, inFile := im.tags[tag]; !inFile {
				im.warn(seen.line, fmt.Sprintf("serial: %s of %s is that of %s too, which is not in the file", show(serial), seen.tag, tag))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// absent names the machines of the file's sites that are held or in service and that the file
// lacks: nothing about them changes.
func (im *importer) absent(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select asset_tag from machines m
		where site_code = any($1) and id in (
			select machine_id from services where ended_at is null
			union all select machine_id from holds where state = 'held' and expires_at > clock_timestamp())
		order by asset_tag`, slices.Sorted(maps.Keys(im.sites)))
	if err != nil {
		return err
	}
	var (
		tag  string
		n    int
		list []string
	)
	_, err = pgx.ForEachRow(rows, []any{&tag}, func() error {
		if _, inFile := im.tags[tag]; inFile || im.faulty[tag] {
			return nil
		}
		if n++; len(list) < 5 {
			list = append(list, tag)
		}
		return nil
	})
	if n > 0 {
		im.warn(0, fmt.Sprintf("%d machines are held or in service and not in the file; nothing about them was changed: %s", n, some(list, n)))
	}
	return err
}

// some lists the first of n.
func some(list []string, n int) string {
	s := strings.Join(list, ", ")
	if n > len(list) {
		s += fmt.Sprintf(" and %d more", n-len(list))
	}
	return s
}
