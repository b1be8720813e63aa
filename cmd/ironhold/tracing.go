package main

import (
	"context"
	"fmt"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/riverqueue/river/rivertype"
	"github.com/riverqueue/rivercontrib/otelriver"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracing reports whether traces are wanted: OpenTelemetry's own variables say where they go.
func (c *call) tracing() bool {
	if v, _ := c.env("OTEL_SDK_DISABLED"); v == "true" {
		return false
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if v, _ := c.env(name); v != "" {
			return true
		}
	}
	return false
}

// startTracing makes the exporter; the standard variables (endpoint, headers, sampler, name of the
// service) are read by the library. A receiver that is away costs spans, nothing else.
func (p *process) startTracing(ctx context.Context) error {
	if !p.tracing() {
		return nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.Merge(resource.Default(), resource.Environment())
	if err != nil {
		return fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return nil
}

// tracerOf makes the tracer of a pool. Statements are shown, their parameters never: they are people's.
func (p *process) tracerOf(pool string) pgx.QueryTracer {
	held := &holdTracer{times: p.holdTimes, locks: p.lockTimes, pool: pool}
	if p.traces == nil {
		return held
	}
	return multitracer.New(held, otelpgx.NewTracer(otelpgx.WithTracerProvider(p.traces), otelpgx.WithMeterProvider(noop.NewMeterProvider()),
		otelpgx.WithTrimSQLInSpanName(), otelpgx.WithDisableConnectionDetailsInAttributes()))
}

// tracer is that of requests; nil without traces.
func (p *process) tracer() trace.Tracer {
	if p.traces == nil {
		return nil
	}
	return p.traces.Tracer("ironhold")
}

// traceJobs is what the workers and whoever inserts jobs add, so that a job's trace is linked to
// that of the request that made it.
func (p *process) traceJobs() []rivertype.Middleware {
	if p.traces == nil {
		return nil
	}
	return []rivertype.Middleware{otelriver.NewMiddleware(&otelriver.MiddlewareConfig{
		EnableTracePropagation: true, EnableWorkSpanJobKindSuffix: true,
		TracerProvider: p.traces, MeterProvider: noop.NewMeterProvider(),
	})}
}
