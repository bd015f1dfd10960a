package people

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

const (
	// rulesEvery is the time between two rounds of the lifecycle rules.
	rulesEvery = time.Hour
	// rulesOverlap is how much of the previous span a round looks at again. Events are stored some seconds after they
	// were received, and a goal may be newer than its events.
	rulesOverlap = 25 * time.Hour
	// forgetEvery is the time between two removals of the traits and ties of visitors that are no longer in profiles.
	forgetEvery = 24 * time.Hour
	// tieAfter is the pause before the first check of merges. tieAgain is the pause after a failed one.
	tieAfter, tieAgain = time.Second, time.Minute
)

// LifecycleStore is the storage of the rules. Store implements it.
type LifecycleStore interface {
	// Activate stores the visitors with an event, received within a span, that reached any of the goals. It may be
	// repeated.
	Activate(ctx context.Context, environment uint64, goals []goal.Goal, from, to time.Time) error
	// ForgetGone removes the arrivals, traits, activations and ties of visitors that are no longer in profiles.
	ForgetGone(ctx context.Context) error
	// TieMerged ties the visitors that members merged, if they are not tied yet.
	TieMerged(ctx context.Context) error
	// SecondLinks returns the number of links by which an anonymous id was identified as a further person.
	SecondLinks(ctx context.Context) (uint64, error)
}

// Lifecycle applies the rules of lifecycle stages that depend on goals, every hour. Every day it removes the traits and
// ties of visitors that expired. At the start and every hour it repairs merges that were interrupted, or that lost
// their rows with a store. One node of a cluster does it.
type Lifecycle struct {
	Store LifecycleStore
	// Owns reports whether this node is the one.
	Owns func() bool
	// Apps returns all applications. Goals returns the goals of one.
	Apps  func() []domain.Application
	Goals func(ctx context.Context, ref domain.AppRef) ([]goal.Goal, error)
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

// activate stores the visitors that reached a goal. It retries an application that fails in the next round.
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

// tie repairs merges, and reports whether all of them hold.
func (l *Lifecycle) tie(ctx context.Context) bool {
	err := l.Store.TieMerged(ctx)
	if err != nil && ctx.Err() == nil {
		l.Logger.Error("merged people are tied together later", "error", err)
	}
	return err == nil
}

// countLinks passes the number of second links to Linked.
func (l *Lifecycle) countLinks(ctx context.Context) {
	links, err := l.Store.SecondLinks(ctx)
	if err != nil {
		l.Logger.Error("second links of anonymous ids were not counted", "error", err)
		return
	}
	l.Linked(links)
}

// SecondLinks returns the number of links by which an anonymous id was identified as a further person.
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

// Activate stores the visitors with an event, received within a span, that reached any of the goals. It may be
// repeated.
func (db *Store) Activate(ctx context.Context, environment uint64, goals []goal.Goal, from, to time.Time) error {
	names, paths, prefixes := []string{}, []string{}, []string{}
	for i := range goals {
		g := &goals[i]
		prefix, open := g.Prefix()
		switch {
		case g.DeletedAt != nil:
		case g.Kind == goal.MatchEvent:
			names = append(names, g.Match)
		case open:
			prefixes = append(prefixes, prefix)
		default:
			paths = append(paths, g.Match)
		}
	}
	if len(names)+len(paths)+len(prefixes) == 0 {
		return nil
	}
	args := clickhouse.Args{"environment": environment, "from": from, "to": to, "names": names, "paths": paths, "prefixes": prefixes}
	return clickhouse.WriteError("noting who reached a goal", db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error { return conn.Exec(ctx, db.queries["activations.Append"], args) }))
}

// ForgetGone removes the arrivals, traits, activations and ties of visitors that are no longer in profiles.
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
