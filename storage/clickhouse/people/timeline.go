package people

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/occurrence"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// staysOf returns the intervals in which the visitors belong to a person.
func (m members) staysOf(person uint64) analytics.PersonStays {
	var s analytics.PersonStays
	for visitor, spans := range m {
		for i, one := range spans {
			if one.person != person {
				continue
			}
			from, until := int64(math.MinInt64), int64(math.MaxInt64)
			if i > 0 {
				from = one.sinceMs
			}
			if i+1 < len(spans) {
				until = spans[i+1].sinceMs
			}
			s.Visitors, s.FromMs, s.UntilMs = append(s.Visitors, visitor), append(s.FromMs, from), append(s.UntilMs, until)
		}
	}
	return s
}

// owners returns the owners of the activities of a person: the visitors that belong to the person at any time, except
// those that an alias or a merge ties to another one.
func (m members) owners(environment, person uint64) []string {
	owners := []string{}
	for visitor, spans := range m {
		if m.home(visitor) == person || !m.tied(visitor) && slices.ContainsFunc(spans, func(one span) bool { return one.person == person }) {
			owners = append(owners, PersonOwner(environment, visitor))
		}
	}
	return owners
}

// timeline reads a page of a timeline.
type timeline struct {
	db    *Store
	query person.TimelineQuery
	stays analytics.PersonStays
	// owners are the owners of the activities of the person.
	owners []string
}

