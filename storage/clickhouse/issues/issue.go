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

// FindIssue returns an issue of an environment without its sparkline. If the issue is part of another one, it returns
// that one. It returns not_found if no occurrence of the issue is stored in the environment.
func (db *Store) FindIssue(ctx context.Context, environment domain.Environment, number uint64, now time.Time) (issue.Issue, error) {
	m, err := db.merges(ctx, environment.Number)
	if err != nil {
		return issue.Issue{}, err
	}
	rows, err := db.issueRows(ctx, environment.Number, m, []issue.Key{{Number: m.root(number)}}, nil, now)
	if err != nil {
		return issue.Issue{}, err
	}
	if len(rows) == 0 {
		return issue.Issue{}, domain.NotFound("issue")
	}
	return rows[0], nil
}

// Issue returns one issue in full. It finds the issue like FindIssue.
func (db *Store) Issue(ctx context.Context, scope issue.Scope) (issue.Detail, error) {
	var detail issue.Detail
	environment := scope.Environment.Number
	m, err := db.merges(ctx, environment)
	if err != nil {
		return detail, err
	}
	root := m.root(scope.Number)
	week := scope.Days[max(0, len(scope.Days)-1-issue.SparkDays):]
	rows, err := db.issueRows(ctx, environment, m, []issue.Key{{Number: root}}, week, scope.Now)
	if err != nil {
		return detail, err
	}
	if len(rows) == 0 {
		return detail, domain.NotFound("issue")
	}
	detail.Issue = rows[0]
	parts := clickhouse.Args{"environment": environment, "issues": m.parts(root)}
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

// issueState reads the decided state of an issue.
func (db *Store) issueState(ctx context.Context, environment, i uint64) (issue.State, error) {
	var state issue.State
	entities, err := db.state.Load(ctx, fmt.Sprintf("issue/%d/%s", environment, occurrence.IssueID(i)))
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

// issueDays returns the daily series of an issue, including empty days.
func (db *Store) issueDays(ctx context.Context, parts clickhouse.Args, days []time.Time) ([]issue.Day, error) {
	last := len(days) - 1
	series := make([]issue.Day, last)
	places := make(map[uint32]int, last)
	for i, day := range days[:last] {
		series[i].T, places[uint32(day.Unix())] = day, i
	}
	args := parts.With(clickhouse.BucketArgs(days[:last])).With(clickhouse.Args{"from": days[0], "to": days[last]})
	err := db.conn.Read(ctx, "counting an issue's days", db.queries["issues.Daily"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var events, users uint64
		err := rows.Scan(&bucket, &events, &users)
		day := &series[places[bucket]]
		day.Events, day.Users = events, users
		return true, err
	})
	return series, err
}

func (db *Store) issueReleases(ctx context.Context, parts clickhouse.Args) ([]issue.Release, error) {
	releases := []issue.Release{}
	args := parts.With(clickhouse.Args{"limit": issue.Releases})
	err := db.conn.Read(ctx, "listing an issue's releases", db.queries["issues.Releases"], args, func(rows driver.Rows) (bool, error) {
		var r issue.Release
		var first, last int64
		err := rows.Scan(&r.Release, &r.Events, &first, &last)
		r.FirstSeenAt, r.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		releases = append(releases, r)
		return true, err
	})
	return releases, err
}

func (db *Store) issueTags(ctx context.Context, parts clickhouse.Args) ([]issue.Tag, error) {
	tags := []issue.Tag{}
	args := parts.With(clickhouse.Args{"sample": issue.TagSample, "per_tag": issue.TagValues})
	err := db.conn.Read(ctx, "counting an issue's tags", db.queries["issues.Tags"], args, func(rows driver.Rows) (bool, error) {
		var key string
		var value issue.TagValue
		err := rows.Scan(&key, &value.Value, &value.Count)
		if len(tags) == 0 || tags[len(tags)-1].Key != key {
			tags = append(tags, issue.Tag{Key: key})
		}
		tag := &tags[len(tags)-1]
		tag.Values = append(tag.Values, value)
		return true, err
	})
	return tags, err
}
