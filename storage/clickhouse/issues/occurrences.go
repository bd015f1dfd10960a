package issues

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/storage/clickhouse"
)

// Occurrences returns a page of summaries of the occurrences of an issue, including merged issues, newest first. It
// reports whether another page follows.
func (db *Store) Occurrences(ctx context.Context, q issue.OccurrenceQuery) (page []occurrence.Occurrence, more bool, err error) {
	m, err := db.merges(ctx, q.Environment.Number)
	if err != nil {
		return nil, false, err
	}
	root := m.root(q.Issue)
	args := clickhouse.Args{
		"environment": q.Environment.Number, "issues": m.parts(root), "limit": q.Limit + 1,
		"first_page": q.Before == nil, "before_ts": time.UnixMilli(0), "before_id": "", "before_tie": uint64(0),
	}
	if q.Before != nil {
		args["before_ts"], args["before_id"], args["before_tie"] = q.Before.Ts, q.Before.ID, q.Before.Tie
	}
	err = clickhouse.Besides(ctx, db.conn.Of(q.Environment.Number), func(hidden []uint64) error {
		args["hidden"] = hidden
		page, more, err = db.occurrences(ctx, q, root, args)
		return err
	})
	return page, more, err
}

// occurrences reads a page of summaries of the occurrences of an issue.
func (db *Store) occurrences(ctx context.Context, q issue.OccurrenceQuery, root uint64, args clickhouse.Args) (page []occurrence.Occurrence, more bool, err error) {
	err = db.conn.Read(ctx, "listing occurrences", db.queries["occurrences.List"], args, func(rows driver.Rows) (bool, error) {
		if len(page) == q.Limit {
			more = true
			return false, nil
		}
		o := occurrence.Occurrence{IssueID: occurrence.IssueID(root), Environment: q.Environment.Slug}
		var ts int64
		var level string
		err := rows.Scan(&o.ID, &ts, &level, &o.Name, &o.Message, &o.Culprit, &o.Handled, &o.Release, &o.URL,
			&o.DistinctID, &o.AnonymousID, &o.SessionID, &o.Browser, &o.OS, &o.Country, &o.Tie)
		o.Ts, o.Level = time.UnixMilli(ts).UTC(), occurrence.Level(level)
		page = append(page, o)
		return true, err
	})
	return page, more, err
}

// Occurrence returns one occurrence of an issue, or of an issue merged into it, in full. For any other combination it
// returns not_found.
func (db *Store) Occurrence(ctx context.Context, environment domain.Environment, issue uint64, id string) (occurrence.Occurrence, error) {
	o := occurrence.Occurrence{Environment: environment.Slug}
	m, err := db.merges(ctx, environment.Number)
	if err != nil {
		return o, err
	}
	root := m.root(issue)
	o.IssueID = occurrence.IssueID(root)
	found := false
	args := clickhouse.Args{"environment": environment.Number, "issues": m.parts(root), "id": id}
	err = db.conn.Read(ctx, "reading an occurrence", db.queries["occurrences.Get"], args, func(rows driver.Rows) (bool, error) {
		found = true
		return true, scanOccurrence(rows, &o)
	})
	if err == nil && !found {
		err = domain.NotFound("occurrence")
	}
	return o, err
}

// scanOccurrence reads a row of occurrences.Get.
func scanOccurrence(rows driver.Rows, o *occurrence.Occurrence) error {
	var ts, received int64
	var level, frames, breadcrumbs, tags, extra, details string
	var status uint16
	err := rows.Scan(&o.ID, &ts, &received, &level, &o.Name, &o.Message, &o.Culprit, &o.Handled, &o.Mechanism, &o.Release,
		&o.Stack, &frames, &breadcrumbs, &tags, &extra, &o.Request.Method, &o.Request.URL, &status, &o.URL, &o.Path, &o.Referrer,
		&o.SessionID, &o.DistinctID, &o.AnonymousID, &o.Browser, &o.BrowserVersion, &o.OS, &o.Device,
		&o.Country, &o.Region, &o.City, &o.Locale, &o.AppVersion, &details)
	if err != nil {
		return err
	}
	o.Ts, o.ReceivedAt = time.UnixMilli(ts).UTC(), time.UnixMilli(received).UTC()
	o.Level, o.Request.Status, o.Extra = occurrence.Level(level), int(status), json.RawMessage(extra)
	for _, list := range []struct {
		text string
		into any
	}{{frames, &o.Frames}, {breadcrumbs, &o.Breadcrumbs}, {tags, &o.Tags}, {details, &o.Details}} {
		if list.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(list.text), list.into); err != nil {
			return fmt.Errorf("decoding an occurrence: %w", err)
		}
	}
	return nil
}
