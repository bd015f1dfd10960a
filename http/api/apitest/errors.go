package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"svc"
)

// tracked implements the ports of error tracking. It stores occurrences in one list, and decisions by environment and
// issue.
type tracked struct{ *Memory }

// occurred is a stored occurrence with its issue.
type occurred struct {
	svc.Occurrence
	issue       uint64
	fingerprint string
}

type issueRef struct{ environment, issue uint64 }

// FixtureErrors returns the occurrences of the application acme/web: three of a
// TypeError, one of a Timeout.
func FixtureErrors(now time.Time) []svc.Occurrence {
	row := func(id string, minutes int, name, message, visitor, release string) svc.Occurrence {
		at := now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Millisecond)
		o := svc.Occurrence{
			ID: id, Ts: at, ReceivedAt: at, Name: name, Message: message, DistinctID: visitor, SessionID: "ses_2", Release: release,
			Mechanism: "onerror", Stack: "checkout@https://acme.example/app.js:3:7", Tags: map[string]string{"plan": "pro"},
			Breadcrumbs: []svc.Breadcrumb{{Timestamp: "2026-11-20T11:00:00.000Z", Category: "ui.click", Message: "pay as ada@acme.example"}},
			Extra:       json.RawMessage(`{"contact":"ada@acme.example"}`), Request: svc.ErrorRequest{Method: "POST", URL: "https://acme.example/api", Status: 500},
			URL: "https://acme.example/cart", Path: "/cart", Browser: "Firefox", BrowserVersion: "145.0", OS: "Linux", Device: "desktop", Country: "DE",
			Locale: "de-DE", AppVersion: "7", Environment: svc.DefaultEnvironment,
		}
		o.Normalise()
		return o
	}
	return []svc.Occurrence{
		row("occ_04", 1, "TypeError", "no cart for ada@acme.example", "ada@acme.example", "1.1.0"),
		row("occ_03", 2, "TypeError", "no cart for vic@acme.example", "visitor-2", "1.0.0"),
		row("occ_02", 3, "Timeout", "the shop is slow", "visitor-2", "1.0.0"),
		row("occ_01", 24*60, "TypeError", "no cart for ada@acme.example", "ada@acme.example", "1.0.0"),
	}
}

// root returns the issue under which another one is counted.
func (m *Memory) root(environment, issue uint64) uint64 {
	if into, ok := svc.ParseIssueID(m.decided[issueRef{environment, issue}].MergedInto); ok {
		return into
	}
	return issue
}

