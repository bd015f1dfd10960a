package issues

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
	"svc/storage/clickhouse/clickhousetest"
)

// errorTables lists the tables that an insert of occurrences fills.
func errorTables() []string {
	return []string{"occurrences", "issues", "issue_users", "issue_releases"}
}

// storedErrors returns a number per table that changes when a row is stored twice.
func storedErrors(t *testing.T, db *testDB) map[string]uint64 {
	t.Helper()
	return map[string]uint64{
		"occurrences": ask[uint64](t, db, "SELECT count() FROM occurrences"), "issues": ask[uint64](t, db, "SELECT sum(events) FROM issues"),
		"issue_users": ask[uint64](t, db, "SELECT count() FROM issue_users"), "issue_releases": ask[uint64](t, db, "SELECT sum(events) FROM issue_releases"),
	}
}

// errorNow is the time of the tests, in the middle of a slot and of a day.
func errorNow() time.Time { return time.Date(2026, 11, 20, 12, 7, 31, 0, time.UTC) }

// testErrors returns n occurrences of some issues of environment 7 over forty days. After every ten it adds one of
// environment 8.
func testErrors(n int) []occurrence.Row {
	rng := rand.New(rand.NewPCG(3, 1))
	rows := make([]occurrence.Row, n)
	for i := range rows {
		kind := rng.IntN(12)
		at := errorNow().Add(-time.Duration(rng.IntN(40*24*3600*1000)) * time.Millisecond)
		if rng.IntN(3) == 0 {
			at = errorNow().Add(-time.Duration(rng.IntN(3*3600*1000)) * time.Millisecond)
		}
		environment := uint64(7)
		if i%10 == 9 {
			environment = 8
		}
		fingerprint := fmt.Sprintf("v2-%d", kind)
		rows[i] = occurrence.Row{
			EnvironmentNumber: environment, Fingerprint: fingerprint, Issue: occurrence.IssueNumber(environment, fingerprint), RetentionDays: 365,
			TagsJSON: []byte(`{"plan":"` + []string{"pro", "free"}[rng.IntN(2)] + `"}`), FramesJSON: []byte(`[{"file":"a.js","function":"f","line":1,"column":2,"inApp":true}]`),
			Occurrence: occurrence.Occurrence{
				ID: fmt.Sprintf("occ-%d", i), Ts: at.Truncate(time.Millisecond), ReceivedAt: at.Truncate(time.Millisecond), Level: occurrence.LevelError,
				Name: fmt.Sprintf("E%d", kind), Message: fmt.Sprintf("failed for u%d@example.com", rng.IntN(9)), Culprit: "f (a.js)",
				Release: []string{"", "1.0", "2.0", "3.0"}[rng.IntN(4)], DistinctID: fmt.Sprintf("u%d", rng.IntN(30)), Browser: "Firefox", Extra: json.RawMessage(`{"n":1}`),
			},
		}
		if rng.IntN(10) == 0 {
			rows[i].DistinctID = ""
		}
	}
	return rows
}

func insertErrors(t testing.TB, db *testDB, token string, number uint64, rows []occurrence.Row) {
	t.Helper()
	b := db.NewBlock()
	for i := range rows {
		b.AppendOccurrence(&rows[i])
	}
	insert(t, db, token, number, b)
}

// storeErrors stores rows in blocks of a hundred.
func storeErrors(t testing.TB, db *testDB, rows []occurrence.Row) {
	t.Helper()
	for at := 0; at < len(rows); at += 100 {
		insertErrors(t, db, fmt.Sprint("block-", at), uint64(at+1), rows[at:min(at+100, len(rows))])
	}
}

