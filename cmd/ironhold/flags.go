package main

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/prometheus/client_golang/prometheus"

	"ironhold/rollout"
)

// startFlags makes what pages ask whether ordering is on. A provider that is away is no reason not
// to start: the default, off, is shown until it is there.
func (p *process) startFlags(ctx context.Context, db *pgxpool.Pool) error {
	var provider of.FeatureProvider = rollout.NewProvider(db, 0, p.log)
	if p.settings.FlagProvider == remoteProvider {
		var err error
		if provider, err = rollout.NewRemote(p.settings.RemoteFlags); err != nil {
			return err
		}
	}
	evaluations := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ironhold_flag_evaluations_total", Help: "How often pages asked whether ordering is on, by answer and reason.",
	}, []string{"on", "reason"})
	p.registry.MustRegister(evaluations)
	// Its looks end by Close, not by a signal: pages are shown until the site closes.
	p.flags = rollout.NewFlags(context.WithoutCancel(ctx), provider, p.log, func(on bool, reason string) {
		answer := "false"
		if on {
			answer = "true"
		}
		evaluations.WithLabelValues(answer, reasonLabel(reason)).Inc()
	})
	return nil
}

// reasonLabel keeps the metric small: what another provider gives as reasons is one of OpenFeature's
// own words, or "other".
func reasonLabel(reason string) string {
	switch reason {
	case rollout.ReasonLaunchOff, rollout.ReasonOrgOn, rollout.ReasonOrgOff, rollout.ReasonNotOptedIn, rollout.ReasonPercentageIn,
		rollout.ReasonPercentageOut, rollout.ReasonLaunchOn:
		return reason
	}
	switch of.Reason(reason) {
	case of.DefaultReason, of.TargetingMatchReason, of.SplitReason, of.DisabledReason, of.StaticReason, of.CachedReason, of.ErrorReason:
		return strings.ToLower(reason)
	}
	return "other"
}
