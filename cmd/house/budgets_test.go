package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A reader's capacity: files per package, lines per file. Tests and generated files do not count. Functions have at
// most 50 lines, which the linter checks (funlen in .golangci.yml).
const (
	packageFiles = 30
	fileLines    = 400
)

// TestPackagesAndFilesStayWithinTheirBudgets counts the files of every package and their lines.
func TestPackagesAndFilesStayWithinTheirBudgets(t *testing.T) {
	t.Parallel()
	files := map[string]int{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == ".git" || name == "node_modules" || name == "data" {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if lines := strings.Count(string(text), "\n"); lines > fileLines && !strings.Contains(string(text), "DO NOT EDIT.\n") {
			t.Errorf("%s has %d lines; a file has %d at most: divide it by noun or by stage of life", path, lines, fileLines)
		}
		files[filepath.ToSlash(filepath.Dir(path))]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, count := range files {
		if count > packageFiles {
			t.Errorf("%s has %d files; it may have %d: divide it by subject", folder, count, packageFiles)
		}
	}
}
