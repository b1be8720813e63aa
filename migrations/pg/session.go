package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Settle sets what a session of the program depends on, so that nothing that the server, the database
// or the login sets by default changes what it does: isolation, schema, time zone, string syntax,
// row-level security, the durability of a commit, and that nobody ends it. What a caller wants otherwise
// is set afterwards.
func Settle(params map[string]string) {
	for name, value := range map[string]string{
		"search_path":                         "public",
		"TimeZone":                            "UTC",
		"DateStyle":                           "ISO, YMD",
		"IntervalStyle":                       "postgres",
		"client_encoding":                     "UTF8",
		"bytea_output":                        "hex",
		"extra_float_digits":                  "1",
		"standard_conforming_strings":         "on",
		"array_nulls":                         "on",
		"transform_null_equals":               "off",
		"default_transaction_isolation":       "read committed",
		"default_transaction_read_only":       "off",
		"default_transaction_deferrable":      "off",
		"row_security":                        "on", // off would make an error of every read that it narrows
		"synchronous_commit":                  "on", // what was acknowledged survives a crash of the server
		"lock_timeout":                        "0",
		"statement_timeout":                   "0",
		"idle_in_transaction_session_timeout": "0",
		"idle_session_timeout":                "0",
		"client_min_messages":                 "notice",
	} {
		params[name] = value
	}
}

// Dial opens one settled connection, for what no pool serves.
func Dial(ctx context.Context, url string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	Settle(cfg.RuntimeParams)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := Unhurried(ctx, conn); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// Unhurried takes the bound off a session that servers before 17 do not know, and that a new session can
// therefore not ask for.
func Unhurried(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := conn.PgConn().Exec(ctx, "select set_config(name, '0', false) from pg_catalog.pg_settings where name = 'transaction_timeout' and setting <> '0'").ReadAll()
	return err
}
