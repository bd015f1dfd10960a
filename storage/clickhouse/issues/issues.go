package issues

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/domain/release"
	"svc/storage/clickhouse"
)

// merges maps issues of an environment to the issues that they were merged into.
type merges struct{ members, roots []uint64 }

// root returns the issue that represents an issue: itself, or the one that it was merged into.
func (m *merges) root(issue uint64) uint64 {
	for i, member := range m.members {
		if member == issue {
			return m.roots[i]
		}
	}
	return issue
}

// parts returns issues together with all issues that were merged into them.
func (m *merges) parts(issues ...uint64) []uint64 {
	wanted := make(map[uint64]bool, len(issues))
	for _, issue := range issues {
		wanted[issue] = true
	}
	out := append([]uint64{}, issues...)
	for i, root := range m.roots {
		if wanted[root] {
			out = append(out, m.members[i])
		}
	}
	return out
}

// arguments returns the values with which queries map an issue to its root.
func (m *merges) arguments() clickhouse.Args {
	if len(m.members) == 0 { // the engine refuses empty lists; no issue has the number 0
		return clickhouse.Args{"members": []uint64{0}, "roots": []uint64{0}}
	}
	return clickhouse.Args{"members": m.members, "roots": m.roots}
}

// stateArguments returns the values of issues.States.
func stateArguments(environment uint64, now time.Time) clickhouse.Args {
	owner := "issue/" + strconv.FormatUint(environment, 10)
	// The character after the slash ends the range of owners.
	return clickhouse.Args{"owner_from": owner + "/", "owner_to": owner + "0", "now_ms": now.UnixMilli()}
}

// merges reads the merged issues of an environment.
func (db *Store) merges(ctx context.Context, environment uint64) (merges, error) {
	var m merges
	args := stateArguments(environment, time.Time{})
	err := db.conn.Read(ctx, "listing merged issues", db.queries["issues.Merged"], args, func(rows driver.Rows) (bool, error) {
		var issue, root uint64
		err := rows.Scan(&issue, &root)
		m.members, m.roots = append(m.members, issue), append(m.roots, root)
		return true, err
	})
	return m, err
}

// Issues returns a page of the issues of an environment, and the number of issues in each status.
func (db *Store) Issues(ctx context.Context, q issue.Query) (issue.List, error) {
	return clickhouse.Whole(ctx, db.conn.Of(q.Environment.Number), func(ctx context.Context) (issue.List, error) { return db.issuePage(ctx, q) })
}

// issuePage is Issues without coordination with inserts under way.
func (db *Store) issuePage(ctx context.Context, q issue.Query) (issue.List, error) {
	m, err := db.merges(ctx, q.Environment.Number)
	if err != nil {
		return issue.List{}, err
	}
	var list issue.List
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() (err error) {
		list.Counts, err = db.countIssues(ctx, q.Environment.Number, m, q.Now)
		return err
	})
	parts.Go(func() error {
		keys, more, err := db.rankIssues(ctx, q, m)
		if err != nil {
			return err
		}
		list.More = more
		list.Rows, err = db.issueRows(ctx, q.Environment.Number, m, keys, q.Days, q.Now)
		return err
	})
	return list, parts.Wait()
}

// sortKey returns the name of the query part with the sort value.
func sortKey(sort issue.Sort) string {
	switch sort {
	case issue.SortCount:
		return "issues.KeyCount"
	case issue.SortUsers:
		return "issues.KeyUsers"
	case issue.SortFirstSeen:
		return "issues.KeyFirstSeen"
	case issue.SortLastSeen:
	}
	return "issues.KeyLastSeen"
}

// rankIssues returns the keys of a page and reports whether another page follows.
func (db *Store) rankIssues(ctx context.Context, q issue.Query, m merges) (keys []issue.Key, more bool, err error) {
	var c clickhouse.Clause
	if q.Search != "" {
		c.Add(db.queries["issues.Search"], "search", q.Search)
		c.Args()["email"] = ""
		if q.SearchMasked {
			c.Args()["email"] = clickhouse.ShapePattern
		}
	}
	args := c.Args().With(m.arguments()).With(stateArguments(q.Environment.Number, q.Now)).With(clickhouse.Args{
		"environment": q.Environment.Number, "release": q.Release, "status": string(q.Status), "limit": q.Limit + 1,
		"first_page": q.After == nil, "after_rank": int64(0), "after_issue": uint64(0),
	})
	if q.After != nil {
		args["after_rank"], args["after_issue"] = q.After.Value, q.After.Number
	}
	query := bindRank(db.queries["issues.Rank"], db.queries[sortKey(q.Sort)], c)
	err = db.conn.Read(ctx, "listing issues", query, args, func(rows driver.Rows) (bool, error) {
		if len(keys) == q.Limit {
			more = true
			return false, nil
		}
		var key issue.Key
		err := rows.Scan(&key.Number, &key.Value)
		keys = append(keys, key)
		return true, err
	})
	return keys, more, err
}