// of returns the occurrences of an environment that pass a test, newest first, each under its root issue.
func (t tracked) of(env svc.Environment, keep func(occurred) bool) []occurred {
	var out []occurred
	for _, o := range t.errors {
		issue := svc.IssueNumber(env.Number, svc.Fingerprint(&o, nil))
		one := occurred{Occurrence: o, issue: t.root(env.Number, issue), fingerprint: svc.Fingerprint(&o, nil)}
		one.IssueID = svc.IssueID(one.issue)
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
func (t tracked) fold(env svc.Environment, rows []occurred, days []time.Time, now time.Time) []svc.Issue {
	byIssue := map[uint64][]occurred{}
	for _, row := range rows {
		byIssue[row.issue] = append(byIssue[row.issue], row)
	}
	var issues []svc.Issue
	for number, rows := range byIssue {
		state := t.decided[issueRef{env.Number, number}]
		first, last := rows[len(rows)-1], rows[0]
		issue := svc.Issue{
			Key: svc.IssueKey{Number: number}, ID: svc.IssueID(number), Fingerprint: first.fingerprint, Title: svc.IssueTitle(last.Name, last.Message),
			Culprit: last.Culprit, Level: last.Level, Status: state.At(now), FirstSeenAt: first.Ts, LastSeenAt: last.Ts, Events: uint64(len(rows)), Users: users(rows),
			ReleaseFirst: first.Release, ReleaseLast: last.Release, Spark: make([]uint64, max(len(days)-1, 0)),
		}
		for i := range issue.Spark {
			issue.Spark[i] = uint64(len(between(rows, days[i], days[i+1])))
		}
		issues = append(issues, issue)
	}
	slices.SortFunc(issues, func(a, b svc.Issue) int { return cmp.Compare(b.Key.Number, a.Key.Number) })
	return issues
}

func between(rows []occurred, from, to time.Time) []occurred {
	return slices.DeleteFunc(slices.Clone(rows), func(o occurred) bool { return o.Ts.Before(from) || !o.Ts.Before(to) })
}

// Issues implements issues.Issues.
func (t tracked) Issues(_ context.Context, q svc.IssueQuery) (svc.IssueList, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list svc.IssueList
	for _, issue := range t.fold(q.Environment, t.of(q.Environment, func(occurred) bool { return true }), q.Days, q.Now) {
		list.Counts.All++
		*map[svc.IssueStatus]*uint64{
			svc.IssueOpen: &list.Counts.Open, svc.IssueRegressed: &list.Counts.Regressed, svc.IssueResolved: &list.Counts.Resolved, svc.IssueIgnored: &list.Counts.Ignored,
		}[issue.Status]++
		issue.Key.Value = map[svc.IssueSort]int64{
			svc.SortLastSeen: issue.LastSeenAt.UnixMilli(), svc.SortFirstSeen: issue.FirstSeenAt.UnixMilli(), svc.SortCount: int64(issue.Events), svc.SortUsers: int64(issue.Users),
		}[q.Sort]
		text := issue.Title + "\n" + issue.Culprit
		if q.SearchMasked {
			text = svc.MaskShapes(text)
		}
		inRelease := len(t.of(q.Environment, func(o occurred) bool { return o.issue == issue.Key.Number && o.Release == q.Release })) > 0
		if q.Status != "" && issue.Status != q.Status || !strings.Contains(strings.ToLower(text), strings.ToLower(q.Search)) || q.Release != "" && !inRelease {
			continue
		}
		list.Rows = append(list.Rows, issue)
	}
	below := func(a, b svc.IssueKey) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.Number, a.Number))
	}
	slices.SortFunc(list.Rows, func(a, b svc.Issue) int { return below(a.Key, b.Key) })
	if q.After != nil {
		list.Rows = slices.DeleteFunc(list.Rows, func(i svc.Issue) bool { return below(*q.After, i.Key) >= 0 })
	}
	list.More = len(list.Rows) > q.Limit
	list.Rows = list.Rows[:min(q.Limit, len(list.Rows))]
	return list, nil
}

// FindIssue implements issues.Issues.
func (t tracked) FindIssue(ctx context.Context, env svc.Environment, number uint64, now time.Time) (svc.Issue, error) {
	detail, err := t.Issue(ctx, svc.IssueScope{Environment: env, Number: number, Now: now, Days: svc.LastDays(now, 1, time.UTC)})
	return detail.Issue, err
}

// Issue implements issues.Issues.
func (t tracked) Issue(_ context.Context, scope svc.IssueScope) (svc.IssueDetail, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.root(scope.Environment.Number, scope.Number)
	rows := t.of(scope.Environment, func(o occurred) bool { return o.issue == number })
	if len(rows) == 0 {
		return svc.IssueDetail{}, svc.NotFound("issue")
	}
	week := scope.Days[max(0, len(scope.Days)-1-svc.SparkDays):]
	detail := svc.IssueDetail{
		Issue: t.fold(scope.Environment, rows, week, scope.Now)[0], State: t.decided[issueRef{scope.Environment.Number, number}],
		Releases: []svc.IssueRelease{}, Tags: tagsOf(rows),
	}
	for i := range len(scope.Days) - 1 {
		day := between(rows, scope.Days[i], scope.Days[i+1])
		detail.Daily = append(detail.Daily, svc.IssueDay{T: scope.Days[i], Events: uint64(len(day)), Users: users(day)})
	}
	for _, row := range rows {
		at := slices.IndexFunc(detail.Releases, func(r svc.IssueRelease) bool { return r.Release == row.Release })
		if at < 0 {
			at = len(detail.Releases)
			detail.Releases = append(detail.Releases, svc.IssueRelease{Release: row.Release, LastSeenAt: row.Ts})
		}
		detail.Releases[at].Events++
		detail.Releases[at].FirstSeenAt = row.Ts
	}
	return detail, nil
}

