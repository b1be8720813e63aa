package rollout

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
)

// Flags are the flags of the program as typed calls, through the OpenFeature SDK. What they say
// drives pages; a hold is decided by the rows under the organisation's lock.
type Flags struct {
	api      *of.EvaluationAPI
	client   *of.Client
	provider of.FeatureProvider
	own      *Provider // nil with another provider
	observe  func(on bool, reason string)
}

// Ordering is the value of FlagOrdering for one organisation. Reason is one of Decide's with our
// own provider; with another one it is that provider's variant, or OpenFeature's reason. Known is
// false when the default counts because nothing could be asked.
type Ordering struct {
	On     bool
	Reason string
	Known  bool
	Stale  bool
}

// startWait bounds how long a start waits for the provider; afterwards the flags answer with the
// default until it is there.
const startWait = 3 * time.Second

// NewFlags serves the flags from a provider, on an API of its own so that nothing is global.
// observe, if it is set, gets each evaluation, for metrics. Close it.
func NewFlags(ctx context.Context, provider of.FeatureProvider, logger *slog.Logger, observe func(on bool, reason string)) *Flags {
	f := &Flags{api: isolated.NewAPI(), provider: provider, observe: observe}
	f.own, _ = provider.(*Provider)
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := f.api.SetProviderAndWait(ctx, provider); err != nil {
		logger.WarnContext(ctx, "rollout: the flag provider is not ready, ordering is shown as off", "error", err.Error())
	}
	changed := func(d of.EventDetails) { logger.Info("rollout: the flags changed", "flags", d.FlagChanges) }
	f.api.AddHandler(of.ProviderConfigChange, &changed)
	f.client = f.api.NewClient()
	f.client.AddHooks(&evaluations{f: f, logger: logger})
	return f
}

// Ordering tells whether an organisation sees the module as on. The role is context for providers
// that target by it.
func (f *Flags) Ordering(ctx context.Context, org uuid.UUID, role string) Ordering {
	d, err := f.client.BooleanValueDetails(ctx, FlagOrdering, false,
		of.NewEvaluationContext(org.String(), map[string]any{"organisation": org.String(), "role": role}))
	o := Ordering{On: d.Value, Reason: d.Variant, Known: err == nil, Stale: d.Reason == of.CachedReason}
	if o.Reason == "" {
		o.Reason = string(d.Reason)
	}
	return o
}

// Refresh makes a change visible at once to whoever made it.
func (f *Flags) Refresh(ctx context.Context) {
	if f.own != nil {
		_ = f.own.Refresh(ctx) // the old value is shown as it was
	}
}

// State is the provider's state: READY, STALE, ERROR, NOT_READY or FATAL.
func (f *Flags) State() string { return string(f.client.State()) }

// Provider is the name of the provider in use.
func (f *Flags) Provider() string { return f.provider.Metadata().Name }

// Close stops the provider.
func (f *Flags) Close(ctx context.Context) error { return f.api.Shutdown(ctx) }

// evaluations is the hook that counts and logs.
type evaluations struct {
	of.UnimplementedHook
	f      *Flags
	logger *slog.Logger
}

// Finally sees every evaluation, also the failed ones.
func (h *evaluations) Finally(ctx context.Context, c of.HookContext, d of.InterfaceEvaluationDetails, _ of.HookHints) {
	on, _ := d.Value.(bool)
	if h.f.observe != nil {
		reason := d.Variant
		if reason == "" {
			reason = string(d.Reason)
		}
		h.f.observe(on, reason)
	}
	h.logger.DebugContext(ctx, "flag evaluated", "flag", c.FlagKey(), "on", on, "variant", d.Variant, "reason", string(d.Reason))
}

// Error logs what went wrong; the default counts.
func (h *evaluations) Error(ctx context.Context, c of.HookContext, err error, _ of.HookHints) {
	h.logger.WarnContext(ctx, "flag not evaluated, the default counts", "flag", c.FlagKey(), "error", err.Error())
}
