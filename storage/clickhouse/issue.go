package clickhouse

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// FindIssue returns what an issue of an environment is, without its sparkline: of an issue
// that is part of another one, that other one. It fails with not_found where nothing of
// the issue is stored in the environment.
func (db *DB) FindIssue(ctx context.Context, environment svc.Environment, number uint64, now time.Time) (svc.Issue, error) {
	m, err := db.merges(ctx, environment.Number)
	if err != nil {
		return svc.Issue{}, err
	}
	rows, err := db.issueRows(ctx, environment.Number, m, []svc.IssueKey{{Number: m.root(number)}}, nil, now)
	if err != nil {
		return svc.Issue{}, err
	}
	if len(rows) == 0 {
		return svc.Issue{}, svc.NotFound("issue")
	}
	return rows[0], nil
}

// Issue returns one issue in full, as FindIssue finds it.
func (db *DB) Issue(ctx context.Context, scope svc.IssueScope) (svc.IssueDetail, error) {
	var detail svc.IssueDetail
	environment := scope.Environment.Number
	m, err := db.merges(ctx, environment)
	if err != nil {
		return detail, err
	}
	root := m.root(scope.Number)
	week := scope.Days[max(0, len(scope.Days)-1-svc.SparkDays):]
	rows, err := db.issueRows(ctx, environment, m, []svc.IssueKey{{Number: root}}, week, scope.Now)
	if err != nil {
		return detail, err
	}
	if len(rows) == 0 {
		return detail, svc.NotFound("issue")
	}
	detail.Issue = rows[0]
	parts := arguments{"environment": environment, "issues": m.parts(root)}
	if detail.State, err = db.issueState(ctx, environment, root); err != nil {
		return detail, err
	}
	if detail.Daily, err = db.issueDays(ctx, parts, scope.Days); err != nil {
		return detail, err
	}
	if detail.Releases, err = db.issueReleases(ctx, parts); err != nil {
		return detail, err
	}
	detail.Tags, err = db.issueTags(ctx, parts)
	return detail, err
}

// issueState reads what was decided about an issue.
func (db *DB) issueState(ctx context.Context, environment, issue uint64) (svc.IssueState, error) {
	var state svc.IssueState
	entities, err := db.Load(ctx, fmt.Sprintf("issue/%d/%s", environment, svc.IssueID(issue)))
	if err != nil {
		return state, err
	}
	for _, entity := range entities {
		if entity.Deleted || entity.Kind != "issue" {
			continue
		}
		if err := json.Unmarshal(entity.Payload, &state); err != nil {
			return state, fmt.Errorf("decoding the state of an issue: %w", err)
		}
	}
	return state, nil
}

// issueDays returns the daily series of an issue, quiet days included.
func (db *DB) issueDays(ctx context.Context, parts arguments, days []time.Time) ([]svc.IssueDay, error) {
	last := len(days) - 1
	series := make([]svc.IssueDay, last)
	places := make(map[uint32]int, last)
	for i, day := range days[:last] {
		series[i].T, places[uint32(day.Unix())] = day, i
	}
	args := parts.with(bucketArguments(days[:last])).with(arguments{"from": days[0], "to": days[last]})
	err := db.read(ctx, "counting an issue's days", db.queries["issues.Daily"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var events, users uint64
		err := rows.Scan(&bucket, &events, &users)
		day := &series[places[bucket]]
		day.Events, day.Users = events, users
		return true, err
	})
	return series, err
}

func (db *DB) issueReleases(ctx context.Context, parts arguments) ([]svc.IssueRelease, error) {
	releases := []svc.IssueRelease{}
	args := parts.with(arguments{"limit": svc.IssueReleases})
	err := db.read(ctx, "listing an issue's releases", db.queries["issues.Releases"], args, func(rows driver.Rows) (bool, error) {
		var r svc.IssueRelease
		var first, last int64
		err := rows.Scan(&r.Release, &r.Events, &first, &last)
		r.FirstSeenAt, r.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		releases = append(releases, r)
		return true, err
	})
	return releases, err
}

