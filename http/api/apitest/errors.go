package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
)

// tracked implements the ports of error tracking. It stores occurrences in one list, and decisions by environment and
// issue.
type tracked struct{ *Memory }

// occurred is a stored occurrence with its issue.
type occurred struct {
	occurrence.Occurrence
	issue       uint64
	fingerprint string
}

type issueRef struct{ environment, issue uint64 }

// FixtureErrors returns the occurrences of the application acme/web: three of a
// TypeError, one of a Timeout.
func FixtureErrors(now time.Time) []occurrence.Occurrence {
	row := func(id string, minutes int, name, message, visitor, release string) occurrence.Occurrence {
		at := now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Millisecond)
		o := occurrence.Occurrence{
			ID: id, Ts: at, ReceivedAt: at, Name: name, Message: message, DistinctID: visitor, SessionID: "ses_2", Release: release,
			Mechanism: "onerror", Stack: "checkout@https://acme.example/app.js:3:7", Tags: map[string]string{"plan": "pro"},
			Breadcrumbs: []occurrence.Breadcrumb{{Timestamp: "2026-11-20T11:00:00.000Z", Category: "ui.click", Message: "pay as ada@acme.example"}},
			Extra:       json.RawMessage(`{"contact":"ada@acme.example"}`), Request: occurrence.ErrorRequest{Method: "POST", URL: "https://acme.example/api", Status: 500},
			URL: "https://acme.example/cart", Path: "/cart", Browser: "Firefox", BrowserVersion: "145.0", OS: "Linux", Device: "desktop", Country: "DE",
			Locale: "de-DE", AppVersion: "7", Environment: domain.DefaultEnvironment,
		}
		o.Normalise()
		return o
	}
	return []occurrence.Occurrence{
		row("occ_04", 1, "TypeError", "no cart for ada@acme.example", "ada@acme.example", "1.1.0"),
		row("occ_03", 2, "TypeError", "no cart for vic@acme.example", "visitor-2", "1.0.0"),
		row("occ_02", 3, "Timeout", "the shop is slow", "visitor-2", "1.0.0"),
		row("occ_01", 24*60, "TypeError", "no cart for ada@acme.example", "ada@acme.example", "1.0.0"),
	}
}

// root returns the issue under which another one is counted.
func (m *Memory) root(environment, issue uint64) uint64 {
	if into, ok := occurrence.ParseIssueID(m.decided[issueRef{environment, issue}].MergedInto); ok {
		return into
	}
	return issue
}

// of returns the occurrences of an environment that pass a test, newest first, each under its root issue.
func (t tracked) of(env domain.Environment, keep func(occurred) bool) []occurred {
	var out []occurred
	for _, o := range t.errors {
		issue := occurrence.IssueNumber(env.Number, occurrence.Fingerprint(&o, nil))
		one := occurred{Occurrence: o, issue: t.root(env.Number, issue), fingerprint: occurrence.Fingerprint(&o, nil)}
		one.IssueID = occurrence.IssueID(one.issue)
		if o.Environment == env.Slug && keep(one) {
			out = append(out, one)
		}
	}
	return out
}

func users(rows []occurred) uint64 {
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row.DistinctID] = true
	}
	return uint64(len(seen))
}

// fold groups occurrences, which are newest first, into issues.
func (t tracked) fold(env domain.Environment, rows []occurred, days []time.Time, now time.Time) []issue.Issue {
	byIssue := map[uint64][]occurred{}
	for _, row := range rows {
		byIssue[row.issue] = append(byIssue[row.issue], row)
	}
	var issues []issue.Issue
	for number, rows := range byIssue {
		state := t.decided[issueRef{env.Number, number}]
		first, last := rows[len(rows)-1], rows[0]
		issue := issue.Issue{
			Key: issue.Key{Number: number}, ID: occurrence.IssueID(number), Fingerprint: first.fingerprint, Title: occurrence.IssueTitle(last.Name, last.Message),
			Culprit: last.Culprit, Level: last.Level, Status: state.At(now), FirstSeenAt: first.Ts, LastSeenAt: last.Ts, Events: uint64(len(rows)), Users: users(rows),
			ReleaseFirst: first.Release, ReleaseLast: last.Release, Spark: make([]uint64, max(len(days)-1, 0)),
		}
		for i := range issue.Spark {
			issue.Spark[i] = uint64(len(between(rows, days[i], days[i+1])))
		}
		issues = append(issues, issue)
	}
	slices.SortFunc(issues, func(a, b issue.Issue) int { return cmp.Compare(b.Key.Number, a.Key.Number) })
	return issues
}

func between(rows []occurred, from, to time.Time) []occurred {
	return slices.DeleteFunc(slices.Clone(rows), func(o occurred) bool { return o.Ts.Before(from) || !o.Ts.Before(to) })
}