func TestErrorsAreStoredOnce(t *testing.T) {
	db, rows := open(t), testErrors(200)
	for i := range rows {
		rows[i].Release = "1.0"
	}
	for range 2 {
		insertErrors(t, db, "one", 1, rows)
		for table, n := range storedErrors(t, db) {
			if n != 200 {
				t.Errorf("%s counts %d", table, n)
			}
		}
	}
	for n, table := range errorTables()[1:] {
		exec(t, db, "DETACH TABLE "+table+"_of_occurrences")
		insertErrors(t, db, table, 2, rows)
		exec(t, db, "ATTACH TABLE "+table+"_of_occurrences")
		for range 2 {
			insertErrors(t, db, table, 2, rows)
			for name, count := range storedErrors(t, db) {
				if count != uint64(200*(n+2)) {
					t.Errorf("after %s was away, %s counts %d", table, name, count)
				}
			}
		}
	}
}

// TestABlockHoldsBothKinds stores events and occurrences under one token, also over the TCP protocol.
func TestABlockHoldsBothKinds(t *testing.T) {
	db, rows := open(t), testErrors(50)
	b := hourly(t, db, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC), 10)
	for i := range rows {
		b.AppendOccurrence(&rows[i])
	}
	if b.Rows() != 60 || b.Bytes() < 50*512 {
		t.Errorf("%d rows, %d bytes", b.Rows(), b.Bytes())
	}
	insert(t, db, "1", 5, b)
	insert(t, db, "1", 5, b)
	if events := ask[uint64](t, db, "SELECT count() FROM events"); events != 10 || storedErrors(t, db)["occurrences"] != 50 {
		t.Errorf("%d events, %v", events, storedErrors(t, db))
	}
	if b.Reset(); b.Rows() != 0 || b.Bytes() != 0 {
		t.Errorf("after the reset %d rows, %d bytes", b.Rows(), b.Bytes())
	}
}

func TestRecentErrors(t *testing.T) {
	db, rows := open(t), testErrors(200)
	storeErrors(t, db, rows)
	type named struct {
		issue uint64
		key   [2]uint64
	}
	want, got := map[named]bool{}, map[named]bool{}
	since := errorNow().Add(-2 * time.Hour)
	for i, row := range rows {
		if !row.ReceivedAt.Before(since) && i >= 100 {
			want[named{row.Issue, protos.OccurrenceKey(row.Issue, event.Visitor(row.DistinctID, row.AnonymousID), row.ID)}] = true
		}
	}
	err := db.RecentErrors(deadline(t), since, 1, 1000, func(issue uint64, key [2]uint64) { got[named{issue, key}] = true })
	if err != nil || len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d ids, want %d (%v)", len(got), len(want), err)
	}
}

// fold computes the issues of environment 7 from rows; roots has the merged issues.
func fold(rows []occurrence.Row, roots map[uint64]uint64, days []time.Time) map[uint64]*issue.Issue {
	users := map[uint64]map[string]bool{}
	issues := map[uint64]*issue.Issue{}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b occurrence.Row) int { return cmp.Or(a.Ts.Compare(b.Ts), strings.Compare(a.ID, b.ID)) })
	for _, row := range sorted {
		if row.EnvironmentNumber != 7 {
			continue
		}
		number := row.Issue
		if root, merged := roots[number]; merged {
			number = root
		}
		i := issues[number]
		if i == nil {
			i = &issue.Issue{ID: occurrence.IssueID(number), Status: issue.Open, FirstSeenAt: row.Ts, Spark: make([]uint64, len(days)-1)}
			issues[number], users[number] = i, map[string]bool{}
		}
		if row.Issue == number {
			i.Fingerprint = row.Fingerprint
		}
		i.Title, i.Culprit, i.Level, i.LastSeenAt = occurrence.IssueTitle(row.Name, row.Message), row.Culprit, row.Level, row.Ts
		i.Events++
		if row.DistinctID != "" {
			users[number][row.DistinctID] = true
		}
		i.Users = uint64(len(users[number]))
		if row.Release != "" {
			i.ReleaseLast = row.Release
			if i.ReleaseFirst == "" {
				i.ReleaseFirst = row.Release
			}
		}
		for d := range len(days) - 1 {
			if !row.Ts.Before(days[d]) && row.Ts.Before(days[d+1]) {
				i.Spark[d]++
			}
		}
	}
	return issues
}

