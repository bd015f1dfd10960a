package main_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources calls yield with the path and text of every hand-written file of the project that may refer to a document.
func sources(t *testing.T, yield func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bin", "data", "results"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".sql", ".md", ".yml", ".proto", ".mjs", ".sh"}, filepath.Ext(path)) || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		yield(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// numbered returns the numbers at the beginning of a document's paragraphs.
func numbered(t *testing.T, path, pattern string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		if found[match[1]] {
			t.Errorf("%s has %s twice", path, match[1])
		}
		found[match[1]] = true
	}
	return found
}

// TestReferencesResolve follows every reference to the contract (contract 12). Decisions are named by their
// paths, and their former numbers stand in docs/decisions only.
func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	contract := numbered(t, "docs/contract.md", `(?m)^- \*\*(\d+)\*\* `)
	former := regexp.MustCompile(`[( ](D\d{1,3})\b`)
	clause := regexp.MustCompile(`\bcontract (\d+)\b`)
	elsewhere := regexp.MustCompile(`\bdecisions? \d`)
	sources(t, func(path, text string) {
		for line := range strings.Lines(text) {
			comment := line
			if strings.HasSuffix(path, ".go") {
				_, comment, _ = strings.Cut(line, "//")
			}
			if match := former.FindStringSubmatch(comment); match != nil && !strings.HasPrefix(path, "docs/decisions/") {
				t.Errorf("%s refers to %s; name the file in docs/decisions: %s", path, match[1], strings.TrimSpace(line))
			}
			for _, match := range clause.FindAllStringSubmatch(comment, -1) {
				if !contract[match[1]] {
					t.Errorf("%s refers to contract %s, which docs/contract.md does not have", path, match[1])
				}
			}
			if elsewhere.MatchString(comment) {
				t.Errorf("%s names a decision by a bare number; write docs/decisions/0001-… or (contract 12): %s", path, strings.TrimSpace(line))
			}
		}
	})
}

// TestDecisionsHaveOneForm checks the form of the files of docs/decisions, their lines in the index, and every
// reference to one of them.
func TestDecisionsHaveOneForm(t *testing.T) {
	t.Parallel()
	const folder, most = "docs/decisions/", 60
	index, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(folder + "[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d decisions, %v", len(files), err)
	}
	form := regexp.MustCompile(`(?s)^# (\d{4}) ([^\n]+)\n\n(?:Covers [^\n]+\.\n\n)?## Status\n\n.+\n\n## Context\n\n.+\n\n## Decision\n\n.+\n\n## Consequences\n\n.+\n$`)
	exists, used := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		exists[name] = true
		title := form.FindSubmatch(text)
		if title == nil {
			t.Errorf("%s does not have the title and the sections of a decision", file)
			continue
		}
		number := string(title[1])
		if !strings.HasPrefix(name, number+"-") || used[number] {
			t.Errorf("%s has the number %s, which is another one in its name or belongs to another decision", file, number)
		}
		used[number] = true
		if row := fmt.Sprintf("- [%s %s](%s)", title[1], title[2], name); !strings.Contains(string(index), row) {
			t.Errorf("%sREADME.md has no line %s", folder, row)
		}
		if lines := strings.Count(string(text), "\n"); lines > most {
			t.Errorf("%s has %d lines, more than %d", file, lines, most)
		}
	}
	link := regexp.MustCompile(`decisions/(\d{4}-[\w-]+\.md)`)
	inside := regexp.MustCompile(`\]\((\d{4}-[^)#]+)`)
	sources(t, func(path, text string) {
		found := link.FindAllStringSubmatch(text, -1)
		if strings.HasPrefix(path, folder) {
			found = append(found, inside.FindAllStringSubmatch(text, -1)...)
		}
		for _, match := range found {
			if !exists[match[1]] {
				t.Errorf("%s refers to %s%s, which does not exist", path, folder, match[1])
			}
		}
	})
}