// Issues implements issues.Issues.
func (t tracked) Issues(_ context.Context, q issue.Query) (issue.List, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list issue.List
	for _, is := range t.fold(q.Environment, t.of(q.Environment, func(occurred) bool { return true }), q.Days, q.Now) {
		list.Counts.All++
		*map[issue.Status]*uint64{
			issue.Open: &list.Counts.Open, issue.Regressed: &list.Counts.Regressed, issue.Resolved: &list.Counts.Resolved, issue.Ignored: &list.Counts.Ignored,
		}[is.Status]++
		is.Key.Value = map[issue.Sort]int64{
			issue.SortLastSeen: is.LastSeenAt.UnixMilli(), issue.SortFirstSeen: is.FirstSeenAt.UnixMilli(), issue.SortCount: int64(is.Events), issue.SortUsers: int64(is.Users),
		}[q.Sort]
		text := is.Title + "\n" + is.Culprit
		if q.SearchMasked {
			text = domain.MaskShapes(text)
		}
		inRelease := len(t.of(q.Environment, func(o occurred) bool { return o.issue == is.Key.Number && o.Release == q.Release })) > 0
		if q.Status != "" && is.Status != q.Status || !strings.Contains(strings.ToLower(text), strings.ToLower(q.Search)) || q.Release != "" && !inRelease {
			continue
		}
		list.Rows = append(list.Rows, is)
	}
	below := func(a, b issue.Key) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.Number, a.Number))
	}
	slices.SortFunc(list.Rows, func(a, b issue.Issue) int { return below(a.Key, b.Key) })
	if q.After != nil {
		list.Rows = slices.DeleteFunc(list.Rows, func(i issue.Issue) bool { return below(*q.After, i.Key) >= 0 })
	}
	list.More = len(list.Rows) > q.Limit
	list.Rows = list.Rows[:min(q.Limit, len(list.Rows))]
	return list, nil
}

// FindIssue implements issues.Issues.
func (t tracked) FindIssue(ctx context.Context, env domain.Environment, number uint64, now time.Time) (issue.Issue, error) {
	detail, err := t.Issue(ctx, issue.Scope{Environment: env, Number: number, Now: now, Days: issue.LastDays(now, 1, time.UTC)})
	return detail.Issue, err
}

// Issue implements issues.Issues.
func (t tracked) Issue(_ context.Context, scope issue.Scope) (issue.Detail, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.root(scope.Environment.Number, scope.Number)
	rows := t.of(scope.Environment, func(o occurred) bool { return o.issue == number })
	if len(rows) == 0 {
		return issue.Detail{}, domain.NotFound("issue")
	}
	week := scope.Days[max(0, len(scope.Days)-1-issue.SparkDays):]
	detail := issue.Detail{
		Issue: t.fold(scope.Environment, rows, week, scope.Now)[0], State: t.decided[issueRef{scope.Environment.Number, number}],
		Releases: []issue.Release{}, Tags: tagsOf(rows),
	}
	for i := range len(scope.Days) - 1 {
		day := between(rows, scope.Days[i], scope.Days[i+1])
		detail.Daily = append(detail.Daily, issue.Day{T: scope.Days[i], Events: uint64(len(day)), Users: users(day)})
	}
	for _, row := range rows {
		at := slices.IndexFunc(detail.Releases, func(r issue.Release) bool { return r.Release == row.Release })
		if at < 0 {
			at = len(detail.Releases)
			detail.Releases = append(detail.Releases, issue.Release{Release: row.Release, LastSeenAt: row.Ts})
		}
		detail.Releases[at].Events++
		detail.Releases[at].FirstSeenAt = row.Ts
	}
	return detail, nil
}

// tagsOf counts the values of the tags of occurrences.
func tagsOf(rows []occurred) []issue.Tag {
	counts := map[string]map[string]uint64{}
	for _, row := range rows {
		handled := map[bool]string{true: "yes", false: "no"}[row.Handled]
		known := map[string]string{"browser": row.Browser, "country": row.Country, "device": row.Device, "handled": handled, "level": string(row.Level), "os": row.OS, "release": row.Release}
		maps.Copy(known, row.Tags)
		for key, value := range known {
			if counts[key] == nil {
				counts[key] = map[string]uint64{}
			}
			counts[key][value]++
		}
	}
	var tags []issue.Tag
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		tag := issue.Tag{Key: key}
		for value, n := range counts[key] {
			tag.Values = append(tag.Values, issue.TagValue{Value: value, Count: n})
		}
		slices.SortFunc(tag.Values, func(a, b issue.TagValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
		})
		tags = append(tags, tag)
	}
	return tags
}

