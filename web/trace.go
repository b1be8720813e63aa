package web

import (
	"net/http"

	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"ironhold/web/request"
)

// traced makes one span of each request, found by the id that people are told. A caller's own trace
// is not continued: a stranger would decide what is kept. No query, no header and no body is in it.
func (s *server) traced(next http.Handler) http.Handler {
	if s.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		ctx, span := s.Tracer.Start(r.Context(), r.Method, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("ironhold.request_id", info.ID), attribute.String("http.request.method", r.Method)))
		defer span.End()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r.WithContext(ctx))
		if info.Route != "" {
			span.SetName(r.Method + " " + info.Route)
			span.SetAttributes(attribute.String("http.route", info.Route))
		}
		status := ww.Status()
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if info.Problem != "" {
			span.SetAttributes(attribute.String("ironhold.problem", info.Problem))
		}
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
	})
}