// decide stores the same state as an actor would.
func decide(t *testing.T, db *testDB, version uint32, issue uint64, state issue.State, extra map[string]any) {
	t.Helper()
	payload, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(payload, &fields); err != nil {
		t.Fatal(err)
	}
	fields["issue"] = issue
	for name, value := range extra {
		fields[name] = value
	}
	if payload, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	entity := domain.Entity{Owner: fmt.Sprintf("issue/7/%s", occurrence.IssueID(issue)), Kind: "issue", ID: "issue", Version: domain.Version{Generation: 1, Sequence: version}, Payload: payload}
	if err := db.Put(deadline(t), []domain.Entity{entity}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
}

// TestIssuesAgainstAModel compares lists of every order and status, page by page, with issues that are computed from
// the rows, before and after two issues are merged.
func TestIssuesAgainstAModel(t *testing.T) {
	db, rows := open(t), testErrors(400)
	storeErrors(t, db, rows)
	days := issue.LastDays(errorNow(), issue.SparkDays, berlin(t))
	number := func(kind int) uint64 { return occurrence.IssueNumber(7, fmt.Sprintf("v2-%d", kind)) }
	later, before := errorNow().Add(time.Hour), errorNow().Add(-time.Hour)
	decide(t, db, 1, number(1), issue.State{Status: issue.Resolved, ResolvedAt: &before}, nil)
	decide(t, db, 1, number(2), issue.State{Status: issue.Ignored, IgnoreUntil: &later}, map[string]any{"ignoreUntilMs": later.UnixMilli()})
	decide(t, db, 1, number(3), issue.State{Status: issue.Ignored, IgnoreUntil: &before}, map[string]any{"ignoreUntilMs": before.UnixMilli()})
	decide(t, db, 1, number(4), issue.State{Status: issue.Resolved}, nil)
	decide(t, db, 2, number(4), issue.State{Status: issue.Regressed, RegressedAt: &before}, map[string]any{"regressedMs": before.UnixMilli()})
	roots := map[uint64]uint64{}
	for range 2 {
		want := fold(rows, roots, days)
		want[number(1)].Status, want[number(2)].Status, want[number(4)].Status = issue.Resolved, issue.Ignored, issue.Regressed
		for _, sort := range issue.Sorts() {
			for _, status := range append(issue.Statuses(), "") {
				checkList(t, db, want, issue.Query{Environment: clickhousetest.Production(), Status: status, Sort: sort, Days: days, Now: errorNow(), Limit: 5})
			}
		}
		checkList(t, db, want, issue.Query{Environment: clickhousetest.Production(), Sort: issue.SortCount, Days: days, Now: errorNow(), Limit: 200, Search: "E1"})
		checkErrorsOverview(t, db, rows, roots, want)
		roots[number(5)] = number(6)
		decide(t, db, 1, number(5), issue.State{MergedInto: occurrence.IssueID(number(6))}, map[string]any{"root": number(6)})
	}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func checkList(t *testing.T, db *testDB, model map[uint64]*issue.Issue, q issue.Query) {
	t.Helper()
	value := func(i *issue.Issue) int64 {
		return map[issue.Sort]int64{
			issue.SortLastSeen: i.LastSeenAt.UnixMilli(), issue.SortFirstSeen: i.FirstSeenAt.UnixMilli(), issue.SortCount: int64(i.Events), issue.SortUsers: int64(i.Users),
		}[q.Sort]
	}
	var want []issue.Issue
	var counts issue.Counts
	for number, is := range model {
		counts.All++
		*map[issue.Status]*uint64{issue.Open: &counts.Open, issue.Regressed: &counts.Regressed, issue.Resolved: &counts.Resolved, issue.Ignored: &counts.Ignored}[is.Status]++
		if (q.Status == "" || is.Status == q.Status) && strings.Contains(is.Title, q.Search) {
			row := *is
			row.Key = issue.Key{Value: value(is), Number: number}
			want = append(want, row)
		}
	}
	slices.SortFunc(want, func(a, b issue.Issue) int {
		return cmp.Or(cmp.Compare(b.Key.Value, a.Key.Value), cmp.Compare(b.Key.Number, a.Key.Number))
	})
	var got []issue.Issue
	for {
		list, err := db.Issues(deadline(t), q)
		if err != nil {
			t.Fatal(err)
		}
		if list.Counts != counts {
			t.Errorf("counts %+v, want %+v", list.Counts, counts)
		}
		got = append(got, list.Rows...)
		if !list.More {
			break
		}
		q.After = &list.Rows[len(list.Rows)-1].Key
	}
	if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%s %s: got\n%+v\nwant\n%+v", q.Sort, q.Status, got, want)
	}
}

// checkErrorsOverview compares overviews of all ranges with the rows.
func checkErrorsOverview(t *testing.T, db *testDB, rows []occurrence.Row, roots map[uint64]uint64, model map[uint64]*issue.Issue) {
	t.Helper()
	for _, key := range issue.ErrorWindowKeys() {
		window, problem := domain.ParseWindow(key, errorNow(), berlin(t))
		if problem != nil {
			t.Fatal(problem)
		}
		count := func(from, to time.Time) issue.ErrorTotals {
			users, issues, total := map[string]bool{}, map[uint64]bool{}, issue.ErrorTotals{}
			for _, row := range rows {
				if row.EnvironmentNumber != 7 || row.Ts.Before(from) || !row.Ts.Before(to) {
					continue
				}
				number := row.Issue
				if root, merged := roots[number]; merged {
					number = root
				}
				total.Events++
				issues[number] = true
				if row.DistinctID != "" {
					users[row.DistinctID] = true
				}
			}
			total.Issues, total.Users = uint64(len(issues)), uint64(len(users))
			return total
		}
		got, err := db.ErrorsOverview(deadline(t), issue.ErrorsQuery{Environment: clickhousetest.Production(), Window: window, Buckets: window.Buckets(domain.Day), Days: issue.LastDays(errorNow(), 7, berlin(t)), Now: errorNow()})
		if err != nil {
			t.Fatal(err)
		}
		if want := count(window.From, window.To); got.Totals != want {
			t.Errorf("%s: totals %+v, want %+v", key, got.Totals, want)
		}
		if want := count(window.Previous().From, window.From); got.Previous != want {
			t.Errorf("%s: previous %+v, want %+v", key, got.Previous, want)
		}
		for i, bucket := range window.Buckets(domain.Day) {
			from, to := bucket, domain.Day.Next(bucket)
			if from.Before(window.From) {
				from = window.From
			}
			if to.After(window.To) {
				to = window.To
			}
			if want := count(from, to); got.Series[i].Events != want.Events || got.Series[i].Users != want.Users || !got.Series[i].T.Equal(bucket) {
				t.Errorf("%s: %s has %+v, want %+v", key, bucket, got.Series[i], want)
			}
		}
		appeared := uint64(0)
		for _, issue := range model {
			if !issue.FirstSeenAt.Before(window.From) && issue.FirstSeenAt.Before(window.To) {
				appeared++
			}
		}
		if got.NewIssues != appeared || got.RegressedIssues != 1 || len(got.Noisiest) == 0 || len(got.Noisiest) > issue.NoisiestIssues {
			t.Errorf("%s: %d new, want %d; %d regressed; %d noisiest", key, got.NewIssues, appeared, got.RegressedIssues, len(got.Noisiest))
		}
	}
}

func TestIssueSearchAndRelease(t *testing.T) {
	db, rows := open(t), testErrors(400)
	storeErrors(t, db, rows)
	search := func(word, release string, masked bool) int {
		t.Helper()
		list, err := db.Issues(deadline(t), issue.Query{Environment: clickhousetest.Production(), Search: word, SearchMasked: masked, Release: release, Sort: issue.SortCount, Limit: 100, Now: errorNow()})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Rows)
	}
	all := search("", "", false)
	for _, c := range []struct {
		word, release string
		masked        bool
		want          int
	}{
		{"FAILED FOR", "", false, all},
		{"e7: failed", "", true, 1},
		{"@example", "", false, all},
		{"@example", "", true, 0},
		{"%", "", false, 0},
		{"", "2.0", false, all},
		{"", "9.0", false, 0},
		{"f (a.js)", "", true, all},
	} {
		if got := search(c.word, c.release, c.masked); got != c.want {
			t.Errorf("%q in %q, masked %v: %d issues, want %d", c.word, c.release, c.masked, got, c.want)
		}
	}
}

