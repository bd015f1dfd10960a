package clickhouse

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// TestNoStatementsInGo keeps statements in files of their own.
func TestNoStatementsInGo(t *testing.T) {
	statement := regexp.MustCompile(`\b(SELECT|INSERT INTO|CREATE|ALTER|DROP|FROM|GROUP BY|ORDER BY|WHERE)\s`)
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && statement.MatchString(literal.Value) {
				t.Errorf("%s holds the statement %s", name, literal.Value)
			}
			return true
		})
	}
}

// TestQueriesExplain asks the engine to plan every query on empty tables.
func TestQueriesExplain(t *testing.T) {
	db := open(t)
	c, err := db.where(everyFilter())
	if err != nil {
		t.Fatal(err)
	}
	var search clause
	search.add(db.queries["issues.Search"], "search", "x")
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	scope := svc.AnalyticsScope{Environment: production(), Window: svc.Window{From: now.Add(-time.Hour), To: now, Location: time.UTC}}
	args := c.args.with(scopeArguments(scope, scope.Window)).with(bucketArguments([]time.Time{now})).with(goalArguments(nil)).with(endArguments([]end{{from: now, to: now}})).with(arguments{
		"owner": "", "kind": "", "at": now, "limit": 1, "since": now, "until": now, "block": uint64(1), "names": []string{}, "with_sessions": true,
		"first_page": true, "after_count": uint64(0), "after_name": "", "name": "", "database": "x", "org": "", "app": "", "keys": []string{}, "sums": []string{}, "sha1": "", "before": uint64(1), "operation": "", "user_id": "", "token_id": "", "before_at": now, "before_id": "",
		"event": "", "search": "", "after_visitors": int64(0), "after_pageviews": int64(0), "after_value": "", "values": []string{}, "email": "x", "property": "x",
		"named_from": now, "hour_to": now, "monitor": "", "prefix": "", "kinds": []string{}, "version": uint64(1), "day_from": now, "day_to": now, "blocks": []uint64{}, "hidden": []uint64{},
	})
	steps := stepsOf([]svc.FunnelStep{{Matcher: svc.Matcher{Kind: svc.MatchEvent, Match: "x"}}, {Matcher: svc.Matcher{Kind: svc.MatchPath, Match: "/*"}}})
	args = args.with(steps.args).with(arguments{
		"goal_kind": []uint16{0}, "goal_match": []string{"x"}, "goal_until": []int64{0}, "origin": int64(0), "every": false, "instants": []int64{0},
	})
	args = args.with((&merges{}).arguments()).with(stateArguments(1, now)).with(arguments{
		"environments": []uint64{1}, "owners": []string{""}, "apps": []string{""}, "monitors": []string{""}, "issues": []uint64{1}, "releases": []string{"1.0"}, "release": "", "status": "open", "after_rank": int64(0), "after_issue": uint64(0),
		"before_ts": now, "before_id": "", "before_tie": uint64(1), "id": "", "search": "", "email": emailPattern, "sample": 10, "per_tag": 10,
	})
	args = args.with(labelArguments([]svc.Label{{Key: "k", Value: "v"}})).with(arguments{"all": false, "group_by": "k", "parts": []string{"v"}, "level": "error"})
	args = args.with(arguments{"step": uint32(1), "ids": []string{}, "recent": uint64(1), "words": []string{""}})
	for name, text := range db.queries {
		if !strings.HasPrefix(text, "SELECT") && !strings.HasPrefix(text, "WITH") {
			continue
		}
		for part, sample := range map[string]string{
			"$(quantiles)": db.queries["metrics.Exact"], "$(totals)": "metric_hours", "$(grouping)": "GROUPING SETS ((bucket, part), (part))", "$(bins)": db.queries["alerts.Bins"],
			"$(rows)": db.queries["breakdown.Events"],
			"$(mark)": db.queries["mark.Entry"], "$(place)": db.queries["mark.EntryPlace"],
		} {
			if part == "$(rows)" && (strings.HasPrefix(name, "activity.") || strings.HasPrefix(name, "retention.")) {
				sample = db.queries["activity.Events"]
			}
			if part == "$(quantiles)" && !strings.HasPrefix(name, "metrics.Point") {
				sample = db.queries["metrics.Sketched"]
			}
			text = strings.ReplaceAll(text, part, sample)
		}
		value := "toString(path)"
		if name == "breakdown.Entry" || name == "breakdown.Exit" {
			value = "toString(marked)"
		}
		text = db.named(strings.ReplaceAll(text, "$(value)", value), name != "events.Names")
		if name == "window.Visits" || name == "activity.Names" {
			text = "SELECT * FROM (" + text + ")"
		}
		text = strings.ReplaceAll(text, "$(measure)", db.queries["measure.Visitors"])
		var plan string
		text = bindSteps(bindRank(bind(text, c), db.queries["issues.KeyUsers"], search), steps)
		if err := db.conn.QueryRow(deadline(t), "EXPLAIN indexes = 1 "+text, args.list()...).Scan(&plan); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// everyFilter has a filter on every dimension.
func everyFilter() svc.Filters {
	var filters svc.Filters
	for _, dimension := range svc.Dimensions() {
		filters = append(filters, svc.Filter{Dimension: dimension, Value: "x"})
	}
	return filters
}

// TestQueriesSayWhatTheyAre asserts that every file begins with a comment.
func TestQueriesSayWhatTheyAre(t *testing.T) {
	files, err := fs.Glob(queryFiles, "query/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`Key:\s`)
	for _, name := range files {
		text, err := queryFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "-- ") {
			t.Errorf("%s does not say what it is", name)
		}
		if strings.Contains(string(text), "SELECT") && !key.Match(text) && !strings.HasPrefix(name, "query/migrations.") {
			t.Errorf("%s does not say which key it uses", name)
		}
	}
}

// TestNamesOfPageViews asserts that the queries and svc agree on which names are page
// views and which are interactive.
func TestNamesOfPageViews(t *testing.T) {
	db := open(t)
	for _, name := range []string{svc.PageView, "$pageview", svc.IdentifyEvent, svc.AliasEvent, svc.EngagementName, "signup", ""} {
		b := db.NewBlock()
		at := time.UnixMilli(1.78e12)
		b.Append(&svc.EventRow{Event: svc.Event{ID: name, Name: name, Ts: at, ReceivedAt: at, DistinctID: name + "!", SessionID: name}, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
		insert(t, db, name+".", 1, b)
		var deeds svc.SessionDeeds
		err := db.Sessions(deadline(t), svc.SessionsQuery{Since: at, Within: time.Hour, Open: 100}, func(s svc.OpenSession) {
			if s.ID == name {
				deeds = s.Deeds
			}
		}, func(uint64, bool, uint64) {})
		if err != nil {
			t.Fatal(err)
		}
		if (deeds == svc.OnePageview) != svc.IsPageview(name) || (deeds == svc.Interaction) != svc.IsInteractive(name) {
			t.Errorf("%q: the deeds are %b", name, deeds)
		}
	}
	if got := ask[int64](t, db, "SELECT sum(pageviews) FROM traffic"); got != 2 {
		t.Errorf("the view counts %d page views, want 2", got)
	}
}

func TestReadErrors(t *testing.T) {
	db := open(t)
	if err := db.read(deadline(t), "x", "SELECT sleep(1) SETTINGS max_execution_time = 0.1", nil, nil); svc.CodeOf(err) != svc.CodeQueryTimeout {
		t.Errorf("a query over its time fails with %v", err)
	}
	if err := db.read(deadline(t), "x", "SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = 1000000", nil, nil); svc.CodeOf(err) != svc.CodeQueryTimeout {
		t.Errorf("a query over its memory fails with %v", err)
	}
	gone, err := Open(deadline(t), Config{DSN: "http://127.0.0.1:1/"})
	if svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("opening a store that does not answer fails with %v, %v", gone, err)
	}
}

// TestQuestionsHoldUpNoWrites lets more questions run than there are connections; none ends
// before it is cancelled. What the service writes, and reads for itself, goes on beside them.
func TestQuestionsHoldUpNoWrites(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	const questions = 2 * maxConnections
	asked, ended := make(chan struct{}, questions), make(chan error, questions)
	for range questions {
		go func() {
			asked <- struct{}{}
			ended <- db.read(ctx, "x", "SELECT count() FROM numbers(100000) WHERE sleepEachRow(0.5) = 0 SETTINGS max_block_size = 1", nil, nil)
		}()
	}
	for range questions {
		<-asked
	}
	for len(db.questions) < questionPlaces {
		runtime.Gosched()
	}
	bounded, stop := context.WithTimeout(t.Context(), queryTime/2)
	defer stop()
	for n := range 3 {
		entity := svc.Entity{Owner: "o", Kind: "k", ID: "i", Version: svc.Version{Generation: 1, Sequence: uint32(n) + 1}, Payload: []byte("x")}
		if err := db.Put(bounded, []svc.Entity{entity}, nil); err != nil {
			t.Fatal(err)
		}
		if owned, err := db.Load(bounded, "o"); err != nil || len(owned) != 1 || owned[0].Version != entity.Version {
			t.Fatalf("%+v, %v", owned, err)
		}
		if err := db.Insert(bounded, fmt.Sprintf("t%d", n), uint64(n+1), hourly(t, db, time.Now(), 10)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range questions {
		if err := <-ended; err == nil {
			t.Error("a question ended before it was cancelled")
		}
	}
}
