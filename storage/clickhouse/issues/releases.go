package issues

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/issue"
	"svc/storage/clickhouse"
)

// FindIssues returns the given issues that the environment has, each under the requested number. If an issue is part of
// another one, the result has that one.
func (db *Store) FindIssues(ctx context.Context, environment domain.Environment, numbers []uint64, now time.Time) (map[uint64]issue.Issue, error) {
	m, err := db.merges(ctx, environment.Number)
	if err != nil {
		return nil, err
	}
	keys := make([]issue.Key, len(numbers))
	for i, number := range numbers {
		keys[i].Number = m.root(number)
	}
	rows, err := db.issueRows(ctx, environment.Number, m, keys, nil, now)
	if err != nil {
		return nil, err
	}
	roots := make(map[uint64]issue.Issue, len(rows))
	for _, row := range rows {
		roots[row.Key.Number] = row
	}
	found := make(map[uint64]issue.Issue, len(numbers))
	for _, number := range numbers {
		if issue, ok := roots[m.root(number)]; ok {
			found[number] = issue
		}
	}
	return found, nil
}

// Releases returns a page of the releases of an environment, the last seen first, and reports whether more follow.
func (db *Store) Releases(ctx context.Context, q issue.ErrorReleasesQuery) (page []issue.ErrorRelease, more bool, err error) {
	type result struct {
		page []issue.ErrorRelease
		more bool
	}
	found, err := clickhouse.Whole(ctx, db.conn.Of(q.Environment.Number), func(ctx context.Context) (result, error) {
		page, more, err := db.releasePage(ctx, q)
		return result{page, more}, err
	})
	return found.page, found.more, err
}

// releasePage is Releases without coordination with inserts under way.
func (db *Store) releasePage(ctx context.Context, q issue.ErrorReleasesQuery) (page []issue.ErrorRelease, more bool, err error) {
	m, err := db.merges(ctx, q.Environment.Number)
	if err != nil {
		return nil, false, err
	}
	args := m.arguments().With(clickhouse.Args{
		"environment": q.Environment.Number, "session_metric": issue.SessionMetric, "search": q.Search, "limit": q.Limit + 1,
		"first_page": q.After == nil, "after_ms": int64(0), "after_word": "",
	})
	if q.After != nil {
		args["after_ms"], args["after_word"] = q.After.LastSeenMs, q.After.Release
	}
	err = db.conn.Read(ctx, "listing releases", db.queries["releases.List"], args, func(rows driver.Rows) (bool, error) {
		if len(page) == q.Limit {
			more = true
			return false, nil
		}
		var r issue.ErrorRelease
		var first, last int64
		s := &r.Sessions
		err := rows.Scan(&r.Release, &r.Events, &r.Issues, &r.NewIssues, &s.Started, &s.Crashed, &s.Abnormal, &s.Errored, &first, &last)
		r.FirstSeenAt, r.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		page = append(page, r)
		return true, err
	})
	if err != nil || len(page) == 0 {
		return page, more, err
	}
	return page, more, db.fillDecisions(ctx, q.Environment.Number, page)
}

// fillDecisions counts the issues that regressed in releases and the issues that are resolved by them.
func (db *Store) fillDecisions(ctx context.Context, environment uint64, page []issue.ErrorRelease) error {
	places, words := make(map[string]int, len(page)), make([]string, len(page))
	for i := range page {
		places[page[i].Release], words[i] = i, page[i].Release
	}
	args := stateArguments(environment, time.Time{}).With(clickhouse.Args{"releases": words})
	return db.conn.Read(ctx, "counting decisions about releases", db.queries["releases.Decisions"], args, func(rows driver.Rows) (bool, error) {
		var release string
		var resolved, regressed uint64
		err := rows.Scan(&release, &resolved, &regressed)
		row := &page[places[release]]
		row.ResolvedIssues, row.RegressedIssues = resolved, regressed
		return true, err
	})
}

// Artifacts returns a page of the source maps of an application, newest first, and reports whether more follow.
func (db *Store) Artifacts(ctx context.Context, q issue.ArtifactQuery) (page []issue.Artifact, more bool, err error) {
	args := clickhouse.Args{"app": q.App, "prefix": "", "limit": q.Limit + 1, "first_page": q.After == nil, "after_ms": int64(0), "after_word": ""}
	if q.Release != "" {
		args["prefix"] = issue.ReleaseKeyPrefix(q.Release)
	}
	if q.After != nil {
		args["after_ms"], args["after_word"] = q.After.UploadedMs, q.After.Key
	}
	err = db.conn.Read(ctx, "listing source maps", db.queries["sourceMaps.List"], args, func(rows driver.Rows) (bool, error) {
		if len(page) == q.Limit {
			more = true
			return false, nil
		}
		var key string
		var uploaded int64
		var size uint64
		err := rows.Scan(&key, &uploaded, &size)
		one := issue.ArtifactOf(key)
		one.Bytes, one.UploadedAt = size, time.UnixMilli(uploaded).UTC()
		page = append(page, one)
		return true, err
	})
	return page, more, err
}

// unmappedDays is the age limit of the occurrences that Unmapped reads, in days.
const unmappedDays = 7

// Unmapped returns the frames of an environment's latest errors that no source map resolved.
func (db *Store) Unmapped(ctx context.Context, environment domain.Environment, now time.Time) (frames []issue.UnmappedFrames, err error) {
	args := clickhouse.Args{"environment": environment.Number, "since": now.AddDate(0, 0, -unmappedDays), "sample": issue.UnmappedSample, "limit": issue.UnmappedRows}
	err = db.conn.Read(ctx, "listing unmapped frames", db.queries["occurrences.Unmapped"], args, func(rows driver.Rows) (bool, error) {
		var one issue.UnmappedFrames
		var last int64
		err := rows.Scan(&one.Reason, &one.File, &one.Release, &one.Frames, &last)
		one.LastSeenAt = time.UnixMilli(last).UTC()
		frames = append(frames, one)
		return true, err
	})
	return frames, err
}
