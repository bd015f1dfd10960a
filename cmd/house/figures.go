package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Figure is one number with the limit that it must not exceed.
type Figure struct {
	Name         string
	Value, Limit float64
	// Advice names the way back below the limit.
	Advice string
}

// Above reports whether the figure exceeds its limit.
func (f Figure) Above() bool { return f.Value > f.Limit }

// Limits of the sizes. A limit only goes down, except for code of a new capability.
const (
	maxGoLines        = 178_000
	maxGeneratedLines = 12_000
	maxBenchLines     = 23_000
	maxFileLines      = 400
	maxPackageFiles   = 30
	maxRootFiles      = 0
	maxStructFields   = 80
	maxDirectModules  = 48
	maxOtherModules   = 66
)

// sizes are the sizes of the Go code, without tests if a name does not say otherwise.
type sizes struct {
	root, lines, generated, bench int
	file                          string
	fileLines                     int
	packages                      map[string]int
}

// Measure returns the sizes of the project in a folder.
func Measure(root string) ([]Figure, error) {
	s := sizes{packages: map[string]int{}}
	if err := walk(root, func(path string) error {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return fmt.Errorf("reading a file: %w", err)
		}
		s.add(path, text)
		return nil
	}); err != nil {
		return nil, err
	}
	direct, indirect, err := modules(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	name, fields, err := widestStruct(filepath.Join(root, "cmd/svc"))
	if err != nil {
		return nil, err
	}
	folder, files := s.widest()
	return []Figure{
		{"Go files in the root", float64(s.root), maxRootFiles, "a noun belongs to a package of domain"},
		{"lines of Go without tests and generated code", float64(s.lines), maxGoLines, "delete code that nothing uses"},
		{"lines of generated Go", float64(s.generated), maxGeneratedLines, "generate only the functions in use"},
		{"lines of Go in bench", float64(s.bench), maxBenchLines, "remove settled comparisons"},
		{"lines of the longest file, " + s.file, float64(s.fileLines), maxFileLines, "divide it by noun or by stage of life"},
		{"files of the widest package, " + folder, float64(files), maxPackageFiles, "divide it by subject"},
		{"fields of the widest struct in cmd/svc, " + name, float64(fields), maxStructFields, "move what belongs to a module into the module"},
		{"direct modules", float64(direct), maxDirectModules, "use a module that is required already"},
		{"indirect modules", float64(indirect), maxOtherModules, "move programs of tests into modules of their own"},
	}, nil
}

// generatedMark ends the first line of generated files.
var generatedMark = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (s *sizes) add(path string, text []byte) {
	lines := bytes.Count(text, []byte("\n"))
	folder := filepath.ToSlash(filepath.Dir(path))
	if !strings.HasSuffix(path, ".pb.go") {
		s.packages[folder]++
	}
	if generatedMark.Match(text) {
		s.generated += lines
		return
	}
	s.lines += lines
	if lines > s.fileLines {
		s.file, s.fileLines = path, lines
	}
	switch top, _, _ := strings.Cut(folder, "/"); top {
	case ".":
		s.root++
	case "bench":
		s.bench += lines
	}
}

func (s *sizes) widest() (folder string, files int) {
	for name, count := range s.packages {
		if name != "." && (count > files || count == files && name < folder) {
			folder, files = name, count
		}
	}
	return folder, files
}

// modules counts the modules that a go.mod requires.
func modules(path string) (direct, indirect int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the modules: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		if fields := strings.Fields(line); len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		if strings.HasSuffix(line, "// indirect") {
			indirect++
		} else {
			direct++
		}
	}
	return direct, indirect, nil
}

// skipped lists the folders that contain no text of ours.
func skipped() []string {
	return []string{".git", "node_modules", "testdata", "dist", "bin", "data", "results", "vendor"}
}

// walk calls visit with the path of every file of the project, relative to the root.
func walk(root string, visit func(path string) error) error {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(skipped(), entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(relative))
	})
	if err != nil {
		return fmt.Errorf("reading the project: %w", err)
	}
	return nil
}

// widestStruct returns the struct with the most fields in the Go files of a folder.
func widestStruct(folder string) (name string, fields int, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", 0, fmt.Errorf("listing %s: %w", folder, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", 0, fmt.Errorf("parsing a file: %w", err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isType := node.(*ast.TypeSpec)
			if !isType {
				return true
			}
			if kind, isStruct := spec.Type.(*ast.StructType); isStruct && kind.Fields.NumFields() > fields {
				name, fields = spec.Name.Name, kind.Fields.NumFields()
			}
			return true
		})
	}
	return name, fields, nil
}