// countIssues counts the issues of an environment by status.
func (db *Store) countIssues(ctx context.Context, environment uint64, m merges, now time.Time) (issue.Counts, error) {
	var counts issue.Counts
	args := m.arguments().With(stateArguments(environment, now)).With(clickhouse.Args{"environment": environment})
	err := db.conn.Read(ctx, "counting issues", db.queries["issues.CountByStatus"], args, func(rows driver.Rows) (bool, error) {
		var status string
		var n uint64
		err := rows.Scan(&status, &n)
		counts.All += n
		switch issue.Status(status) {
		case issue.Open:
			counts.Open = n
		case issue.Regressed:
			counts.Regressed = n
		case issue.Resolved:
			counts.Resolved = n
		case issue.Ignored:
			counts.Ignored = n
		}
		return true, err
	})
	return counts, err
}

// issueRows returns the issues of keys, in the order of keys. It omits an issue that expired meanwhile.
func (db *Store) issueRows(ctx context.Context, environment uint64, m merges, keys []issue.Key, days []time.Time, now time.Time) ([]issue.Issue, error) {
	if len(keys) == 0 {
		return []issue.Issue{}, nil
	}
	numbers := make([]uint64, len(keys))
	for i := range keys {
		numbers[i] = keys[i].Number
	}
	found, err := db.getIssues(ctx, environment, m, numbers)
	if err != nil {
		return nil, err
	}
	if err := db.fillStatus(ctx, environment, found, numbers, now); err != nil {
		return nil, err
	}
	if err := db.fillSparks(ctx, environment, m, found, numbers, days); err != nil {
		return nil, err
	}
	rows := make([]issue.Issue, 0, len(keys))
	for _, key := range keys {
		if issue := found[key.Number]; issue != nil {
			issue.Key = key
			rows = append(rows, *issue)
		}
	}
	return rows, nil
}

// getIssues reads the descriptions and counts of issues.
func (db *Store) getIssues(ctx context.Context, environment uint64, m merges, numbers []uint64) (map[uint64]*issue.Issue, error) {
	found := make(map[uint64]*issue.Issue, len(numbers))
	args := m.arguments().With(clickhouse.Args{"environment": environment, "issues": m.parts(numbers...)})
	err := db.conn.Read(ctx, "reading issues", db.queries["issues.Get"], args, func(rows driver.Rows) (bool, error) {
		issue := &issue.Issue{Status: issue.Open}
		var first, last int64
		var name, message, level string
		err := rows.Scan(&issue.Key.Number, &issue.Fingerprint, &first, &last, &issue.Events, &issue.Users,
			&name, &message, &issue.Culprit, &level, &issue.ReleaseFirst, &issue.ReleaseLast)
		issue.ID, issue.Title, issue.Level = occurrence.IssueID(issue.Key.Number), occurrence.IssueTitle(name, message), occurrence.Level(level)
		issue.FirstSeenAt, issue.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		found[issue.Key.Number] = issue
		return true, err
	})
	return found, err
}

// fillStatus reads the statuses of issues.
func (db *Store) fillStatus(ctx context.Context, environment uint64, issues map[uint64]*issue.Issue, numbers []uint64, now time.Time) error {
	args := stateArguments(environment, now).With(clickhouse.Args{"issues": numbers})
	return db.conn.Read(ctx, "reading the statuses of issues", db.queries["issues.Status"], args, func(rows driver.Rows) (bool, error) {
		var number uint64
		var status string
		err := rows.Scan(&number, &status)
		if i := issues[number]; i != nil {
			i.Status = issue.Status(status)
		}
		return true, err
	})
}

