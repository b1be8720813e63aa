package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pg"
)

const (
	// RoleWeb reads under row-level security, one organisation at a time.
	RoleWeb = "ironhold_web"
	// RoleEngine decides across organisations; it owns the SECURITY DEFINER functions.
	RoleEngine = "ironhold_engine"
)

// ensureRoles makes the two group roles. Roles belong to the whole cluster: another database's
// migration may make them at the same moment, hence the exceptions. The migrating user becomes a
// member, so that it can hand functions to the engine and act as either.
func ensureRoles(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `
do $$
begin
  begin
    if to_regrole('ironhold_web') is null then
      create role ironhold_web nologin noinherit nosuperuser nobypassrls;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  begin
    if to_regrole('ironhold_engine') is null then
      create role ironhold_engine nologin noinherit nosuperuser bypassrls;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  begin
    if not pg_has_role(current_user, 'ironhold_engine', 'member') or not pg_has_role(current_user, 'ironhold_web', 'member') then
      execute format('grant ironhold_web, ironhold_engine to %I', current_user);
    end if;
  exception when unique_violation then null;
  end;
end $$`)
	return err
}

// EnsureLogin makes or renews the application's login: no inheritance, no ownership, a member of
// the two group roles and nothing else. An empty password leaves the login without one.
func EnsureLogin(ctx context.Context, ownerURL, name, password string) error {
	conn, err := pg.Dial(ctx, ownerURL)
	if err != nil {
		return fmt.Errorf("login %s: %w", name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "select set_config('app.login', $1, false), set_config('app.password', $2, false)", name, password)
	if err != nil {
		return fmt.Errorf("login %s: %w", name, err)
	}
	_, err = conn.Exec(ctx, `
do $$
declare
  login text := current_setting('app.login');
  pass  text := current_setting('app.password');
begin
  if to_regrole(quote_ident(login)) is null then
    execute format('create role %I login noinherit nosuperuser nocreatedb nocreaterole nobypassrls', login);
  end if;
  if pass <> '' then
    execute format('alter role %I password %L', login, pass);
  end if;
  execute format('grant ironhold_web, ironhold_engine to %I', login);
end $$`)
	if err != nil {
		return fmt.Errorf("login %s: %w", name, err)
	}
	return nil
}