// tagsOf counts the values of the tags of occurrences.
func tagsOf(rows []occurred) []svc.IssueTag {
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
	var tags []svc.IssueTag
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		tag := svc.IssueTag{Key: key}
		for value, n := range counts[key] {
			tag.Values = append(tag.Values, svc.IssueTagValue{Value: value, Count: n})
		}
		slices.SortFunc(tag.Values, func(a, b svc.IssueTagValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
		})
		tags = append(tags, tag)
	}
	return tags
}

// ErrorsOverview implements issues.Issues.
func (t tracked) ErrorsOverview(_ context.Context, q svc.ErrorsQuery) (svc.ErrorsOverview, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.of(q.Environment, func(occurred) bool { return true })
	total := func(w svc.Window) ([]svc.Issue, svc.ErrorTotals) {
		rows := between(all, w.From, w.To)
		issues := t.fold(q.Environment, rows, q.Days, q.Now)
		return issues, svc.ErrorTotals{Events: uint64(len(rows)), Issues: uint64(len(issues)), Users: users(rows)}
	}
	var out svc.ErrorsOverview
	out.Noisiest, out.Totals = total(q.Window)
	_, out.Previous = total(q.Window.Previous())
	slices.SortStableFunc(out.Noisiest, func(a, b svc.Issue) int { return cmp.Compare(b.Events, a.Events) })
	for _, bucket := range q.Buckets {
		day := between(all, bucket, svc.Day.Next(bucket))
		out.Series = append(out.Series, svc.IssueDay{T: bucket, Events: uint64(len(day)), Users: users(day)})
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
func (t tracked) Occurrences(_ context.Context, q svc.OccurrenceQuery) (page []svc.Occurrence, more bool, err error) {
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
func (t tracked) Occurrence(_ context.Context, env svc.Environment, issue uint64, id string) (svc.Occurrence, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.root(env.Number, issue)
	found := t.of(env, func(o occurred) bool { return o.issue == number && o.ID == id })
	if len(found) == 0 {
		return svc.Occurrence{}, svc.NotFound("occurrence")
	}
	return found[0].Occurrence, nil
}

// decide changes the state of an issue.
func (t tracked) decide(environment, issue uint64, change func(svc.IssueState) (svc.IssueState, error)) error {
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
func (t tracked) Change(_ context.Context, environment, issue uint64, patch svc.IssuePatch, by svc.IssueAuthor) (change svc.IssueChange, err error) {
	err = t.decide(environment, issue, func(s svc.IssueState) (svc.IssueState, error) {
		change.Previous = s.At(t.now())
		next := s.Apply(t.now(), patch)
		change.Status = next.At(t.now())
		t.note(environment, issue, s.Changes(&next, t.now(), by)...)
		return next, nil
	})
	return change, err
}

// Merge implements issues.IssueChanges.
func (t tracked) Merge(_ context.Context, environment, root, part uint64, by svc.IssueAuthor) error {
	if root == part {
		return svc.Errorf(svc.CodeConflict, "An issue cannot be part of itself.")
	}
	if err := t.decide(environment, root, func(s svc.IssueState) (svc.IssueState, error) {
		t.note(environment, root, svc.IssueActivity{At: t.now(), Kind: svc.ActivityMerged, Author: by, Issue: svc.IssueID(part)})
		return s.Adopt(svc.IssueID(part))
	}); err != nil {
		return err
	}
	return t.decide(environment, part, func(s svc.IssueState) (svc.IssueState, error) { return s.Join(svc.IssueID(root)) })
}

// Unmerge implements issues.IssueChanges.
func (t tracked) Unmerge(_ context.Context, environment, root, part uint64, by svc.IssueAuthor) error {
	err := t.decide(environment, part, func(s svc.IssueState) (svc.IssueState, error) {
		if s.MergedInto != svc.IssueID(root) {
			return s, svc.NotFound("merged issue")
		}
		return s.Leave(), nil
	})
	if err != nil {
		return err
	}
	return t.decide(environment, root, func(s svc.IssueState) (svc.IssueState, error) {
		t.note(environment, root, svc.IssueActivity{At: t.now(), Kind: svc.ActivityUnmerged, Author: by, Issue: svc.IssueID(part)})
		return s.Release(svc.IssueID(part)), nil
	})
}