func TestIssueInFull(t *testing.T) {
	db, rows := open(t), testErrors(400)
	storeErrors(t, db, rows)
	one, two := occurrence.IssueNumber(7, "v2-1"), occurrence.IssueNumber(7, "v2-2")
	decide(t, db, 1, two, issue.State{MergedInto: occurrence.IssueID(one)}, map[string]any{"root": one})
	decide(t, db, 1, one, issue.State{Status: issue.Open, AssigneeID: "usr_1", Merged: []string{occurrence.IssueID(two)}}, nil)
	days := issue.LastDays(errorNow(), issue.Days, berlin(t))
	detail, err := db.Issue(deadline(t), issue.Scope{Environment: clickhousetest.Production(), Number: two, Days: days, Now: errorNow()})
	if err != nil {
		t.Fatal(err)
	}
	var events, tagged, released, listed uint64
	for i := range rows {
		if rows[i].EnvironmentNumber == 7 && (rows[i].Issue == one || rows[i].Issue == two) {
			listed++
			if rows[i].Release != "" {
				released++
			}
			if !rows[i].Ts.Before(days[0]) {
				events++
			}
		}
	}
	for _, day := range detail.Daily {
		events -= day.Events
	}
	for _, tag := range detail.Tags {
		if tag.Key == "plan" {
			for _, value := range tag.Values {
				tagged += value.Count
			}
		}
	}
	for _, release := range detail.Releases {
		released -= release.Events
	}
	if detail.ID != occurrence.IssueID(one) || detail.State.AssigneeID != "usr_1" || len(detail.Daily) != 30 || events != 0 || tagged != listed || released != 0 || detail.Events != listed {
		t.Errorf("of %d: %d events and %d released missing, %d tagged: %+v", listed, events, released, tagged, detail)
	}
	var page []occurrence.Occurrence
	query := issue.OccurrenceQuery{Environment: clickhousetest.Production(), Issue: two, Limit: 7}
	for more := true; more; {
		var rows []occurrence.Occurrence
		if rows, more, err = db.Occurrences(deadline(t), query); err != nil {
			t.Fatal(err)
		}
		page = append(page, rows...)
		key := rows[len(rows)-1].Key()
		query.Before = &key
	}
	if uint64(len(page)) != listed || !slices.IsSortedFunc(page, func(a, b occurrence.Occurrence) int { return cmp.Or(b.Ts.Compare(a.Ts), strings.Compare(b.ID, a.ID)) }) {
		t.Errorf("%d occurrences are listed, want %d", len(page), listed)
	}
	checkOccurrence(t, db, rows)
}

