package clickhouse

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoStatementsInGo keeps statements in files of their own.
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

// TestQueriesSayWhatTheyAre asserts that every file of a query begins with a comment.
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

// files returns the files that match one of some patterns; it finds some for each.
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

// TestReadsOfTheJournalsTables asserts which queries need the journal to be flushed.
func TestReadsOfTheJournalsTables(t *testing.T) {
	queries, err := LoadQueries(os.DirFS("state"), os.DirFS("issues"), os.DirFS("alerts"), os.DirFS("reads"), os.DirFS("metrics"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"entities.Load": true, "wakeups.Due": true, "ledger.Walk": true, "issues.Rank": true, "issues.Watched": true, "incidents.List": true,
		"activity.Events": false, "journal.Read": false, "entities.Append": false,
	} {
		if query, known := queries[name]; !known || readsJournal(query) != want {
			t.Errorf("%s: known %t, reads the journal %t", name, known, !want)
		}
	}
}

// TestReadsMissNothingOfTheJournal has a connection that does not flush the journal refuse the
// queries that need it.
func TestReadsMissNothingOfTheJournal(t *testing.T) {
	c := &Conn{link: &link{}}
	if err := c.Stream(t.Context(), "reading", "SELECT 1 FROM entities", nil, nil); err == nil {
		t.Error("a journalled table was read without flushing the journal")
	}
}