// TestTheFileMapIsWhole compares DESIGN.md's file map with the folders.
func TestTheFileMapIsWhole(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "## File map")
	if !found {
		t.Fatal("DESIGN.md has no file map")
	}
	mapped := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(after, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			mapped[strings.TrimSuffix(name[1], "/")] = true
		}
	}
	folders := map[string]bool{}
	for _, p := range list(t) {
		if path, ours := strings.CutPrefix(p.ImportPath, "svc/"); ours {
			folders[path] = true
		}
	}
	for path := range folders {
		if helperFolder(path) {
			path = filepath.Dir(path)
		}
		if top, _, _ := strings.Cut(path, "/"); top == "bench" || top == "domain" {
			path = top
		}
		if !mapped[path] {
			t.Errorf("the file map has no row for %s", path)
		}
	}
	for path := range mapped {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the file map has a row for %s, which does not exist", path)
		}
	}
}

// TestDocumentsNameFilesThatExist checks that the files and folders that documents name by path exist.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	path := regexp.MustCompile("`((?:actors|bench|cluster|cmd|docs|domain|http|protos|scripts|storage|test)/[\\w./*-]+)`")
	documents, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, "CONTRIBUTING.md", "DESIGN.md", "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range path.FindAllStringSubmatch(string(text), -1) {
			if found, err := filepath.Glob(match[1]); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", document, match[1])
			}
		}
	}
}

// helperFolder reports whether a folder contains a generator or shared test helpers.
func helperFolder(path string) bool {
	name := filepath.Base(path)
	return name == "gen" || strings.HasSuffix(name, "test")
}

// TestTheReadmeBeginsWithTheProduct checks the README's first paragraph: it begins with the purpose of the product and
// names every module in the words of users.
func TestTheReadmeBeginsWithTheProduct(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	paragraphs := strings.SplitN(string(text), "\n\n", 3)
	begin := strings.Join(strings.Fields(paragraphs[1]), " ")
	if !strings.HasPrefix(begin, "Collects events, errors and metrics from your applications, stores each event exactly once, and ") {
		t.Errorf("README.md begins with %q", begin)
	}
	rows, err := os.ReadFile("cmd/svc/testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	word := map[string]string{"analytics": "overviews", "ai": "assistant"}
	for _, match := range regexp.MustCompile(`\bmodule=(\w+)`).FindAllStringSubmatch(string(rows), -1) {
		if module := match[1]; !strings.Contains(begin, cmp.Or(word[module], module)) {
			t.Errorf("routes serve the module %s, and the first paragraph of README.md does not name it", module)
			word[module] = "README" // once is enough
			begin += " README"
		}
	}
}

// TestTheReckoningFollowsTheCode computes the numbers of inserts that DESIGN.md expects for a hundred nodes, from the
// settings, constants and tables that determine them.
func TestTheReckoningFollowsTheCode(t *testing.T) {
	t.Parallel()
	number := func(path, pattern string) int {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(pattern).FindSubmatch(text)
		if match == nil {
			t.Fatalf("%s has nothing of the form %s", path, pattern)
		}
		n, err := strconv.Atoi(string(match[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const nodes = 100
	usual := 1000 / number("cmd/svc/settings/settings.go", `"SVC_FLUSH_INTERVAL", "(\d+)ms"`)
	most := 1000 / number("actors/alerting/open_block.go", `= (\d{3}) \* time\.Millisecond`)
	window := number("storage/clickhouse/migrations/20261120_01_events.sql", `non_replicated_deduplication_window = (\d+)`)
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	text, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	design := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		fmt.Sprintf("%d nodes × %d blocks/s × 60 (up to %d blocks/s on a node whose alerts wait)", nodes, usual, most),
		fmt.Sprintf("%s a minute in `events` and each of three aggregates, %s at worst", thousands(nodes*usual*60), thousands(nodes*most*60)),
		fmt.Sprintf("among the last %s of the table, at %d nodes %d s, or %d s if alerts wait on all of them", thousands(window), nodes, window/nodes/usual, window/nodes/most),
		fmt.Sprintf("The dedup window* of %s tokens is then 500 s instead of %d s (%d s at worst)", thousands(window), window/nodes/usual, window/nodes/most),
		fmt.Sprintf("at most every %d ms, if an alert", 1000/most),
	} {
		if !strings.Contains(design, want) {
			t.Errorf("DESIGN.md does not say %q", want)
		}
	}
}