// checkOccurrence reads one row in full, and combinations that do not exist.
func checkOccurrence(t *testing.T, db *testDB, rows []occurrence.Row) {
	t.Helper()
	row := rows[0]
	want := row.Occurrence
	want.IssueID, want.Environment, want.Tags = occurrence.IssueID(row.Issue), clickhousetest.Production().Slug, nil
	if err := json.Unmarshal(row.TagsJSON, &want.Tags); err != nil {
		t.Fatal(err)
	}
	want.Frames = []occurrence.Frame{{File: "a.js", Function: "f", Line: 1, Column: 2, InApp: true}}
	got, err := db.Occurrence(deadline(t), clickhousetest.Production(), row.Issue, row.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v (%v)", got, want, err)
	}
	other := clickhousetest.Production()
	other.Number = 8
	for name, ask := range map[string]func() error{
		"another issue": func() error {
			_, err := db.Occurrence(deadline(t), clickhousetest.Production(), row.Issue+1, row.ID)
			return err
		},
		"another environment": func() error { _, err := db.Occurrence(deadline(t), other, row.Issue, row.ID); return err },
		"another id": func() error {
			_, err := db.Occurrence(deadline(t), clickhousetest.Production(), row.Issue, "x")
			return err
		},
		"no such issue": func() error { _, err := db.FindIssue(deadline(t), other, row.Issue, errorNow()); return err },
	} {
		if err := ask(); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	seen, err := db.FirstSeen(deadline(t), 7, []string{"1.0", "9.0"})
	if err != nil || len(seen) != 1 {
		t.Errorf("first seen %v (%v)", seen, err)
	}
}

// TestIssueTotalsAsOfABlock counts all occurrences of issues, and the occurrences in the blocks after each block.
func TestIssueTotalsAsOfABlock(t *testing.T) {
	db, rows := open(t), testErrors(400)
	storeErrors(t, db, rows)
	environment := rows[0].EnvironmentNumber
	for block := 0; block < len(rows); block += 100 {
		want := map[uint64]uint64{}
		for _, row := range rows[:block+100] {
			if row.EnvironmentNumber == environment {
				want[row.Issue]++
			}
		}
		issues := slices.Collect(maps.Keys(want))
		totals, err := db.IssueTotals(t.Context(), []uint64{environment}, issues)
		if err != nil {
			t.Fatal(err)
		}
		later, err := db.OccurrencesAfter(t.Context(), []uint64{environment}, issues, uint64(block+1))
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]uint64{}
		for _, total := range totals {
			got[total.Issue] += total.Occurrences
		}
		for _, total := range later {
			got[total.Issue] -= total.Occurrences
		}
		if !maps.Equal(got, want) {
			t.Errorf("as of block %d the issues occurred %v times, want %v", block+1, got, want)
		}
	}
}

