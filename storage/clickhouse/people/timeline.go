package people

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc"
	"svc/storage/clickhouse"
)

// staysOf returns the intervals in which the visitors belong to a person.
func (m members) staysOf(person uint64) svc.PersonStays {
	var s svc.PersonStays
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
	query svc.TimelineQuery
	stays svc.PersonStays
	// owners are the owners of the activities of the person.
	owners []string
}

// Timeline returns a page of the timeline of the person of a visitor, newest first, and whether more entries follow. It
// fails as Person does.
func (db *Store) Timeline(ctx context.Context, q svc.TimelineQuery) (entries []svc.TimelineEntry, more bool, err error) {
	environment := q.Environment.Number
	entries, err = clickhouse.Whole(ctx, db.conn.Of(environment), func(ctx context.Context) (found []svc.TimelineEntry, err error) {
		person, members, err := db.whoIs(ctx, environment, q.Visitor)
		if err != nil {
			return nil, err
		}
		t := timeline{db, q, members.staysOf(person), members.owners(environment, person)}
		found, err = t.read(ctx)
		if err != nil || slices.ContainsFunc(found, func(e svc.TimelineEntry) bool { return e.Kind == svc.TimelineEvent }) {
			return found, err
		}
		seen, err := db.seen(ctx, environment, person, members) // a person without events is not found
		if err == nil && !seen {
			err = svc.NotFound("person")
		}
		return found, err
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(entries, func(a, b svc.TimelineEntry) int { return a.Compare(b.TimelineKey) })
	entries, more = q.Page(entries)
	return entries, more, nil
}

// read returns the entries of all kinds, at most one more than a page of each kind.
func (t *timeline) read(ctx context.Context) ([]svc.TimelineEntry, error) {
	if len(t.stays.Visitors) == 0 {
		return nil, nil
	}
	kinds := svc.TimelineKinds()
	found := make([][]svc.TimelineEntry, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		if !slices.Contains(t.query.Kinds, kind) {
			continue
		}
		group.Go(func() (err error) {
			switch kind {
			case svc.TimelineEvent:
				found[i], err = t.events(ctx)
			case svc.TimelineActivity:
				found[i], err = t.activities(ctx)
				if err == nil {
					err = t.campaigns(ctx, &found[i])
				}
			case svc.TimelineError:
				found[i], err = t.errors(ctx)
			}
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// args returns the parameters of the query of a kind.
func (t *timeline) args(kind svc.TimelineKind) clickhouse.Args {
	ms, id := t.query.Before.Bound(kind)
	return clickhouse.Args{
		"environment": t.query.Environment.Number, "visitors": t.stays.Visitors, "from": t.stays.FromMs, "until": t.stays.UntilMs,
		"before_ms": ms, "before_id": id, "limit": t.query.Rows(),
	}
}

func (t *timeline) events(ctx context.Context) (entries []svc.TimelineEntry, err error) {
	err = t.db.conn.Read(ctx, "reading the events of a person", t.db.queries["timeline.Events"], t.args(svc.TimelineEvent), func(rows driver.Rows) (bool, error) {
		e := &svc.Event{Environment: t.query.Environment.Slug}
		var ms int64
		var properties string
		err := rows.Scan(&e.ID, &ms, &e.Name, &e.URL, &e.Path, &e.Title, &e.Referrer, &e.DistinctID, &e.AnonymousID, &e.SessionID,
			&e.Source, &e.Medium, &e.UTMCampaign, &e.Country, &e.Device, &e.Browser, &e.OS, &e.Value, &e.Currency, &properties)
		e.Ts, e.Properties = time.UnixMilli(ms).UTC(), json.RawMessage(properties)
		entries = append(entries, svc.TimelineEntry{TimelineKey: svc.TimelineKey{TsMs: ms, Kind: svc.TimelineEvent, ID: e.ID}, Event: e})
		return true, err
	})
	return entries, err
}

// scannedErrors bounds the instants of errors that a page looks at. Some errors of a shared visitor belong to other
// persons.
const scannedErrors = 10_000

func (t *timeline) errors(ctx context.Context) (entries []svc.TimelineEntry, err error) {
	args := t.args(svc.TimelineError).With(clickhouse.Args{"scanned": uint32(scannedErrors)})
	err = t.db.conn.Read(ctx, "reading the errors of a person", t.db.queries["timeline.Errors"], args, func(rows driver.Rows) (bool, error) {
		var id string
		var ms int64
		var issue uint64
		var e svc.TimelineFailure
		err := rows.Scan(&id, &ms, &issue, &e.Level, &e.Name, &e.Message, &e.Culprit, &e.URL, &e.Release, &e.Handled)
		e.IssueID = svc.IssueID(issue)
		entries = append(entries, svc.TimelineEntry{TimelineKey: svc.TimelineKey{TsMs: ms, Kind: svc.TimelineError, ID: id}, Error: &e})
		return true, err
	})
	return entries, err
}

func (t *timeline) activities(ctx context.Context) (entries []svc.TimelineEntry, err error) {
	err = t.db.conn.Read(ctx, "reading the activities of a person", t.db.queries["timeline.Activities"], clickhouse.Args{"owners": t.owners}, func(rows driver.Rows) (bool, error) {
		var payload string
		if err := rows.Scan(&payload); err != nil {
			return false, err
		}
		var activity svc.Activity
		if err := json.Unmarshal([]byte(payload), &activity); err != nil {
			t.db.conn.Skipped(svc.Entity{Kind: "activity"}, err)
			return true, nil // one bad entity must not hide the others
		}
		entry := svc.TimelineEntry{TimelineKey: svc.TimelineKey{TsMs: activity.At.UnixMilli(), Kind: svc.TimelineActivity, ID: activity.ID}, Activity: &activity}
		if entry.Compare(t.query.Before) > 0 {
			entries = append(entries, entry)
		}
		return true, nil
	})
	slices.SortFunc(entries, func(a, b svc.TimelineEntry) int { return a.Compare(b.TimelineKey) })
	return entries[:min(len(entries), t.query.Rows())], err
}

// campaigns adds the campaigns that were sent to the person.
func (t *timeline) campaigns(ctx context.Context, entries *[]svc.TimelineEntry) error {
	return t.db.conn.Read(ctx, "reading the campaigns of a person", t.db.queries["timeline.Campaigns"], t.args(svc.TimelineActivity), func(rows driver.Rows) (bool, error) {
		a := &svc.Activity{Kind: svc.ActivityCampaign}
		var ms int64
		err := rows.Scan(&a.ID, &ms, &a.Campaign, &a.Text, &a.Fate)
		a.At = time.UnixMilli(ms).UTC()
		*entries = append(*entries, svc.TimelineEntry{TimelineKey: svc.TimelineKey{TsMs: ms, Kind: svc.TimelineActivity, ID: a.ID}, Activity: a})
		return true, err
	})
}
