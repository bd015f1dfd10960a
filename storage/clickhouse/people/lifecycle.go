package people

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"svc"
	"svc/storage/clickhouse"
)

const (
	// rulesEvery is the time between two rounds of the lifecycle rules.
	rulesEvery = time.Hour
	// rulesOverlap is how much of the span before a round looks at again: events are stored some
	// seconds after they were received, and a goal may be younger than its events.
	rulesOverlap = 25 * time.Hour
	// forgetEvery is the time between two removals of what was told of visitors who are gone.
	forgetEvery = 24 * time.Hour
)

// Lifecycle applies the rules of lifecycle stages that look at goals, every hour, and removes what was
// told of visitors whose profiles expired, every day. One node of a cluster does it.
type Lifecycle struct {
	Store *Store
	// Owns reports whether this node is the one.
	Owns func() bool
	// Apps returns all applications, Goals those of one.
	Apps   func() []svc.Application
	Goals  func(ctx context.Context, ref svc.AppRef) ([]svc.Goal, error)
	Now    func() time.Time
	Logger *slog.Logger
}

// Run works until ctx ends.
func (l *Lifecycle) Run(ctx context.Context) error {
	ticker := time.NewTicker(rulesEvery)
	defer ticker.Stop()
	var forgotten time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if !l.Owns() {
			continue
		}
		now := l.Now()
		l.activate(ctx, now)
		if now.Sub(forgotten) < forgetEvery {
			continue
		}
		if err := l.Store.forget(ctx); err != nil {
			l.Logger.Error("what was told of visitors who are gone was not removed", "error", err)
			continue
		}
		forgotten = now
	}
}

// activate notes who reached a goal. An application that fails is looked at again in the next round.
func (l *Lifecycle) activate(ctx context.Context, now time.Time) {
	for _, app := range l.Apps() {
		goals, err := l.Goals(ctx, app.Ref())
		for _, environment := range app.Environments {
			if err == nil {
				err = l.Store.Activate(ctx, environment.Number, goals, now.Add(-rulesEvery-rulesOverlap), now)
			}
		}
		if err != nil {
			l.Logger.Error("the lifecycle rules were not applied", "application", app.Ref(), "error", err)
		}
	}
}

// Activate notes the visitors whose events, received within a span, reached any of the goals. It may be
// repeated.
func (db *Store) Activate(ctx context.Context, environment uint64, goals []svc.Goal, from, to time.Time) error {
	names, paths, prefixes := []string{}, []string{}, []string{}
	for i := range goals {
		goal := &goals[i]
		prefix, open := goal.Prefix()
		switch {
		case goal.DeletedAt != nil:
		case goal.Kind == svc.MatchEvent:
			names = append(names, goal.Match)
		case open:
			prefixes = append(prefixes, prefix)
		default:
			paths = append(paths, goal.Match)
		}
	}
	if len(names)+len(paths)+len(prefixes) == 0 {
		return nil
	}
	args := clickhouse.Args{"environment": environment, "from": from, "to": to, "names": names, "paths": paths, "prefixes": prefixes}
	return clickhouse.WriteError("noting who reached a goal", db.conn.Write(func() error { return db.conn.Exec(ctx, db.queries["activations.Append"], args) }))
}

// forget removes what was told of visitors whose profiles are gone.
func (db *Store) forget(ctx context.Context) error {
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{"mutations_sync": 1, "lightweight_deletes_sync": 1})
	for statement := range strings.SplitSeq(db.queries["people.Forget"], ";") {
		if err := db.conn.Exec(ctx, strings.TrimSpace(statement), nil); err != nil {
			return clickhouse.WriteError("removing what was told of visitors who are gone", err)
		}
	}
	return nil
}
