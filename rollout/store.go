package rollout

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/migrations/pg"
)

// Store reads and changes the rollout's rows.
type Store struct {
	db       pg.DB
	orgs     *accounts.Directory
	onChange func()
}

// New makes a store on a pool, or on a transaction in tests.
func New(db pg.DB) *Store {
	return &Store{db: db, orgs: accounts.New(db), onChange: func() {}}
}

// OnChange makes the store call f after each change that was committed, never inside a transaction.
// Call it before the store is used; f must not block.
func (s *Store) OnChange(f func()) *Store {
	s.onChange = f
	return s
}

// LaunchState is the launch with its last change.
type LaunchState struct {
	Launch    string
	ChangedAt time.Time
	ChangedBy string // as in pg.By
}

// Status is what pages and the API show for one organisation.
type Status struct {
	Setting      string // inherit, on, off
	Launch       string // off, opt-in, on, NN%
	Effective    bool
	Reason       string
	WhoCanChange string // "operator", "org-admin"; "" when it is on
	// The last change of the organisation's setting; nil and "" when there was none.
	ChangedAt *time.Time
	ChangedBy string
	// The last change of the launch.
	LaunchChangedAt time.Time
	LaunchChangedBy string
}

// Launch reads the launch state. A missing row counts as off.
func (s *Store) Launch(ctx context.Context) (LaunchState, error) {
	l := LaunchState{Launch: LaunchOff}
	err := pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "select launch, changed_at, changed_by from rollout_launch").Scan(&l.Launch, &l.ChangedAt, &l.ChangedBy)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return l, err
}

// SetLaunch sets the launch state: off, opt-in, on or 0% to 100%. The same value again changes
// nothing, not even the time of the change.
func (s *Store) SetLaunch(ctx context.Context, by pg.By, launch string) (LaunchState, error) {
	if !ValidLaunch(launch) {
		return LaunchState{}, &accounts.Invalid{Field: "launch", Message: "must be off, opt-in, on or 0% to 100%"}
	}
	var l LaunchState
	err := pg.Engine(ctx, s.db, by, func(tx pgx.Tx) error {
		// The row is there unless somebody deleted it.
		_, err := tx.Exec(ctx, "insert into rollout_launch (launch) values ('off') on conflict (only_row) do nothing")
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update rollout_launch
			set launch = $1, changed_at = clock_timestamp(), changed_by = ironhold_actor() where launch <> $1`, launch)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select launch, changed_at, changed_by from rollout_launch").Scan(&l.Launch, &l.ChangedAt, &l.ChangedBy)
	})
	if err == nil {
		s.onChange()
	}
	return l, err
}

// SetOrg sets the organisation's own setting, inherit, on or off, under its lock.
func (s *Store) SetOrg(ctx context.Context, by pg.By, slug, setting string) (Status, error) {
	if !ValidSetting(setting) {
		return Status{}, &accounts.Invalid{Field: "setting", Message: "must be inherit, on or off"}
	}
	org, err := s.orgs.OrgBySlug(ctx, slug)
	if err != nil {
		return Status{}, err
	}
	if _, err := s.orgs.SetRollout(ctx, by, org.ID, setting); err != nil {
		return Status{}, err
	}
	s.onChange()
	return s.Status(ctx, org.ID)
}

// Status tells how things stand for an organisation. For one that does not exist it answers what
// an undecided organisation would get.
func (s *Store) Status(ctx context.Context, orgID uuid.UUID) (Status, error) {
	var st Status
	err := pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			select coalesce(l.rollout, 'inherit'), coalesce(r.launch, 'off'), e.at, coalesce(e.actor, ''),
			       coalesce(r.changed_at, 'epoch'), coalesce(r.changed_by, '')
			  from (select $1::uuid as org_id) x
			  left join org_limits l on l.org_id = x.org_id
			  left join rollout_launch r on true
			  left join lateral (select at, actor from rollout_events where org_id = x.org_id order by at desc limit 1) e on true`, orgID).
			Scan(&st.Setting, &st.Launch, &st.ChangedAt, &st.ChangedBy, &st.LaunchChangedAt, &st.LaunchChangedBy)
	})
	if err != nil {
		return Status{}, err
	}
	st.Effective, st.Reason = Decide(st.Launch, st.Setting, orgID)
	st.WhoCanChange = WhoCanChange(st.Reason)
	return st, nil
}

// Precondition is what the allocator asks under the organisation's lock, without knowing what it
// means. Plain reads: a lock on the launch row would make the operator wait for every order.
func (s *Store) Precondition() allocator.Precondition {
	return func(b *pgx.Batch, org uuid.UUID) func() *allocator.RolloutRefusal {
		launch, setting := LaunchOff, Off // until the answer has come
		b.Queue(`select coalesce((select rollout from org_limits where org_id = $1), 'inherit'),
			coalesce((select launch from rollout_launch), 'off')`, org).
			QueryRow(func(row pgx.Row) error { return row.Scan(&setting, &launch) })
		return func() *allocator.RolloutRefusal {
			on, reason := Decide(launch, setting, org)
			if on {
				return nil
			}
			return &allocator.RolloutRefusal{Reason: reason, WhoCanChange: WhoCanChange(reason)}
		}
	}
}
