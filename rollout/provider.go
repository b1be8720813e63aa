package rollout

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	of "github.com/open-feature/go-sdk/openfeature"

	"ironhold/migrations/pg"
)

const (
	// FlagOrdering is the flag that this package serves: may this organisation order machines.
	FlagOrdering = "ordering"
	// ProviderName is the provider's name in OpenFeature's metadata.
	ProviderName = "ironhold-postgresql"
	// defaultPoll is how soon a change made by another process shows on pages. The hold itself is
	// decided by the rows.
	defaultPoll = 2 * time.Second
	readWait    = 2 * time.Second
)

// values is everything that the flag depends on, as of one statement.
type values struct {
	launch   string
	settings map[uuid.UUID]string // those that are not inherit
}

func (v *values) equal(w *values) bool {
	return v.launch == w.launch && maps.Equal(v.settings, w.settings)
}

// Provider serves the rollout to OpenFeature from PostgreSQL. It keeps the last values that it has
// read: with the database away it answers from them and reports STALE; when it never read any, it
// reports an error and the default, off, counts.
//
//	NOT_READY --read--> READY <--read ok / read failed--> STALE
//	    '--read failed--> ERROR --read ok--> READY          every change: CONFIGURATION_CHANGED
type Provider struct {
	db     pg.DB
	poll   time.Duration
	logger *slog.Logger

	last   atomic.Pointer[values]
	stale  atomic.Bool
	events chan of.Event

	mu   sync.Mutex // one read at a time
	stop context.CancelFunc
	done chan struct{}
}

var (
	_ of.FeatureProvider          = (*Provider)(nil)
	_ of.ContextAwareStateHandler = (*Provider)(nil)
	_ of.EventHandler             = (*Provider)(nil)
)

// NewProvider makes a provider; poll 0 is two seconds.
func NewProvider(db pg.DB, poll time.Duration, logger *slog.Logger) *Provider {
	if poll == 0 {
		poll = defaultPoll
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Provider{db: db, poll: poll, logger: logger, events: make(chan of.Event, 16)}
}

// Metadata names the provider.
func (p *Provider) Metadata() of.Metadata { return of.Metadata{Name: ProviderName} }

// Hooks are none: log and metrics are the client's.
func (p *Provider) Hooks() []of.Hook { return nil }

// EventChannel is where the SDK hears of changes.
func (p *Provider) EventChannel() <-chan of.Event { return p.events }

// Init reads once and goes on reading in the background. An error means that nothing is known
// yet; the reading goes on all the same.
func (p *Provider) Init(of.EvaluationContext) error {
	return p.InitWithContext(context.Background(), of.EvaluationContext{})
}

// InitWithContext is Init within a time.
func (p *Provider) InitWithContext(ctx context.Context, _ of.EvaluationContext) error {
	first := p.read(ctx, false)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	p.stop, p.done = stop, make(chan struct{})
	done := p.done
	p.mu.Unlock()
	go p.run(background, done)
	return first
}

// Shutdown stops the reading.
func (p *Provider) Shutdown() { _ = p.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown within a time.
func (p *Provider) ShutdownWithContext(ctx context.Context) error {
	p.mu.Lock()
	stop, done := p.stop, p.done
	p.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Provider) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(p.poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = p.read(ctx, true)
		}
	}
}

// Refresh reads now, so that whoever has just changed something sees it on the next page.
func (p *Provider) Refresh(ctx context.Context) error { return p.read(ctx, true) }

func (p *Provider) read(ctx context.Context, announce bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	now, err := p.fetch(ctx)
	before := p.last.Load()
	if err != nil {
		if before != nil && !p.stale.Swap(true) {
			p.logger.WarnContext(ctx, "rollout: the database is away, the last values count", "error", err.Error())
			p.emit(of.ProviderStale, "the database is away", announce)
		}
		return err
	}
	p.last.Store(now)
	if p.stale.Swap(false) || before == nil {
		p.emit(of.ProviderReady, "", announce)
	}
	if before != nil && !before.equal(now) {
		p.emit(of.ProviderConfigChange, "", announce)
	}
	return nil
}