// Timeline returns a page of the timeline of the person of a visitor, newest first, and whether more entries follow. It
// fails as Person does.
func (db *Store) Timeline(ctx context.Context, q person.TimelineQuery) (entries []person.TimelineEntry, more bool, err error) {
	environment := q.Environment.Number
	entries, err = clickhouse.Whole(ctx, db.conn.Of(environment), func(ctx context.Context) (found []person.TimelineEntry, err error) {
		p, members, err := db.whoIs(ctx, environment, q.Visitor)
		if err != nil {
			return nil, err
		}
		t := timeline{db, q, members.staysOf(p), members.owners(environment, p)}
		found, err = t.read(ctx)
		if err != nil || slices.ContainsFunc(found, func(e person.TimelineEntry) bool { return e.Kind == person.TimelineEvent }) {
			return found, err
		}
		seen, err := db.seen(ctx, environment, p, members) // a person without events is not found
		if err == nil && !seen {
			err = domain.NotFound("person")
		}
		return found, err
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(entries, func(a, b person.TimelineEntry) int { return a.Compare(b.TimelineKey) })
	entries, more = q.Page(entries)
	return entries, more, nil
}

// read returns the entries of all kinds, at most one more than a page of each kind.
func (t *timeline) read(ctx context.Context) ([]person.TimelineEntry, error) {
	if len(t.stays.Visitors) == 0 {
		return nil, nil
	}
	kinds := person.TimelineKinds()
	found := make([][]person.TimelineEntry, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		if !slices.Contains(t.query.Kinds, kind) {
			continue
		}
		group.Go(func() (err error) {
			switch kind {
			case person.TimelineEvent:
				found[i], err = t.events(ctx)
			case person.TimelineActivity:
				found[i], err = t.activities(ctx)
				if err == nil {
					err = t.campaigns(ctx, &found[i])
				}
			case person.TimelineError:
				found[i], err = t.errors(ctx)
			}
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// args returns the parameters of the query of a kind.
func (t *timeline) args(kind person.TimelineKind) clickhouse.Args {
	ms, id := t.query.Before.Bound(kind)
	return clickhouse.Args{
		"environment": t.query.Environment.Number, "visitors": t.stays.Visitors, "from": t.stays.FromMs, "until": t.stays.UntilMs,
		"before_ms": ms, "before_id": id, "limit": t.query.Rows(),
	}
}

func (t *timeline) events(ctx context.Context) (entries []person.TimelineEntry, err error) {
	err = t.db.conn.Read(ctx, "reading the events of a person", t.db.queries["timeline.Events"], t.args(person.TimelineEvent), func(rows driver.Rows) (bool, error) {
		e := &event.Event{Environment: t.query.Environment.Slug}
		var ms int64
		var properties string
		err := rows.Scan(&e.ID, &ms, &e.Name, &e.URL, &e.Path, &e.Title, &e.Referrer, &e.DistinctID, &e.AnonymousID, &e.SessionID,
			&e.Source, &e.Medium, &e.UTMCampaign, &e.Country, &e.Device, &e.Browser, &e.OS, &e.Value, &e.Currency, &properties)
		e.Ts, e.Properties = time.UnixMilli(ms).UTC(), json.RawMessage(properties)
		entries = append(entries, person.TimelineEntry{TimelineKey: person.TimelineKey{TsMs: ms, Kind: person.TimelineEvent, ID: e.ID}, Event: e})
		return true, err
	})
	return entries, err
}

// scannedErrors bounds the instants of errors that a page looks at. Some errors of a shared visitor belong to other
// persons.
const scannedErrors = 10_000

func (t *timeline) errors(ctx context.Context) (entries []person.TimelineEntry, err error) {
	args := t.args(person.TimelineError).With(clickhouse.Args{"scanned": uint32(scannedErrors)})
	err = t.db.conn.Read(ctx, "reading the errors of a person", t.db.queries["timeline.Errors"], args, func(rows driver.Rows) (bool, error) {
		var id string
		var ms int64
		var issue uint64
		var e person.TimelineFailure
		err := rows.Scan(&id, &ms, &issue, &e.Level, &e.Name, &e.Message, &e.Culprit, &e.URL, &e.Release, &e.Handled)
		e.IssueID = occurrence.IssueID(issue)
		entries = append(entries, person.TimelineEntry{TimelineKey: person.TimelineKey{TsMs: ms, Kind: person.TimelineError, ID: id}, Error: &e})
		return true, err
	})
	return entries, err
}

func (t *timeline) activities(ctx context.Context) (entries []person.TimelineEntry, err error) {
	err = t.db.conn.Read(ctx, "reading the activities of a person", t.db.queries["timeline.Activities"], clickhouse.Args{"owners": t.owners}, func(rows driver.Rows) (bool, error) {
		var payload string
		if err := rows.Scan(&payload); err != nil {
			return false, err
		}
		var activity person.Activity
		if err := json.Unmarshal([]byte(payload), &activity); err != nil {
			t.db.conn.Skipped(domain.Entity{Kind: "activity"}, err)
			return true, nil // one bad entity must not hide the others
		}
		entry := person.TimelineEntry{TimelineKey: person.TimelineKey{TsMs: activity.At.UnixMilli(), Kind: person.TimelineActivity, ID: activity.ID}, Activity: &activity}
		if entry.Compare(t.query.Before) > 0 {
			entries = append(entries, entry)
		}
		return true, nil
	})
	slices.SortFunc(entries, func(a, b person.TimelineEntry) int { return a.Compare(b.TimelineKey) })
	return entries[:min(len(entries), t.query.Rows())], err
}

// campaigns adds the campaigns that were sent to the person.
func (t *timeline) campaigns(ctx context.Context, entries *[]person.TimelineEntry) error {
	return t.db.conn.Read(ctx, "reading the campaigns of a person", t.db.queries["timeline.Campaigns"], t.args(person.TimelineActivity), func(rows driver.Rows) (bool, error) {
		a := &person.Activity{Kind: person.ActivityCampaign}
		var ms int64
		err := rows.Scan(&a.ID, &ms, &a.Campaign, &a.Text, &a.Fate)
		a.At = time.UnixMilli(ms).UTC()
		*entries = append(*entries, person.TimelineEntry{TimelineKey: person.TimelineKey{TsMs: ms, Kind: person.TimelineActivity, ID: a.ID}, Activity: a})
		return true, err
	})
}
