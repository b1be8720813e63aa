package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ironhold/migrations/pg"
)

// schema migrates, or waits until somebody else has. A database that is away is waited for; what
// waiting does not mend is an error.
func (p *process) schema(ctx context.Context) error {
	pause := time.Second
	for {
		err := p.schemaOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		waiting, isOld := errors.AsType[*schemaOld](err)
		if !isOld && !pg.Away(err) && !pg.Busy(err) {
			return err
		}
		message := "the database is away, trying again"
		if isOld {
			message = waiting.Error()
		}
		p.log.Warn(message, "error", oneLine(describe(err)), "in", pause.String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 10*time.Second)
	}
}

// schemaOld says that nobody has migrated yet.
type schemaOld struct{}

func (*schemaOld) Error() string {
	return "the schema is older than this program: waiting for ironhold migrate"
}

func (p *process) schemaOnce(ctx context.Context) error {
	if p.options.migrate {
		err := p.db.migrate(ctx)
		if pg.Code(err) != codeNotPermitted {
			return err
		}
		if err := p.schemaIsCurrent(ctx); err != nil {
			return fmt.Errorf("this login may not migrate: set MIGRATE_DATABASE_URL to the owner's address: %w", err)
		}
		return nil // nothing to migrate
	}
	return p.schemaIsCurrent(ctx)
}

// schemaIsCurrent answers schemaOld when somebody has to migrate.
func (p *process) schemaIsCurrent(ctx context.Context) error {
	url := p.db.url
	if p.db.embed != nil {
		url = p.db.owner // the login may not be there yet
	}
	db, err := pg.Connect(ctx, url, pg.PoolOptions{Name: "schema check"})
	if err != nil {
		return err
	}
	defer db.Close()
	current, err := schemaCurrent(ctx, db)
	if err == nil && current {
		current, err = riverCurrent(ctx, url)
	}
	if err != nil || current {
		return err
	}
	return &schemaOld{}
}
