package clickhouse

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoStatementsInGo checks that statements are in separate files.
func TestNoStatementsInGo(t *testing.T) {
	statement := regexp.MustCompile(`\b(SELECT|INSERT INTO|CREATE|ALTER|DROP|FROM|GROUP BY|ORDER BY|WHERE)\s`)
	for _, name := range files(t, "*.go", "*/*.go") {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "clickhousetest/") {
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

// TestQueriesSayWhatTheyAre checks that every query file begins with a comment.
func TestQueriesSayWhatTheyAre(t *testing.T) {
	key := regexp.MustCompile(`Key:\s`)
	for _, name := range files(t, "query/*.sql", "*/query/*.sql") {
		text, err := os.ReadFile(name)
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

// environmentTables returns the tables with rows of environments, which live on shards.
func environmentTables(t *testing.T) *regexp.Regexp {
	t.Helper()
	made := regexp.MustCompile(`CREATE TABLE IF NOT EXISTS (\w+)\s*\(\s*environment\s+UInt64`)
	var tables []string
	for _, name := range files(t, "migrations/*.sql") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range made.FindAllSubmatch(text, -1) {
			tables = append(tables, string(found[1]))
		}
	}
	if len(tables) < 20 {
		t.Fatalf("only %v have rows of environments", tables)
	}
	return regexp.MustCompile(`\b(FROM|JOIN|UPDATE|TABLE)\s+(` + strings.Join(tables, "|") + `)\b`)
}

// acrossShards returns the queries about several environments. Their callers run them on every shard, or read data that
// is on shard 0 for all.
func acrossShards() map[string]bool {
	return map[string]bool{
		// Intakes after a restart, retentions and the remains of visitors: every shard.
		"state.Arrivals": true, "state.RecentIDs": true, "state.RecentErrors": true, "state.ErrorArrivals": true, "state.RecentMetrics": true,
		"state.MetricArrivals": true, "state.Cumulatives": true, "state.Series": true, "state.Sessions": true, "state.EndedSessions": true,
		"state.BlockRows": true, "people.Forget": true, "aliases.Environments": true, "issues.Former": true, "links.Second": true,
		"state.BillingArrivals": true, "state.RecentBillings": true,
		// Lists of environments: each shard for its own environments.
		"issues.Totals": true, "issues.After": true, "releases.Counts": true, "usage.Stored": true, "usage.Pulses": true,
		// Shard 0.
		"retentions.List": true, "letters.Count": true, "letters.Get": true,
	}
}

// TestQueriesNameTheirEnvironment checks that every query of an environment's rows names it by the parameter that
// selects the shard. It also checks that the state which such a query joins is copied to shards.
func TestQueriesNameTheirEnvironment(t *testing.T) {
	rows, kind := environmentTables(t), regexp.MustCompile(`kind = '(\w+)'`)
	folders, err := filepath.Glob("*/query")
	if err != nil {
		t.Fatal(err)
	}
	var all []fs.FS
	for _, folder := range folders {
		all = append(all, os.DirFS(filepath.Dir(folder)))
	}
	queries, err := LoadQueries(all...)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range queries {
		named := strings.Contains(text, "{environment:UInt64}")
		if rows.MatchString(text) && !named && !acrossShards()[name] {
			t.Errorf("%s reads rows of environments and has no {environment:UInt64}", name)
		}
		if named && strings.Contains(text, "FROM entities") {
			for _, found := range kind.FindAllStringSubmatch(text, -1) {
				if found[1] != "issue" && found[1] != "person" {
					t.Errorf("%s joins the state of the kind %s, which no shard but the first has", name, found[1])
				}
			}
		}
	}
	for name := range acrossShards() {
		if queries[name] == "" {
			t.Errorf("no query is called %s", name)
		}
	}
}

// TestWholeReadsAreOfOneShard checks that reads that wait for inserts name the shard of these inserts.
func TestWholeReadsAreOfOneShard(t *testing.T) {
	bare := regexp.MustCompile(`clickhouse\.(Share|Whole|Besides)\(ctx, [\w.]*conn,`)
	for _, name := range files(t, "*/*.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := bare.Find(text); found != nil && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %s: name the shard by conn.Of(environment)", name, found)
		}
	}
}

// files returns the files that match any of some patterns. Each pattern must match some files.
func files(t *testing.T, patterns ...string) (names []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		names = append(names, found...)
	}
	return names
}

// TestReadsOfTheJournalsTables checks which queries need a flush of the journal.
func TestReadsOfTheJournalsTables(t *testing.T) {
	queries, err := LoadQueries(os.DirFS("state"), os.DirFS("issues"), os.DirFS("alerts"), os.DirFS("reads"), os.DirFS("metrics"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"entities.Load": true, "wakeups.List": true, "ledger.Walk": true, "issues.Rank": true, "issues.Watched": true, "incidents.List": true,
		"activity.Events": false, "journal.Read": false, "entities.Append": false,
	} {
		if query, known := queries[name]; !known || readsJournal(query) != want {
			t.Errorf("%s: known %t, reads the journal %t", name, known, !want)
		}
	}
}

// TestTablesOfTheJournalAreFound looks for the tables in several forms of queries.
func TestTablesOfTheJournalAreFound(t *testing.T) {
	for query, want := range map[string]bool{
		"SELECT 1 FROM entities": true, "SELECT 1 from wakeups": true, "SELECT 1 FROM (SELECT 1 FROM ledger)": true,
		"SELECT 1 FROM events AS e INNER JOIN entities AS s ON s.id = e.id": true, "SELECT 1 FROM events ANY LEFT JOIN\n    audit_rows USING id": true,
		"SELECT ledger, entities FROM events": false, "SELECT 1 FROM entities_of_old": false, "SELECT 1 FROM events": false,
	} {
		if got := readsJournal(query); got != want {
			t.Errorf("%s: got %t", query, got)
		}
	}
}

// TestReadsMissNothingOfTheJournal checks that a connection which does not flush the journal refuses queries that need
// a flush.
func TestReadsMissNothingOfTheJournal(t *testing.T) {
	c := &Conn{link: &link{}}
	if err := c.Stream(t.Context(), "reading", "SELECT 1 FROM entities", nil, nil); err == nil {
		t.Error("a journalled table was read without flushing the journal")
	}
}
