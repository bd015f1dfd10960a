package people

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

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
	// tieAfter is the pause before merges are looked at for the first time, tieAgain that before they are after a failure.
	tieAfter, tieAgain = time.Second, time.Minute
)

// LifecycleStore holds what the rules read and write. Store implements it.
type LifecycleStore interface {
	// Activate notes the visitors whose events, received within a span, reached any of the goals. It may be repeated.
	Activate(ctx context.Context, environment uint64, goals []svc.Goal, from, to time.Time) error
	// ForgetGone removes what was told of visitors whose profiles are gone.
	ForgetGone(ctx context.Context) error
	// TieMerged ties the visitors together whom members merged, as far as they are not.
	TieMerged(ctx context.Context) error
	// SecondLinks returns how many links were begun because an anonymous id was identified as a further person.
	SecondLinks(ctx context.Context) (uint64, error)
}

// Lifecycle applies the rules of lifecycle stages that look at goals, every hour, and removes what was
// told of visitors whose profiles expired, every day. At the start and every hour it has merges hold that
// were interrupted, or whose rows were lost with a store. One node of a cluster does it.
type Lifecycle struct {
	Store LifecycleStore
	// Owns reports whether this node is the one.
	Owns func() bool
	// Apps returns all applications, Goals those of one.
	Apps  func() []svc.Application
	Goals func(ctx context.Context, ref svc.AppRef) ([]svc.Goal, error)
	// Linked is called in each round with the number of second links.
	Linked func(links uint64)
	Now    func() time.Time
	Logger *slog.Logger
}

// Run works until ctx ends.
func (l *Lifecycle) Run(ctx context.Context) error {
	ticker, untied := time.NewTicker(rulesEvery), time.NewTicker(tieAfter)
	defer ticker.Stop()
	defer untied.Stop()
	var forgotten time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-untied.C:
			switch {
			case !l.Owns():
			case l.tie(ctx):
				untied.Stop()
			default:
				untied.Reset(tieAgain)
			}
			continue
		case <-ticker.C:
		}
		if !l.Owns() {
			continue
		}
		now := l.Now()
		l.tie(ctx)
		l.activate(ctx, now)
		l.countLinks(ctx)
		if now.Sub(forgotten) < forgetEvery {
			continue
		}
		if err := l.Store.ForgetGone(ctx); err != nil {
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

// tie has merges hold, and reports whether all do.
func (l *Lifecycle) tie(ctx context.Context) bool {
	err := l.Store.TieMerged(ctx)
	if err != nil && ctx.Err() == nil {
		l.Logger.Error("merged people are tied together later", "error", err)
	}
	return err == nil
}

// countLinks hands on how many links are second ones.
func (l *Lifecycle) countLinks(ctx context.Context) {
	links, err := l.Store.SecondLinks(ctx)
	if err != nil {
		l.Logger.Error("second links of anonymous ids were not counted", "error", err)
		return
	}
	l.Linked(links)
}

// SecondLinks returns how many links were begun because an anonymous id was identified as a further person.
func (db *Store) SecondLinks(ctx context.Context) (links uint64, err error) {
	for _, shard := range db.conn.Shards() {
		var own uint64
		err = shard.Read(ctx, "counting second links", db.queries["links.Second"], nil, func(rows driver.Rows) (bool, error) {
			return false, rows.Scan(&own)
		})
		if err != nil {
			return 0, err
		}
		links += own
	}
	return links, nil
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
	return clickhouse.WriteError("noting who reached a goal", db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error { return conn.Exec(ctx, db.queries["activations.Append"], args) }))
}

// ForgetGone removes what was told of visitors whose profiles are gone.
func (db *Store) ForgetGone(ctx context.Context) error {
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{"mutations_sync": 1, "lightweight_deletes_sync": 1})
	return db.conn.Change(func() error {
		for _, shard := range db.conn.Shards() {
			for statement := range strings.SplitSeq(db.queries["people.Forget"], ";") {
				if err := shard.Exec(ctx, strings.TrimSpace(statement), nil); err != nil {
					return clickhouse.WriteError("removing what was told of visitors who are gone", err)
				}
			}
		}
		return nil
	})
}