func TestWatchedIssues(t *testing.T) {
	db := open(t)
	now := errorNow()
	decide(t, db, 1, 1, issue.State{Status: issue.Resolved, ResolvedAt: &now}, nil)
	decide(t, db, 1, 2, issue.State{Status: issue.Ignored}, nil)
	decide(t, db, 1, 3, issue.State{MergedInto: occurrence.IssueID(1)}, map[string]any{"root": 1})
	decide(t, db, 1, 4, issue.State{Status: issue.Resolved, ResolvedAt: &now}, nil)
	decide(t, db, 2, 4, issue.State{Status: issue.Regressed}, nil)
	decide(t, db, 1, 5, issue.State{Status: issue.Regressed}.Owe(7), nil)
	watched, err := db.WatchedIssues(deadline(t), 3, []int{0, 1, 2})
	watched = slices.DeleteFunc(watched, func(e domain.Entity) bool {
		owes := strings.Contains(string(e.Payload), `"owed":[7]`)
		return owes && e.Owner == "issue/7/"+occurrence.IssueID(5)
	})
	if err != nil || len(watched) != 2 || watched[0].Version.Number() == 0 || watched[0].Owner != "issue/7/"+occurrence.IssueID(1) || watched[1].Owner != "issue/7/"+occurrence.IssueID(3) {
		t.Errorf("got %+v (%v)", watched, err)
	}
	// A node loads only the issues of its partitions, regardless of the total number.
	const high = math.MaxUint64 // in the first of three partitions
	decide(t, db, 1, high, issue.State{Status: issue.Resolved, ResolvedAt: &now}, nil)
	for partition, want := range [][]uint64{{high, 3}, {1}, {5}} {
		watched, err := db.WatchedIssues(deadline(t), 3, []int{partition})
		var numbers []uint64
		for _, entity := range watched {
			number, _ := occurrence.ParseIssueID(strings.TrimPrefix(entity.Owner, "issue/7/"))
			numbers = append(numbers, number)
		}
		slices.Sort(numbers)
		slices.Sort(want)
		if err != nil || !slices.Equal(numbers, want) {
			t.Errorf("in partition %d %v are watched, want %v (%v)", partition, numbers, want, err)
		}
	}
	if watched, err := db.WatchedIssues(deadline(t), 3, nil); err != nil || len(watched) != 0 {
		t.Errorf("in no partition: %v, %v", watched, err)
	}
}

