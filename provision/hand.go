package provision

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/provision/driver"
)

// MaxReason is the longest reason of a person, in characters.
const MaxReason = 500

// byHand closes a row that a person has in hand.
func byHand(service uuid.UUID, kind driver.Kind, why string) closer {
	return func(ctx context.Context, tx pgx.Tx, state State) (bool, error) {
		tag, err := tx.Exec(ctx, `update provisionings set state = $3, driver = 'manual', error = $4, begun = true,
 step = case when $3 = 'done' then '' else step end, percent = case when $3 = 'done' then 100 else percent end,
 started_at = coalesce(started_at, clock_timestamp())
 where service_id = $1 and kind = $2 and state in ('queued', 'running') and driver in ('', 'manual')`, service, kind, state, why)
		return err == nil && tag.RowsAffected() == 1, err
	}
}

// HandDone records that a person has finished. Refusals: NotFound, Over, NotByHand.
func (s *Store) HandDone(ctx context.Context, by pg.By, service uuid.UUID, kind driver.Kind) error {
	ok, err := finish(ctx, s.db, by, service, kind, "wiped by hand after service "+service.String(), byHand(service, kind, ""))
	return s.hand(ctx, service, kind, ok, err)
}

// HandFailed records that a person could not do it: for good, with all that follows. The reason is required:
// *Invalid.
func (s *Store) HandFailed(ctx context.Context, by pg.By, book *holds.Book, service uuid.UUID, kind driver.Kind, reason string) error {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "":
		return &Invalid{Field: "reason", Code: "required", Message: "is required: say what is wrong"}
	case utf8.RuneCountInString(reason) > MaxReason || !utf8.ValidString(reason):
		return &Invalid{Field: "reason", Code: "too_long", Message: "must be text of at most 500 characters"}
	}
	reason = clip(reason, MaxReason)
	ok, err := giveUp(ctx, s.db, book, by, service, kind, reason, byHand(service, kind, reason))
	return s.hand(ctx, service, kind, ok, err)
}

// TakeOver gives what a driver works on to a person. What the driver still does outside goes on: whoever
// takes over has seen to it. Refusals: NotFound, Over.
func (s *Store) TakeOver(ctx context.Context, by pg.By, service uuid.UUID, kind driver.Kind) error {
	ok := false
	err := pg.Engine(ctx, s.db, by, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, service, kind); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return &Refused{Kind: NotFound, Detail: "no such provisioning"}
			}
			return err
		}
		tag, err := tx.Exec(ctx, `update provisionings set driver = 'manual', state = 'running', step = 'by_hand', percent = null, begun = true,
 attempt = attempt + 1, errors = 0, started_at = coalesce(started_at, clock_timestamp())
 where service_id = $1 and kind = $2 and state in ('queued', 'running')`, service, kind)
		ok = err == nil && tag.RowsAffected() == 1
		return err
	})
	return s.hand(ctx, service, kind, ok, err)
}

// hand says why a step of a person did not happen, if it did not.
func (s *Store) hand(ctx context.Context, service uuid.UUID, kind driver.Kind, ok bool, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return &Refused{Kind: NotFound, Detail: "no such provisioning"}
	}
	if r, is := errors.AsType[*holds.Refused](err); is && r.Kind == holds.NotFound {
		return &Refused{Kind: NotFound, Detail: "no such provisioning"}
	}
	if err != nil {
		return err
	}
	if ok {
		s.onChange()
		return nil
	}
	var state State
	var name string
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "select state, driver from provisionings where service_id = $1 and kind = $2", service, kind).Scan(&state, &name)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return &Refused{Kind: NotFound, Detail: "no such provisioning"}
	case err != nil:
		return err
	case state.Open():
		return &Refused{Kind: NotByHand, Detail: "the driver " + name + " is at work: take over first"}
	}
	return &Refused{Kind: Over, Detail: "it has ended as " + string(state)}
}
