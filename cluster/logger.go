package cluster

import (
	"context"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// quietLogger limits the actor library's own log to warnings and errors, and never prints a message. The library logs
// whole messages, which may hold tokens or personal data.
func quietLogger(logger *slog.Logger) func(*actor.ActorSystem) *slog.Logger {
	return func(*actor.ActorSystem) *slog.Logger {
		return slog.New(&redactingHandler{Handler: logger.Handler()})
	}
}

type redactingHandler struct{ slog.Handler }

// Enabled accepts warnings and errors only.
func (h *redactingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// Handle masks every attribute that could hold a message.
func (h *redactingHandler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(redact(attr))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs preserves the redaction on derived loggers.
func (h *redactingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, attr := range attrs {
		clean[i] = redact(attr)
	}
	return &redactingHandler{Handler: h.Handler.WithAttrs(clean)}
}

// WithGroup preserves the redaction on derived loggers.
func (h *redactingHandler) WithGroup(name string) slog.Handler {
	return &redactingHandler{Handler: h.Handler.WithGroup(name)}
}

func redact(attr slog.Attr) slog.Attr {
	switch attr.Key {
	case "message", "msg", "envelope", "payload", "sender":
		return slog.String(attr.Key, "•••")
	}
	if value := attr.Value.Resolve(); value.Kind() == slog.KindGroup {
		clean := make([]slog.Attr, 0, len(value.Group()))
		for _, member := range value.Group() {
			clean = append(clean, redact(member))
		}
		return slog.Attr{Key: attr.Key, Value: slog.GroupValue(clean...)}
	}
	return attr
}
