package svc_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// allowedImports is who may import whom, by top folder; "svc" is the root
// package. A folder may always import its own packages.
func allowedImports() map[string][]string {
	return map[string][]string{
		"svc":     nil,
		"protos":  nil,
		"cluster": {"protos"},
		"storage": {"svc", "protos"},
		"actors":  {"svc", "protos", "cluster"},
		"http":    {"svc", "protos"},
		"cmd":     {"svc", "protos", "cluster", "actors", "storage", "http"},
		"bench":   {"protos"},
	}
}

// innerImports is which packages of its own top folder a package may import, for
// folders that are divided. Tests may import more: they put parts together.
func innerImports() map[string][]string {
	return map[string][]string{
		"svc/actors/attempt":       nil,
		"svc/actors/grain":         nil,
		"svc/actors/identity":      {"svc/actors/grain"},
		"svc/actors/apps":          {"svc/actors/attempt", "svc/actors/grain", "svc/actors/identity"},
		"svc/actors/conversations": {"svc/actors/grain"},
		"svc/actors/pipeline":      {"svc/actors/attempt", "svc/actors/enrich"},
		"svc/actors":               nil,
		"svc/actors/alerting":      {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/issues":        {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/live":          {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/storage/kafka":        nil,
		"svc/storage/kafka/broker": {"svc/storage/datadir"},

		"svc/storage/groupcommit":        nil,
		"svc/storage/lru":                nil,
		"svc/storage/clickhouse":         {"svc/storage/clickhouse/columns", "svc/storage/groupcommit"},
		"svc/storage/clickhouse/columns": nil,
		"svc/storage/clickhouse/block":   {"svc/storage/clickhouse", "svc/storage/clickhouse/columns"},
		"svc/storage/clickhouse/state":   {"svc/storage/clickhouse", "svc/storage/datadir", "svc/storage/groupcommit"},
		"svc/storage/clickhouse/reads":   {"svc/storage/clickhouse", "svc/storage/lru"},
		"svc/storage/clickhouse/metrics": {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/issues":  {"svc/storage/clickhouse", "svc/storage/clickhouse/state"},
		"svc/storage/clickhouse/backup":  {"svc/storage/clickhouse", "svc/storage/clickhouse/state"},
		"svc/storage/clickhouse/alerts": {
			"svc/storage/clickhouse", "svc/storage/clickhouse/columns", "svc/storage/clickhouse/metrics", "svc/storage/clickhouse/state", "svc/storage/groupcommit",
		},
		"svc/storage/clickhouse/database": {
			"svc/storage/clickhouse", "svc/storage/clickhouse/alerts", "svc/storage/clickhouse/backup", "svc/storage/clickhouse/block", "svc/storage/clickhouse/issues",
			"svc/storage/clickhouse/metrics", "svc/storage/clickhouse/reads", "svc/storage/clickhouse/state",
		},

		"svc/cmd/svc/cli":       nil,
		"svc/cmd/svc/accesslog": nil,
		"svc/cmd/svc/integrity": nil,
		"svc/cmd/svc/settings":  {"svc/cmd/svc/cli"},
		"svc/cmd/svc/importer":  {"svc/cmd/svc/accesslog", "svc/cmd/svc/cli"},
		"svc/cmd/svc/operator":  {"svc/cmd/svc/cli", "svc/cmd/svc/settings"},
		"svc/cmd/svc/backup":    {"svc/cmd/svc/cli", "svc/cmd/svc/operator"},

		"svc/storage/chdb":       nil,
		"svc/storage/datadir":    nil,
		"svc/storage/geo":        nil,
		"svc/storage/sourcemaps": nil,
		"svc/storage/spool":      {"svc/storage/datadir"},
		"svc/storage/vault":      nil,

		"svc/http":               nil,
		"svc/http/route":         nil,
		"svc/http/views":         {"svc/http/route"},
		"svc/http/sentry":        nil,
		"svc/http/passkey":       nil,
		"svc/http/ingest":        {"svc/http/route", "svc/http/sentry"},
		"svc/http/api":           {"svc/http/route"},
		"svc/http/api/accounts":  {"svc/http/api", "svc/http/route", "svc/http/passkey", "svc/http/views"},
		"svc/http/api/alerting":  {"svc/http/api", "svc/http/route", "svc/http/views"},
		"svc/http/api/analytics": {"svc/http/api", "svc/http/route"},
		"svc/http/api/apps":      {"svc/http/api", "svc/http/route"},
		"svc/http/api/assistant": {"svc/http/api", "svc/http/route", "svc/http/passkey", "svc/http/views"},
		"svc/http/api/issues":    {"svc/http/api", "svc/http/route"},
		"svc/http/api/metrics":   {"svc/http/api", "svc/http/route"},
		"svc/http/docs":          {"svc/http/api", "svc/http/route"},
		"svc/http/docsite":       {"svc/http/route"},
		"svc/http/console":       {"svc/http/route"},
		"svc/http/share":         {"svc/http/route"},
		"svc/http/tools":         {"svc/http/route"},
		"svc/http/mcp":           {"svc/http/route", "svc/http/tools"},
		"svc/http/admin":         nil,
		"svc/http/outbound":      {"svc/http/views"},
		"svc/http/outbound/llm":  nil,
	}
}

// vendorFolders is where the packages of a vendor may appear. The limits that
// bench measures are those of the same libraries, so bench may use them too.
func vendorFolders() map[string][]string {
	return map[string][]string{
		"github.com/asynkron/protoactor-go":    {"svc/actors", "svc/cluster"},
		"github.com/segmentio/kafka-go":        {"svc/storage/kafka", "svc/bench"},
		"github.com/twmb/franz-go":             {"svc/storage/kafka", "svc/bench"},
		"github.com/ClickHouse":                {"svc/storage", "svc/bench"},
		"github.com/ebitengine/purego":         {"svc/storage"},
		"github.com/oschwald/maxminddb-golang": {"svc/storage/geo"},
		"github.com/julienschmidt/httprouter":  {"svc/http/route", "svc/bench"},
		"github.com/tmaxmax/go-sse":            {"svc/http/route", "svc/http/outbound/llm", "svc/bench"},
		"github.com/mileusna/useragent":        {"svc/actors/enrich"},
		"github.com/modelcontextprotocol":      {"svc/http/mcp"},
		"github.com/go-webauthn":               {"svc/http/passkey"},
		"github.com/fxamacker/cbor":            {"svc/http/passkey"},
		"github.com/getsentry/sentry-go":       {"svc/cmd"},
		"github.com/google/generative-ai-go":   {"svc/http/outbound/llm"},
		"google.golang.org/api":                {"svc/http/outbound/llm"},
		"github.com/sony/gobreaker":            {"svc/http/outbound/llm"},
	}
}

// listed is what the go command says of a package.
type listed struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func list(t *testing.T) (packages []listed) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("listing the packages: %v", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var one listed
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, one)
	}
}

// folder returns the top folder of a package of this module; ours is false for
// packages of others.
func folder(path string) (name string, ours bool) {
	if path == "svc" {
		return "svc", true
	}
	rest, ours := strings.CutPrefix(path, "svc/")
	name, _, _ = strings.Cut(rest, "/")
	return name, ours
}

func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	allowed := allowedImports()
	seen := map[string]bool{}
	for _, p := range list(t) {
		from, _ := folder(p.ImportPath)
		seen[from] = true
		targets, known := allowed[from]
		if !known {
			t.Errorf("%s is in a folder that the table does not know; add a row or move the package", p.ImportPath)
			continue
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			to, ours := folder(path)
			if ours && to != from && !slices.Contains(targets, to) {
				t.Errorf("%s must not import %s", p.ImportPath, path)
			}
			for vendor, folders := range vendorFolders() {
				if within(path, []string{vendor}) && !within(p.ImportPath, folders) {
					t.Errorf("%s must not import %s; that vendor stays in %v", p.ImportPath, path, folders)
				}
			}
		}
		if from == "svc" {
			for _, path := range p.Imports {
				if strings.Contains(path, ".") {
					t.Errorf("the root package must not import %s; it uses the standard library only", path)
				}
			}
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("the table has a row for %s, which holds no package", name)
		}
	}
}