func (db *DB) issueTags(ctx context.Context, parts arguments) ([]svc.IssueTag, error) {
	tags := []svc.IssueTag{}
	args := parts.with(arguments{"sample": svc.TagSample, "values": svc.TagValues})
	err := db.read(ctx, "counting an issue's tags", db.queries["issues.Tags"], args, func(rows driver.Rows) (bool, error) {
		var key string
		var value svc.IssueTagValue
		err := rows.Scan(&key, &value.Value, &value.Count)
		if len(tags) == 0 || tags[len(tags)-1].Key != key {
			tags = append(tags, svc.IssueTag{Key: key})
		}
		tag := &tags[len(tags)-1]
		tag.Values = append(tag.Values, value)
		return true, err
	})
	return tags, err
}

// ErrorsOverview returns what happened in a window and in the one before.
func (db *DB) ErrorsOverview(ctx context.Context, q svc.ErrorsQuery) (svc.ErrorsOverview, error) {
	environment := q.Environment.Number
	m, err := db.merges(ctx, environment)
	if err != nil {
		return svc.ErrorsOverview{}, err
	}
	out := svc.ErrorsOverview{Series: make([]svc.IssueDay, len(q.Buckets))}
	for i, bucket := range q.Buckets {
		out.Series[i].T = bucket
	}
	args := m.arguments().with(windowArguments(environment, q.Window))
	if out.Totals, err = db.sumErrors(ctx, args, q.Buckets, out.Series); err != nil {
		return out, err
	}
	before := q.Window.Previous()
	if out.Previous, err = db.sumErrors(ctx, m.arguments().with(windowArguments(environment, before)), []time.Time{before.From}, nil); err != nil {
		return out, err
	}
	err = db.read(ctx, "counting new issues", db.queries["errors.CountNew"], args.with(stateArguments(environment, q.Now)).with(arguments{"from": q.Window.From, "to": q.Window.To}),
		func(rows driver.Rows) (bool, error) { return true, rows.Scan(&out.NewIssues, &out.RegressedIssues) })
	if err != nil {
		return out, err
	}
	var keys []svc.IssueKey
	err = db.read(ctx, "listing the noisiest issues", db.queries["errors.Noisiest"], args.with(arguments{"limit": svc.NoisiestIssues}), func(rows driver.Rows) (bool, error) {
		var key svc.IssueKey
		var events uint64
		err := rows.Scan(&key.Number, &events)
		key.Value = int64(events)
		keys = append(keys, key)
		return true, err
	})
	if err != nil {
		return out, err
	}
	out.Noisiest, err = db.issueRows(ctx, environment, m, keys, q.Days, q.Now)
	return out, err
}

// windowArguments are the values of errors.Window.
func windowArguments(environment uint64, window svc.Window) arguments {
	return scopeArguments(svc.AnalyticsScope{Environment: svc.Environment{Number: environment}}, window)
}

// sumErrors returns the totals of a window and fills its series.
func (db *DB) sumErrors(ctx context.Context, args arguments, buckets []time.Time, series []svc.IssueDay) (svc.ErrorTotals, error) {
	var totals svc.ErrorTotals
	err := db.read(ctx, "summing errors", db.queries["errors.Sum"], args.with(bucketArguments(buckets)), func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var single uint8
		var t svc.ErrorTotals
		if err := rows.Scan(&bucket, &single, &t.Events, &t.Issues, &t.Users); err != nil {
			return false, err
		}
		if single == 0 {
			totals = t
			return true, nil
		}
		for i := range series {
			if series[i].T.Unix() == int64(bucket) {
				series[i].Events, series[i].Users = t.Events, t.Users
			}
		}
		return true, nil
	})
	return totals, err
}