// ErrorsOverview implements issues.Issues.
func (t tracked) ErrorsOverview(_ context.Context, q issue.ErrorsQuery) (issue.ErrorsOverview, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.of(q.Environment, func(occurred) bool { return true })
	total := func(w domain.Window) ([]issue.Issue, issue.ErrorTotals) {
		rows := between(all, w.From, w.To)
		issues := t.fold(q.Environment, rows, q.Days, q.Now)
		return issues, issue.ErrorTotals{Events: uint64(len(rows)), Issues: uint64(len(issues)), Users: users(rows)}
	}
	var out issue.ErrorsOverview
	out.Noisiest, out.Totals = total(q.Window)
	_, out.Previous = total(q.Window.Previous())
	slices.SortStableFunc(out.Noisiest, func(a, b issue.Issue) int { return cmp.Compare(b.Events, a.Events) })
	for _, bucket := range q.Buckets {
		day := between(all, bucket, domain.Day.Next(bucket))
		out.Series = append(out.Series, issue.Day{T: bucket, Events: uint64(len(day)), Users: users(day)})
	}
	for _, issue := range t.fold(q.Environment, all, nil, q.Now) {
		if !issue.FirstSeenAt.Before(q.Window.From) {
			out.NewIssues++
		}
		if at := t.decided[issueRef{q.Environment.Number, issue.Key.Number}].RegressedAt; at != nil && !at.Before(q.Window.From) {
			out.RegressedIssues++
		}
	}
	return out, nil
}

// Occurrences implements issues.Occurrences.
func (t tracked) Occurrences(_ context.Context, q issue.OccurrenceQuery) (page []occurrence.Occurrence, more bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.root(q.Environment.Number, q.Issue)
	for _, o := range t.of(q.Environment, func(o occurred) bool { return o.issue == number }) {
		if q.Before != nil && o.Key().Compare(*q.Before) >= 0 {
			continue
		}
		if len(page) == q.Limit {
			return page, true, nil
		}
		page = append(page, o.Occurrence)
	}
	return page, false, nil
}

// Occurrence implements issues.Occurrences.
func (t tracked) Occurrence(_ context.Context, env domain.Environment, issue uint64, id string) (occurrence.Occurrence, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.root(env.Number, issue)
	found := t.of(env, func(o occurred) bool { return o.issue == number && o.ID == id })
	if len(found) == 0 {
		return occurrence.Occurrence{}, domain.NotFound("occurrence")
	}
	return found[0].Occurrence, nil
}

// decide changes the state of an issue.
func (t tracked) decide(environment, issue uint64, change func(issue.State) (issue.State, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ref := issueRef{environment, issue}
	next, err := change(t.decided[ref])
	if err == nil {
		t.decided[ref] = next
	}
	return err
}

// Change implements issues.IssueChanges.
func (t tracked) Change(_ context.Context, environment, i uint64, patch issue.Patch, by issue.Author) (change issue.Change, err error) {
	err = t.decide(environment, i, func(s issue.State) (issue.State, error) {
		change.Previous = s.At(t.now())
		next := s.Apply(t.now(), patch)
		change.Status = next.At(t.now())
		t.note(environment, i, s.Changes(&next, t.now(), by)...)
		return next, nil
	})
	return change, err
}

// Merge implements issues.IssueChanges.
func (t tracked) Merge(_ context.Context, environment, root, part uint64, by issue.Author) error {
	if root == part {
		return domain.Errorf(domain.CodeConflict, "An issue cannot be part of itself.")
	}
	if err := t.decide(environment, root, func(s issue.State) (issue.State, error) {
		t.note(environment, root, issue.Activity{At: t.now(), Kind: issue.ActivityMerged, Author: by, Issue: occurrence.IssueID(part)})
		return s.Adopt(occurrence.IssueID(part))
	}); err != nil {
		return err
	}
	return t.decide(environment, part, func(s issue.State) (issue.State, error) { return s.Join(occurrence.IssueID(root)) })
}

// Unmerge implements issues.IssueChanges.
func (t tracked) Unmerge(_ context.Context, environment, root, part uint64, by issue.Author) error {
	err := t.decide(environment, part, func(s issue.State) (issue.State, error) {
		if s.MergedInto != occurrence.IssueID(root) {
			return s, domain.NotFound("merged issue")
		}
		return s.Leave(), nil
	})
	if err != nil {
		return err
	}
	return t.decide(environment, root, func(s issue.State) (issue.State, error) {
		t.note(environment, root, issue.Activity{At: t.now(), Kind: issue.ActivityUnmerged, Author: by, Issue: occurrence.IssueID(part)})
		return s.Release(occurrence.IssueID(part)), nil
	})
}
