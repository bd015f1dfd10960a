package clickhouse

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// updateGolden rewrites the golden files.
var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// TestTheDefinitionsOfACluster compares the statements for the replicas of a cluster with a golden file, for some
// migrations that cover every form of definition. The statements of all migrations must apply to every replica. A
// single server gets the migrations unchanged.
func TestTheDefinitionsOfACluster(t *testing.T) {
	queries, err := LoadQueries(queryFiles)
	if err != nil {
		t.Fatal(err)
	}
	var got, all strings.Builder
	add := func(text string, shown bool) {
		if newDefinitions("").of(text) != text {
			t.Errorf("without a cluster a statement changes: %s", text)
		}
		for one := range statements(newDefinitions("main").of(text)) {
			all.WriteString(statement(one) + ";\n\n")
			if shown {
				got.WriteString(statement(one) + ";\n\n")
			}
		}
	}
	for _, text := range []string{queries["database.Create"], queries["migrations.Create"], strings.ReplaceAll(queries["tables.SetDurable"], "$(table)", "events")} {
		add(text, true)
	}
	shown := []string{"20261120_01_events", "20261120_02_entities", "20261120_08_metrics", "20261122_30_installation", "20261122_31_audit_rows", "20261122_50_checks_projections"}
	for _, name := range files(t, "migrations/*.sql") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		add(string(text), slices.Contains(shown, strings.TrimSuffix(filepath.Base(name), ".sql")))
	}
	golden := filepath.Join("testdata", "cluster.golden.sql")
	if *updateGolden {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got.String() {
		t.Errorf("the definitions are not those of %s, which -update rewrites: %v", golden, err)
	}
	checkDefinitions(t, all.String())
}

// checkDefinitions finds statements that would apply to only one replica.
func checkDefinitions(t *testing.T, text string) {
	t.Helper()
	for one := range statements(text) {
		head, _, _ := strings.Cut(one, "\n")
		word, _, _ := strings.Cut(one, " ")
		defines := word == "CREATE" || word == "ALTER" || word == "DROP"
		switch {
		case defines != strings.Contains(head, " ON CLUSTER 'main'"):
			t.Errorf("on which replicas? %s", head)
		case strings.Contains(one, "non_replicated") || strings.Contains(one, "ENGINE = ") && !strings.Contains(one, "ENGINE = Replicated") && !strings.Contains(one, "ENGINE = Null"):
			t.Errorf("not replicated: %s", one)
		}
	}
}