// fillSparks counts the occurrences of issues per day. The last element of days is the end of the last day.
func (db *Store) fillSparks(ctx context.Context, environment uint64, m merges, issues map[uint64]*issue.Issue, numbers []uint64, days []time.Time) error {
	if len(days) < 2 {
		return nil
	}
	begin := make(map[uint32]int, len(days))
	for i, day := range days[:len(days)-1] {
		begin[uint32(day.Unix())] = i
	}
	for _, issue := range issues {
		issue.Spark = make([]uint64, len(days)-1)
	}
	args := m.arguments().With(clickhouse.BucketArgs(days[:len(days)-1])).With(clickhouse.Args{
		"environment": environment, "issues": m.parts(numbers...),
		"from": days[0], "to": days[len(days)-1],
	})
	return db.conn.Read(ctx, "counting occurrences per day", db.queries["issues.Sparks"], args, func(rows driver.Rows) (bool, error) {
		var number, events uint64
		var bucket uint32
		err := rows.Scan(&number, &bucket, &events)
		if issue, at := issues[number], begin[bucket]; issue != nil {
			issue.Spark[at] += events
		}
		return true, err
	})
}

// FirstSeen returns the time of the first error in each release of an environment. Releases without errors are missing.
func (db *Store) FirstSeen(ctx context.Context, environment uint64, releases []string) (map[string]time.Time, error) {
	seen := make(map[string]time.Time, len(releases))
	args := clickhouse.Args{"environment": environment, "releases": releases}
	err := db.conn.Read(ctx, "reading the first occurrences of releases", db.queries["releases.FirstSeen"], args, func(rows driver.Rows) (bool, error) {
		var release string
		var first int64
		err := rows.Scan(&release, &first)
		seen[release] = time.UnixMilli(first).UTC()
		return true, err
	})
	return seen, err
}

// ReleaseCounts returns the error counts of releases in environments. Releases without errors are missing.
func (db *Store) ReleaseCounts(ctx context.Context, environments []uint64, releases []string) (map[string]release.Count, error) {
	counts := make(map[string]release.Count, len(releases))
	err := clickhouse.Split(db.conn, environments, clickhouse.Environment, func(conn *clickhouse.Conn, environments []uint64) error {
		args := clickhouse.Args{"environments": environments, "releases": releases}
		return conn.Read(ctx, "counting the issues of releases", db.queries["releases.Counts"], args, func(rows driver.Rows) (bool, error) {
			var r string
			var began uint64
			var first, last int64
			err := rows.Scan(&r, &began, &first, &last)
			count := release.Count{NewIssues: int(began), FirstSeenAt: time.UnixMilli(first).UTC(), LastSeenAt: time.UnixMilli(last).UTC()}
			if other, there := counts[r]; there { // from another shard
				count.NewIssues += other.NewIssues
				count.FirstSeenAt, count.LastSeenAt = earlier(count.FirstSeenAt, other.FirstSeenAt), later(count.LastSeenAt, other.LastSeenAt)
			}
			counts[r] = count
			return true, err
		})
	})
	return counts, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// WatchedIssues returns the states of the issues with occurrences that their owners must see, in the owned partitions
// of the log. If the store is unavailable, the result also has other issues of these partitions.
func (db *Store) WatchedIssues(ctx context.Context, partitions int, owned []int) ([]domain.Entity, error) {
	if len(owned) == 0 {
		return nil, nil
	}
	var out []domain.Entity
	args := clickhouse.Args{"partitions": partitions, "owned": owned}
	err := db.conn.ReadFirst(ctx, "loading watched issues", db.queries["issues.Watched"], args, func(rows driver.Rows) (bool, error) {
		var e domain.Entity
		var version uint64
		err := rows.Scan(&e.Owner, &e.Payload, &version)
		e.Version = domain.VersionOf(version)
		out = append(out, e)
		return true, err
	})
	if domain.CodeOf(err) == domain.CodeUnavailable {
		return db.issuesOf(ctx, partitions, owned)
	}
	return out, err
}

// issuesOf returns all issues in some partitions that members or releases ever changed. They include the result of
// [Store.WatchedIssues].
func (db *Store) issuesOf(ctx context.Context, partitions int, owned []int) ([]domain.Entity, error) {
	entities, err := db.state.LoadKind(ctx, "issue")
	return slices.DeleteFunc(entities, func(e domain.Entity) bool {
		var record struct{ Issue uint64 }
		return json.Unmarshal(e.Payload, &record) == nil && !slices.Contains(owned, int(record.Issue%uint64(partitions)))
	}), err
}

// bindRank replaces the placeholders for the sort value and for a condition on the groups in a query.
func bindRank(query, key string, c clickhouse.Clause) string {
	return strings.NewReplacer("$(key)", key, "$(having)", c.Text()).Replace(query)
}