// emit drops the event when nobody listens: the values themselves are in place.
func (p *Provider) emit(kind of.EventType, message string, announce bool) {
	if !announce {
		return
	}
	select {
	case p.events <- of.Event{ProviderName: ProviderName, EventType: kind,
		ProviderEventDetails: of.ProviderEventDetails{Message: message, FlagChanges: []string{FlagOrdering}}}:
	default:
	}
}

func (p *Provider) fetch(ctx context.Context) (*values, error) {
	v := &values{launch: LaunchOff, settings: map[uuid.UUID]string{}}
	err := pg.Engine(ctx, p.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select null::uuid, launch from rollout_launch
union all
select org_id, rollout from org_limits where rollout <> 'inherit'`)
		if err != nil {
			return err
		}
		var org *uuid.UUID
		var value string
		_, err = pgx.ForEachRow(rows, []any{&org, &value}, func() error {
			if org == nil {
				v.launch = value
			} else {
				v.settings[*org] = value
			}
			return nil
		})
		return err
	})
	return v, err
}

// BooleanEvaluation answers FlagOrdering for the organisation in the targeting key. The variant is
// the reason, as Decide gives it.
func (p *Provider) BooleanEvaluation(_ context.Context, flag string, fallback bool, flat of.FlattenedContext) of.BoolResolutionDetail {
	fail := func(e of.ResolutionError) of.BoolResolutionDetail {
		return of.BoolResolutionDetail{Value: fallback, ProviderResolutionDetail: of.ProviderResolutionDetail{
			ResolutionError: e, Reason: of.ErrorReason}}
	}
	if flag != FlagOrdering {
		return fail(of.NewFlagNotFoundResolutionError("no flag " + flag))
	}
	key, _ := flat[of.TargetingKey].(string)
	if key == "" {
		return fail(of.NewTargetingKeyMissingResolutionError("the organisation's id is the targeting key"))
	}
	org, err := uuid.Parse(key)
	if err != nil {
		return fail(of.NewInvalidContextResolutionError("the targeting key is not an organisation's id"))
	}
	v := p.last.Load()
	if v == nil {
		return fail(of.NewProviderNotReadyResolutionError("nothing was read yet"))
	}
	setting, ok := v.settings[org]
	if !ok {
		setting = Inherit
	}
	on, reason := Decide(v.launch, setting, org)
	return of.BoolResolutionDetail{Value: on, ProviderResolutionDetail: of.ProviderResolutionDetail{
		Reason: sdkReason(reason, p.stale.Load()), Variant: reason,
		FlagMetadata: of.FlagMetadata{"launch": v.launch, "setting": setting}}}
}

func sdkReason(reason string, stale bool) of.Reason {
	switch {
	case stale:
		return of.CachedReason
	case reason == ReasonLaunchOff:
		return of.DisabledReason
	case reason == ReasonPercentageIn || reason == ReasonPercentageOut:
		return of.SplitReason
	}
	return of.TargetingMatchReason
}

// The flag is a boolean; other types are not served.

// StringEvaluation always answers the default.
func (p *Provider) StringEvaluation(_ context.Context, _ string, v string, _ of.FlattenedContext) of.StringResolutionDetail {
	return of.StringResolutionDetail{Value: v, ProviderResolutionDetail: otherType()}
}

// FloatEvaluation always answers the default.
func (p *Provider) FloatEvaluation(_ context.Context, _ string, v float64, _ of.FlattenedContext) of.FloatResolutionDetail {
	return of.FloatResolutionDetail{Value: v, ProviderResolutionDetail: otherType()}
}

// IntEvaluation always answers the default.
func (p *Provider) IntEvaluation(_ context.Context, _ string, v int64, _ of.FlattenedContext) of.IntResolutionDetail {
	return of.IntResolutionDetail{Value: v, ProviderResolutionDetail: otherType()}
}

// ObjectEvaluation always answers the default.
func (p *Provider) ObjectEvaluation(_ context.Context, _ string, v any, _ of.FlattenedContext) of.InterfaceResolutionDetail {
	return of.InterfaceResolutionDetail{Value: v, ProviderResolutionDetail: otherType()}
}

func otherType() of.ProviderResolutionDetail {
	return of.ProviderResolutionDetail{ResolutionError: of.NewTypeMismatchResolutionError("the flag is a boolean"), Reason: of.ErrorReason}
}