// TestManyMergedIssues reads issues with the maximum number of merged issues that the continuation of a former grouping
// creates.
func TestManyMergedIssues(t *testing.T) {
	const many = 5000
	db, rows := open(t), testErrors(400)
	storeErrors(t, db, rows)
	one := occurrence.IssueNumber(7, "v2-1")
	entities := make([]domain.Entity, 0, many)
	for n := range many {
		number := occurrence.IssueNumber(7, fmt.Sprintf("v3-%d", n))
		payload, err := json.Marshal(map[string]any{"issue": number, "root": one, "mergedInto": occurrence.IssueID(one)})
		if err != nil {
			t.Fatal(err)
		}
		entities = append(entities, domain.Entity{Owner: fmt.Sprintf("issue/7/%s", occurrence.IssueID(number)), Kind: "issue", ID: "issue", Version: domain.VersionOf(1), Payload: payload})
	}
	if err := db.Put(deadline(t), entities, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	if merged, err := db.Merged(deadline(t), 7); err != nil || merged != many {
		t.Errorf("%d are merged, %v", merged, err)
	}
	if environments, err := db.FormerEnvironments(deadline(t)); err != nil || !slices.Contains(environments, 7) {
		t.Errorf("environments %v, %v", environments, err)
	}
	days := issue.LastDays(errorNow(), issue.SparkDays, time.UTC)
	list, err := db.Issues(deadline(t), issue.Query{Environment: clickhousetest.Production(), Sort: issue.SortLastSeen, Days: days, Now: errorNow(), Limit: 5})
	if err != nil || len(list.Rows) != 5 {
		t.Errorf("%d issues, %v", len(list.Rows), err)
	}
	if _, err := db.Issue(deadline(t), issue.Scope{Environment: clickhousetest.Production(), Number: one, Days: days, Now: errorNow()}); err != nil {
		t.Error(err)
	}
}

// TestPagesHoldOccurrencesOfOneTimeAndID stores occurrences with the same time and id in two blocks. Pages of one row
// show each of them once.
func TestPagesHoldOccurrencesOfOneTimeAndID(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	for block := range uint64(2) {
		b := db.NewBlock()
		b.AppendOccurrence(&occurrence.Row{
			Occurrence: occurrence.Occurrence{ID: "same", Name: fmt.Sprint(block), Ts: at, ReceivedAt: at}, EnvironmentNumber: 7, Issue: 5, RetentionDays: 3650,
		})
		insert(t, db, fmt.Sprint(block), block, b)
	}
	query := issue.OccurrenceQuery{Environment: clickhousetest.Production(), Issue: 5, Limit: 1}
	first, more, err := db.Occurrences(deadline(t), query)
	if err != nil || len(first) != 1 || !more {
		t.Fatalf("the first occurrence is %+v, more %v, %v", first, more, err)
	}
	key := first[0].Key()
	query.Before = &key
	if rest, more, err := db.Occurrences(deadline(t), query); err != nil || len(rest) != 1 || more || rest[0].Name == first[0].Name {
		t.Errorf("after %q are %+v, more %v, %v", first[0].Name, rest, more, err)
	}
}
