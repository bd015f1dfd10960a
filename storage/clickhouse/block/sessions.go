package block

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/event"
	"svc/protos"
	"svc/storage/clickhouse"
)

// Sessions calls open with the sessions that received an event within a span before the last arrival. It calls ended
// with the names of sessions that received their last event between an instant and that span. Rows carry their session,
// so it reads only the rows of that time, span by span, newest first. It may yield a session several times. Beyond the
// limits it omits the oldest spans.
func (db *Store) Sessions(ctx context.Context, q event.SessionsQuery, open func(event.OpenSession), ended func(event.SessionName)) error {
	spans, err := db.countArrivals(ctx, "state.Arrivals", q.Since, q.ExceptBlock)
	if err != nil || len(spans) == 0 {
		return err
	}
	begin := spans[len(spans)-1].to.Add(-q.Within)
	found := 0
	for len(spans) > 0 && spans[len(spans)-1].to.After(begin) && found < q.Open {
		n, err := db.openSessions(ctx, spans[len(spans)-1], q.ExceptBlock, open)
		if err != nil {
			return err
		}
		found, spans = found+n, spans[:len(spans)-1]
	}
	found = 0
	for len(spans) > 0 && found < q.Ended {
		n, err := db.endedSessions(ctx, spans[len(spans)-1], q.ExceptBlock, ended)
		if err != nil {
			return err
		}
		found, spans = found+n, spans[:len(spans)-1]
	}
	return nil
}

// openSessions yields the sessions of a span of time, from their rows in it.
func (db *Store) openSessions(ctx context.Context, span arrivals, exceptBlock uint64, yield func(event.OpenSession)) (found int, err error) {
	args := clickhouse.Args{"since": span.from, "until": span.to, "block": exceptBlock}
	err = span.shard.conn.Stream(ctx, "loading sessions", db.queries["state.Sessions"], args, func(rows driver.Rows) (bool, error) {
		var s event.OpenSession
		var environment, visitor uint64
		var deeds uint8
		var clickIDs string
		o := &s.Origin
		err := rows.Scan(&environment, &s.Thread, &visitor, &s.Life, &s.Bot, &s.Number, &s.Hash, &s.ID, &s.Started, &s.First, &s.Last, &s.EngagedMs, &deeds, &s.HeardMs, &s.Counted, &s.Known, &s.Device, &s.Entry.TsMs, &s.Entry.Tie, &s.Entry.Owner,
			&o.Referrer, &o.ReferrerDomain, &o.Source, &o.Medium, &o.UTMSource, &o.UTMMedium, &o.UTMCampaign, &o.UTMTerm, &o.UTMContent, &clickIDs)
		if err == nil && clickIDs != "" {
			err = json.Unmarshal([]byte(clickIDs), &o.ClickIDs)
		}
		if err != nil {
			return false, fmt.Errorf("decoding a session: %w", err)
		}
		s.Deeds = event.SessionDeeds(deeds)
		nameThread(&s.SessionName, environment, visitor)
		found++
		yield(s)
		return true, nil
	})
	return found, err
}

// endedSessions yields the names of the sessions of a span of time.
func (db *Store) endedSessions(ctx context.Context, span arrivals, exceptBlock uint64, yield func(event.SessionName)) (found int, err error) {
	args := clickhouse.Args{"since": span.from, "until": span.to, "block": exceptBlock}
	err = span.shard.conn.Stream(ctx, "loading the names of sessions", db.queries["state.EndedSessions"], args, func(rows driver.Rows) (bool, error) {
		var environment, visitor uint64
		var name event.SessionName
		if err := rows.Scan(&environment, &name.Thread, &visitor, &name.Life, &name.Bot, &name.Number, &name.Hash); err != nil {
			return false, fmt.Errorf("decoding the name of a session: %w", err)
		}
		nameThread(&name, environment, visitor)
		found++
		yield(name)
		return true, nil
	})
	return found, err
}

// nameThread completes the name of a session. A session from before threads existed belongs to the thread of its
// visitor, and is identified by the hash of its id.
func nameThread(name *event.SessionName, environment, visitor uint64) {
	if name.Thread != 0 {
		name.Hash = 0
		return
	}
	name.Thread = protos.VisitorHashOf(environment, visitor)
}