func TestDividedFoldersKeepTheirEdges(t *testing.T) {
	t.Parallel()
	edges, seen := innerImports(), 0
	for _, p := range list(t) {
		targets, divided := edges[p.ImportPath]
		if !divided {
			continue
		}
		seen++
		from, _ := folder(p.ImportPath)
		for _, path := range p.Imports {
			if to, ours := folder(path); ours && to == from && !slices.Contains(targets, path) {
				t.Errorf("%s must not import %s", p.ImportPath, path)
			}
		}
	}
	if seen != len(edges) {
		t.Errorf("the table has %d rows, of which %d are packages", len(edges), seen)
	}
}

// productWords are words of the product that package cluster does not know: it
// runs actors of any kind.
func productWords() []string {
	return []string{
		"organization", "org", "application", "app", "tenant", "environment", "visitor", "pageview", "session",
		"funnel", "goal", "segment", "campaign", "issue", "monitor", "incident", "flag", "conversation",
		"destination", "revenue", "ingest", "intake", "analytics",
	}
}

func TestClusterKnowsNoProductWord(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if from, _ := folder(p.ImportPath); from != "cluster" {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if identifier, ok := node.(*ast.Ident); ok {
					for _, word := range splitWords(identifier.Name) {
						if slices.Contains(productWords(), word) {
							t.Errorf("%s/%s: the identifier %s holds the product word %q", p.ImportPath, name, identifier.Name, word)
						}
					}
				}
				return true
			})
		}
	}
}

// splitWords cuts a camel-case name into its words, in lower case.
func splitWords(name string) (words []string) {
	start := 0
	for i, r := range name {
		if i > start && unicode.IsUpper(r) {
			words, start = append(words, strings.ToLower(name[start:i])), i
		}
	}
	return append(words, strings.ToLower(name[start:]))
}
