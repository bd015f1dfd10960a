package svc_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// groupImports lists, for each group of the root package's files in doc.go, the groups that it may use names of.
func groupImports() map[string][]string {
	return map[string][]string{
		"Ground":       nil,
		"Analytics":    {"Ground"},
		"Errors":       {"Ground", "Analytics"},
		"Metrics":      {"Ground"},
		"Alerting":     {"Ground", "Analytics", "Errors", "Metrics"},
		"Flags":        {"Ground", "Analytics", "People"},
		"Assistant":    {"Ground"},
		"Destinations": {"Ground", "Analytics", "People"},
		"Campaigns":    {"Ground"},
		"Revenue":      {"Ground"},
		"People":       {"Ground", "Analytics", "Revenue"},
		"Ingest":       {"Ground", "Analytics", "Errors", "Metrics", "Revenue"},
		"Telemetry":    {"Ground", "Analytics", "Alerting", "Ingest"},
	}
}

// TestTheFilesOfTheRootPackageAreGrouped compares doc.go's list of files with the folder, and the uses between groups
// with the table.
func TestTheFilesOfTheRootPackageAreGrouped(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	doc := ""
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if path == "doc.go" {
			doc = file.Doc.Text()
			continue
		}
		files = append(files, file)
	}
	groups := groupsOf(t, doc)
	base := func(at token.Pos) string { return strings.TrimSuffix(set.Position(at).Filename, ".go") }
	for _, file := range files {
		if groups[base(file.Pos())] == "" {
			t.Errorf("doc.go has %s.go in no group", base(file.Pos()))
		}
	}
	if len(groups) > len(files) {
		t.Errorf("doc.go lists %d files, and there are %d", len(groups), len(files))
	}
	allowed := groupImports()
	for use, definition := range usesBetweenFiles(set, files) {
		from, to := groups[base(use.Pos())], groups[base(definition.Pos())]
		if from != to && !slices.Contains(allowed[from], to) {
			t.Errorf("%s.go (%s) uses %s of %s.go (%s)", base(use.Pos()), from, use.Name, base(definition.Pos()), to)
		}
	}
}

// groupsOf returns the group of each file in the list of a package's documentation.
func groupsOf(t *testing.T, doc string) map[string]string {
	t.Helper()
	_, list, found := strings.Cut(doc, "# Files")
	if !found {
		t.Fatal("doc.go has no list of files")
	}
	groups := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^ +- (\w+)(?: \([^)]*\))?: ((?:[a-z_]+(?:, |,\n +|\.)?)+)`).FindAllStringSubmatch(list, -1) {
		if _, known := groupImports()[row[1]]; !known {
			t.Errorf("doc.go has a group %s, which the table does not know", row[1])
		}
		for _, name := range strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '.' }) {
			if groups[name] != "" {
				t.Errorf("doc.go lists %s.go twice", name)
			}
			groups[name] = row[1]
		}
	}
	return groups
}

// usesBetweenFiles resolves the names of a package without its imports, which no name of the package needs.
func usesBetweenFiles(set *token.FileSet, files []*ast.File) map[*ast.Ident]types.Object {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	checked, _ := config.Check("svc", set, files, info) // fails for the imports
	uses := map[*ast.Ident]types.Object{}
	for use, definition := range info.Uses {
		if definition.Parent() == checked.Scope() {
			uses[use] = definition
		}
	}
	return uses
}

// noImports finds no package.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not looked for") }
