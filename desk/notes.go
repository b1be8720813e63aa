package desk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// What notes are about.
const (
	OfOrganisation = "organisation"
	OfHold         = "hold"
	OfService      = "service"
)

// Note is what somebody of the staff wrote down. Notes are never changed.
type Note struct {
	ID    uuid.UUID `db:"id"`
	At    time.Time `db:"at"`
	Body  string    `db:"body"`
	Actor string    `db:"actor"` // as in pg.By
}

// maxNotes bounds the notes of one thing that are shown.
const maxNotes = 200

// Notes lists the notes about something, newest first.
func (d *Desk) Notes(ctx context.Context, subject string, id uuid.UUID) (list []Note, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select id, at, body, actor from notes where subject = $1 and subject_id = $2
			order by at desc, id desc limit $3`, subject, id, maxNotes)
		if err != nil {
			return fmt.Errorf("notes: %w", err)
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Note])
		if err != nil {
			return fmt.Errorf("notes: %w", err)
		}
		return nil
	})
	return list, err
}

// subjects name the tables, whose keys are never taken from outside.
var subjects = []string{OfOrganisation, OfHold, OfService}

// AddNote writes a note about something that exists, or answers NotFound.
func (d *Desk) AddNote(ctx context.Context, by pg.By, subject string, id uuid.UUID, body string) error {
	body, err := cleanText("body", body, true)
	if err != nil {
		return err
	}
	if !slices.Contains(subjects, subject) {
		return &Invalid{"subject", "must be organisation, hold or service"}
	}
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		var there bool
		err := tx.QueryRow(ctx, `select case $1 when 'organisation' then exists (select from organisations where id = $2)
			when 'hold' then exists (select from holds where id = $2) else exists (select from services where id = $2) end`, subject, id).Scan(&there)
		if err != nil {
			return fmt.Errorf("note: %w", err)
		}
		if !there {
			return &NotFound{id}
		}
		if _, err := tx.Exec(ctx, "insert into notes (subject, subject_id, body) values ($1, $2, $3)", subject, id, body); err != nil {
			return fmt.Errorf("note: %w", err)
		}
		return nil
	})
}
