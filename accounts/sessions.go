package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Keys of the session's values that the store copies into columns. The first holds the id of the
// person as a string, and makes "sign out everywhere" and disabling work: set it at sign-in. The
// second names the session where it is shown; set a new one whenever the token is renewed.
const (
	SessionUserKey    = "user_id"
	SessionIDKey      = "session_id"
	SessionAgentKey   = "user_agent"
	SessionNetworkKey = "network"
)

// SessionStore keeps browser sessions in the table sessions, for scs. Let the manager hash its
// tokens (HashTokenInStore) and leave its codec alone.
//
// Ending a session leaves its row, expired, until DeleteExpired takes it an hour later: so a
// request that was on its way cannot write the session back to life. Expiry is judged by the
// database's clock.
type SessionStore struct {
	db pg.DB
}

// NewSessionStore makes a store on a pool.
func NewSessionStore(db pg.DB) *SessionStore { return &SessionStore{db: db} }

var _ scs.CtxStore = (*SessionStore)(nil)

// FindCtx gives the data of a live session of nobody, or of a person who is not disabled.
func (s *SessionStore) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select data from sessions s
			where token = $1 and expiry > clock_timestamp()
			  and not exists (select from users u where u.id = s.user_id and u.disabled_at is not null)`, token).Scan(&data)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// CommitCtx writes a new session, or renews one that has not ended.
func (s *SessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return fmt.Errorf("session data: %w", err)
	}
	user, err := idOf(values, SessionUserKey)
	if err != nil {
		return err
	}
	id, err := idOf(values, SessionIDKey)
	if err != nil {
		return err
	}
	agent, _ := values[SessionAgentKey].(string)
	network, _ := values[SessionNetworkKey].(string)
	return pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into sessions as s (token, id, user_id, data, expiry, user_agent, network)
			values (@token, coalesce(@id, ironhold_uuid_v7()), @user, @data, clock_timestamp() + make_interval(secs => @left), @agent, @network)
			on conflict (token) do update
			   set data = excluded.data, user_id = excluded.user_id, expiry = excluded.expiry, last_seen_at = clock_timestamp()
			 where s.expiry > clock_timestamp()`,
			pgx.StrictNamedArgs{
				"token": token, "id": id, "user": user, "data": data, "left": time.Until(expiry).Seconds(), "agent": agent, "network": network,
			})
		return err
	})
}

func idOf(values map[string]any, key string) (*uuid.UUID, error) {
	text, _ := values[key].(string)
	if text == "" {
		return nil, nil //nolint:nilnil // a session of nobody
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("session value %s: %w", key, err)
	}
	return &id, nil
}

// DeleteCtx ends a session.
func (s *SessionStore) DeleteCtx(ctx context.Context, token string) error {
	return pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "update sessions set expiry = clock_timestamp(), data = '' where token = $1 and expiry > clock_timestamp()", token)
		return err
	})
}

// DeleteExpired removes sessions that ended more than an hour ago and tells how many; with them go
// the counts of failed sign-ins that matter no more.
func (s *SessionStore) DeleteExpired(ctx context.Context) (int64, error) {
	var n int64
	err := pg.Engine(ctx, s.db, pg.By{Actor: "session-cleaner"}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "delete from sessions where expiry < clock_timestamp() - interval '1 hour'")
		if n = tag.RowsAffected(); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "delete from sign_in_failures where since < clock_timestamp() - make_interval(secs => $1)", failureWindow.Seconds())
		return err
	})
	return n, err
}

func endSessions(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, "update sessions set expiry = clock_timestamp(), data = '' where user_id = $1 and expiry > clock_timestamp()", userID)
	return err
}

// storeTimeout bounds the calls that come without a context.
const storeTimeout = 5 * time.Second

// Find is FindCtx for callers without a context; scs uses it nowhere in a request.
func (s *SessionStore) Find(token string) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.FindCtx(ctx, token)
}

// Commit is CommitCtx for callers without a context.
func (s *SessionStore) Commit(token string, data []byte, expiry time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.CommitCtx(ctx, token, data, expiry)
}

// Delete is DeleteCtx for callers without a context.
func (s *SessionStore) Delete(token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.DeleteCtx(ctx, token)
}
