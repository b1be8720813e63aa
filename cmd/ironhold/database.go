package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgembed"
)

// appLogin is the application's login on the embedded server: a member of the two roles, owner of
// nothing.
const appLogin = "ironhold_app"

// database is where the data are: one address to work with, one to migrate with.
type database struct {
	url     string // of the pools
	owner   string // of migrations
	listen  string // of LISTEN, which a transaction pooler does not carry
	embed   *pgembed.Server
	migrate func(ctx context.Context) error
}

// external is a server that somebody else runs.
func external(s settings) *database {
	d := &database{url: s.DatabaseURL, owner: s.DatabaseURL}
	if s.MigrateURL != "" {
		d.owner = s.MigrateURL // past the pooler, if there is one
	}
	d.listen = d.owner
	d.migrate = func(ctx context.Context) error { return migrations.Up(ctx, d.owner) }
	return d
}

// embedded is the server of the data folder, which this process started or attached to.
func embedded(server *pgembed.Server) *database {
	d := &database{url: server.URL(appLogin, pgembed.Database), owner: server.OwnerURL(), embed: server}
	d.listen = d.url
	d.migrate = func(ctx context.Context) error {
		if err := migrations.Up(ctx, d.owner); err != nil {
			return err
		}
		return ensureLogin(ctx, d.owner, server.Password(appLogin))
	}
	return d
}

// ensureLogin makes the login. Two processes that renew it at the same moment disturb each other.
func ensureLogin(ctx context.Context, owner, password string) error {
	for try := 1; ; try++ {
		err := migrations.EnsureLogin(ctx, owner, appLogin, password)
		if err == nil || try == 5 || pg.Code(err) == "" {
			return err
		}
		time.Sleep(time.Duration(try) * 50 * time.Millisecond)
	}
}

// stop ends the embedded server, if this process started it.
func (d *database) stop(ctx context.Context) error {
	if d.embed == nil {
		return nil
	}
	return d.embed.Stop(ctx)
}

// embedOptions are those of every start. The server's address is set where its binaries are.
func embedOptions(s settings, log *slog.Logger) pgembed.Options {
	return pgembed.Options{Dir: s.DataFolder, Logger: log}
}

// withDatabase gives a one-shot command its pool. On the embedded server the schema is brought up
// when it is not; somebody else's database is left alone.
func (c *call) withDatabase(ctx context.Context, f func(s settings, db *pgxpool.Pool) error) (err error) {
	s, err := c.load()
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, d.stop(ctx))
	}()
	db, err := pg.Connect(ctx, d.url, pg.PoolOptions{Name: c.cmd.name, MaxConns: 4, LockTimeout: s.LockTimeout})
	if err != nil {
		return err
	}
	defer db.Close()
	current, err := schemaCurrent(ctx, db)
	if d.embed != nil && (err != nil || !current) {
		if err := d.migrate(ctx); err != nil {
			return err
		}
		current, err = schemaCurrent(ctx, db)
	}
	switch {
	case err != nil:
		return err
	case !current:
		return errors.New("the database has no schema, or an older one: run ironhold migrate")
	}
	return f(s, db)
}

// open finds the database of the settings; the embedded one is started unless it runs.
func (c *call) open(ctx context.Context, s settings) (*database, error) {
	if s.DatabaseURL != "" {
		return external(s), nil
	}
	log := slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := pgembed.StartOrAttach(ctx, embedOptions(s, log))
	if err != nil {
		return nil, err
	}
	return embedded(server), nil
}

// codeNotPermitted is the server's answer to a login that may not do what it asks for.
const codeNotPermitted = "42501"

// schemaCurrent reports whether the schema is at least that of this build. A database without any
// answers false.
func schemaCurrent(ctx context.Context, db pg.DB) (current bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	ungranted := false
	err = pg.Engine(ctx, db, pg.By{}, func(tx pgx.Tx) error {
		current, err = migrations.Current(ctx, tx)
		ungranted = pg.Code(err) == codeNotPermitted // in the middle of a first migration
		return err
	})
	if ungranted {
		return false, nil
	}
	switch pg.Code(err) {
	case "42P01", "3F000", "22023": // no table, no schema, no role
		return false, nil
	}
	return current, err
}

// databaseURL refuses an address that could never work.
func databaseURL(text string) error {
	if _, err := pgxpool.ParseConfig(text); err != nil {
		return errors.New("is not an address such as postgres://user:password@host:5432/database")
	}
	return nil
}

// describe puts what a person can act on before what the driver says.
func describe(err error) string {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok || pg.Code(err) != "" {
		return err.Error()
	}
	// The driver lists each attempt, with and without TLS.
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return "database unreachable: " + op.Error()
	}
	return "database unreachable: " + err.Error()
}
