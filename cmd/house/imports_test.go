package main_test

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

// allowedImports lists the permitted imports by top folder. A folder may always import its
// own packages.
func allowedImports() map[string][]string {
	return map[string][]string{
		"docs":    nil,
		"domain":  nil,
		"protos":  nil,
		"cluster": {"protos"},
		"storage": {"domain", "protos"},
		"actors":  {"domain", "protos", "cluster"},
		"http":    {"docs", "domain", "protos"},
		"cmd":     {"docs", "domain", "protos", "cluster", "actors", "storage", "http"},
		"bench":   {"http"}, // its servers and devices for tests only, see TestImportsFollowTheTable
	}
}

// innerImports lists the packages of its own top folder that a package may import. Every package of the module has a
// row. Tests may import more, because they combine parts.
func innerImports() map[string][]string {
	return map[string][]string{
		"svc/docs":                nil,
		"svc/domain":              nil,
		"svc/domain/alert":        {"svc/domain", "svc/domain/metric"},
		"svc/domain/analytics":    {"svc/domain", "svc/domain/event", "svc/domain/filter", "svc/domain/goal", "svc/domain/segment"},
		"svc/domain/annotation":   {"svc/domain"},
		"svc/domain/campaign":     {"svc/domain"},
		"svc/domain/connector":    {"svc/domain"},
		"svc/domain/conversation": {"svc/domain"},
		"svc/domain/destination":  {"svc/domain", "svc/domain/event"},
		"svc/domain/event":        {"svc/domain"},
		"svc/domain/export":       {"svc/domain"},
		"svc/domain/filter":       {"svc/domain", "svc/domain/event"},
		"svc/domain/flag":         {"svc/domain", "svc/domain/goal", "svc/domain/person", "svc/domain/release"},
		"svc/domain/funnel":       {"svc/domain", "svc/domain/event", "svc/domain/filter", "svc/domain/goal"},
		"svc/domain/goal":         {"svc/domain", "svc/domain/event"},
		"svc/domain/ingest":       {"svc/domain", "svc/domain/event", "svc/domain/metric", "svc/domain/occurrence", "svc/domain/revenue"},
		"svc/domain/issue":        {"svc/domain", "svc/domain/event", "svc/domain/occurrence", "svc/domain/release"},
		"svc/domain/metric":       {"svc/domain"},
		"svc/domain/monitor":      {"svc/domain"},
		"svc/domain/occurrence":   {"svc/domain", "svc/domain/event"},
		"svc/domain/person":       {"svc/domain", "svc/domain/event", "svc/domain/revenue", "svc/domain/segment"},
		"svc/domain/release":      {"svc/domain", "svc/domain/annotation", "svc/domain/event"},
		"svc/domain/report":       {"svc/domain", "svc/domain/alert", "svc/domain/analytics", "svc/domain/goal"},
		"svc/domain/revenue":      {"svc/domain"},
		"svc/domain/segment":      {"svc/domain", "svc/domain/event", "svc/domain/filter", "svc/domain/release"},
		"svc/domain/share":        {"svc/domain", "svc/domain/filter", "svc/domain/funnel", "svc/domain/goal"},
		"svc/domain/signin":       {"svc/domain"},
		"svc/domain/telemetry":    {"svc/domain", "svc/domain/alert", "svc/domain/analytics", "svc/domain/event", "svc/domain/ingest"},

		"svc/protos":  nil,
		"svc/cluster": nil,

		"svc/actors":               nil,
		"svc/actors/attempt":       nil,
		"svc/actors/grain":         nil,
		"svc/actors/enrich":        nil,
		"svc/actors/identity":      {"svc/actors/grain"},
		"svc/actors/apps":          {"svc/actors/grain", "svc/actors/identity"},
		"svc/actors/conversations": {"svc/actors/grain"},
		"svc/actors/assistant":     nil,
		"svc/actors/pipeline":      {"svc/actors/attempt", "svc/actors/enrich"},
		"svc/actors/alerting":      {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/issues":        {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/people":        {"svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/exports":       {"svc/actors/grain"},
		"svc/actors/reports":       {"svc/actors/grain"},
		"svc/actors/telemetry":     {"svc/actors/grain"},
		"svc/actors/flags":         {"svc/actors/grain"},
		"svc/actors/billing":       {"svc/actors/grain"},
		"svc/actors/campaigns":     {"svc/actors/grain"},
		"svc/actors/destinations":  {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/connector":     {"svc/actors/grain"},
		"svc/actors/move":          {"svc/actors/pipeline"},
		"svc/actors/live":          {"svc/actors/attempt", "svc/actors/grain", "svc/actors/pipeline"},
		"svc/actors/actorstest":    {"svc/actors/grain"},
		"svc/actors/nodetest":      {"svc/actors/actorstest", "svc/actors/apps", "svc/actors/grain", "svc/actors/identity"},

		"svc/storage":             nil,
		"svc/storage/chdb":        nil,
		"svc/storage/chdb/serve":  {"svc/storage/chdb"},
		"svc/storage/datadir":     nil,
		"svc/storage/geo":         nil,
		"svc/storage/groupcommit": nil,
		"svc/storage/lru":         nil,
		"svc/storage/owned":       {"svc/storage/clickhouse/state", "svc/storage/groupcommit", "svc/storage/kafka/state", "svc/storage/lru"},
		"svc/storage/sourcemaps":  nil,
		"svc/storage/spool":       {"svc/storage/datadir"},
		"svc/storage/vault":       nil,

		"svc/storage/kafka":        nil,
		"svc/storage/kafka/broker": {"svc/storage/datadir"},
		"svc/storage/kafka/state":  {"svc/storage/kafka", "svc/storage/groupcommit"},

		"svc/storage/clickhouse":         {"svc/storage/clickhouse/columns", "svc/storage/groupcommit"},
		"svc/storage/clickhouse/columns": nil,
		"svc/storage/clickhouse/block":   {"svc/storage/clickhouse", "svc/storage/clickhouse/columns"},
		"svc/storage/clickhouse/state":   {"svc/storage/clickhouse", "svc/storage/groupcommit"},
		// Funnels, cohorts and filters by segments count persons (docs/decisions/0028-divide-shared-devices-by-time.md).
		"svc/storage/clickhouse/reads":        {"svc/storage/clickhouse", "svc/storage/clickhouse/people", "svc/storage/lru"},
		"svc/storage/clickhouse/exports":      {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/metrics":      {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/issues":       {"svc/storage/clickhouse", "svc/storage/clickhouse/state"},
		"svc/storage/clickhouse/people":       {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/flags":        {"svc/storage/clickhouse", "svc/storage/clickhouse/people", "svc/storage/clickhouse/state"},
		"svc/storage/clickhouse/revenue":      {"svc/storage/clickhouse", "svc/storage/lru"},
		"svc/storage/clickhouse/backup":       {"svc/storage/clickhouse", "svc/storage/clickhouse/state"},
		"svc/storage/clickhouse/moves":        {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/destinations": {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/campaigns":    {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/alerts": {
			"svc/storage/clickhouse", "svc/storage/clickhouse/columns", "svc/storage/clickhouse/metrics", "svc/storage/clickhouse/state", "svc/storage/groupcommit",
		},
		"svc/storage/clickhouse/database": {
			"svc/storage/clickhouse", "svc/storage/clickhouse/alerts", "svc/storage/clickhouse/backup", "svc/storage/clickhouse/block", "svc/storage/clickhouse/campaigns", "svc/storage/clickhouse/destinations", "svc/storage/clickhouse/exports", "svc/storage/clickhouse/flags", "svc/storage/clickhouse/issues",
			"svc/storage/clickhouse/metrics", "svc/storage/clickhouse/moves", "svc/storage/clickhouse/people", "svc/storage/clickhouse/reads", "svc/storage/clickhouse/state",
			"svc/storage/clickhouse/telemetry",
		},
		"svc/storage/clickhouse/telemetry":      {"svc/storage/clickhouse"},
		"svc/storage/clickhouse/clickhousetest": {"svc/storage/chdb", "svc/storage/clickhouse"},

		"svc/http":                            nil,
		"svc/http/route":                      nil,
		"svc/http/views":                      {"svc/http/route"},
		"svc/http/sentry":                     nil,
		"svc/http/passkey":                    nil,
		"svc/http/posthog":                    nil,
		"svc/http/admission":                  nil,
		"svc/http/ingest":                     {"svc/http/admission", "svc/http/posthog", "svc/http/route", "svc/http/sentry"},
		"svc/http/flags":                      {"svc/http/ingest", "svc/http/route"},
		"svc/http/api":                        {"svc/http/route"},
		"svc/http/api/accounts":               {"svc/http/api", "svc/http/route", "svc/http/passkey", "svc/http/views"},
		"svc/http/api/alerting":               {"svc/http/api", "svc/http/route", "svc/http/views"},
		"svc/http/api/analytics":              {"svc/http/api", "svc/http/route", "svc/http/views"},
		"svc/http/api/apps":                   {"svc/http/api", "svc/http/route"},
		"svc/http/api/assistant":              {"svc/http/api", "svc/http/route", "svc/http/passkey", "svc/http/views"},
		"svc/http/api/exports":                {"svc/http/api", "svc/http/route"},
		"svc/http/api/flags":                  {"svc/http/api", "svc/http/route"},
		"svc/http/api/issues":                 {"svc/http/api", "svc/http/route"},
		"svc/http/api/metrics":                {"svc/http/api", "svc/http/route"},
		"svc/http/api/people":                 {"svc/http/api", "svc/http/route"},
		"svc/http/api/reports":                {"svc/http/api", "svc/http/route"},
		"svc/http/api/revenue":                {"svc/http/api", "svc/http/route"},
		"svc/http/billing":                    {"svc/http/route"},
		"svc/http/api/telemetry":              {"svc/http/api", "svc/http/route"},
		"svc/http/tally":                      nil,
		"svc/http/docs":                       {"svc/http/api", "svc/http/route"},
		"svc/http/docsite":                    {"svc/http/route"},
		"svc/http/script":                     {"svc/http/route"},
		"svc/http/console":                    {"svc/http/console/demo", "svc/http/route"},
		"svc/http/console/demo":               {"svc/http/route"},
		"svc/http/share":                      {"svc/http/route"},
		"svc/http/tools":                      {"svc/http/route"},
		"svc/http/mcp":                        {"svc/http/route", "svc/http/tools"},
		"svc/http/admin":                      nil,
		"svc/http/outbound":                   {"svc/http/views"},
		"svc/http/outbound/llm":               nil,
		"svc/http/api/campaigns":              {"svc/http/api", "svc/http/route", "svc/http/views"},
		"svc/http/mailing":                    {"svc/http/outbound", "svc/http/route"},
		"svc/http/mailing/mailtest":           nil,
		"svc/http/api/destinations":           {"svc/http/api", "svc/http/route"},
		"svc/http/outbound/forward":           {"svc/http/outbound"},
		"svc/http/outbound/stripe":            nil,
		"svc/http/outbound/stripe/stripetest": nil,

		"svc/http/api/apitest": {
			"svc/http/api/accounts", "svc/http/api/alerting", "svc/http/api/analytics", "svc/http/api/apps", "svc/http/api/assistant",
			"svc/http/api/campaigns", "svc/http/api/destinations", "svc/http/api/exports", "svc/http/api/flags", "svc/http/api/issues", "svc/http/api/metrics", "svc/http/api/people", "svc/http/api/reports", "svc/http/api/revenue", "svc/http/api/telemetry", "svc/http/docs", "svc/http/route",
		},
		"svc/http/outbound/llm/llmtest": nil,
		"svc/http/passkey/passkeytest":  nil,

		"svc/cmd/svc": {
			"svc/cmd/svc/adapter", "svc/cmd/svc/backup", "svc/cmd/svc/bridge", "svc/cmd/svc/cli", "svc/cmd/svc/demo", "svc/cmd/svc/firststart", "svc/cmd/svc/health", "svc/cmd/svc/importer",
			"svc/cmd/svc/integrity", "svc/cmd/svc/move", "svc/cmd/svc/operator", "svc/cmd/svc/process", "svc/cmd/svc/settings", "svc/cmd/svc/version",
		},
		"svc/cmd/house":          nil,
		"svc/cmd/svc/cli":        nil,
		"svc/cmd/svc/accesslog":  nil,
		"svc/cmd/svc/adapter":    nil,
		"svc/cmd/svc/health":     nil,
		"svc/cmd/svc/process":    nil,
		"svc/cmd/svc/integrity":  nil,
		"svc/cmd/svc/bridge":     {"svc/cmd/svc/cli"},
		"svc/cmd/svc/version":    {"svc/cmd/svc/cli"},
		"svc/cmd/svc/firststart": {"svc/cmd/svc/integrity"},
		"svc/cmd/svc/settings":   {"svc/cmd/svc/cli"},
		"svc/cmd/svc/importer":   {"svc/cmd/svc/accesslog", "svc/cmd/svc/cli", "svc/cmd/svc/settings"},
		"svc/cmd/svc/operator":   {"svc/cmd/svc/cli", "svc/cmd/svc/settings"},
		"svc/cmd/svc/demo":       {"svc/cmd/svc/cli", "svc/cmd/svc/operator", "svc/cmd/svc/settings"},
		"svc/cmd/svc/move":       {"svc/cmd/svc/cli", "svc/cmd/svc/operator"},
		"svc/cmd/svc/backup":     {"svc/cmd/svc/cli", "svc/cmd/svc/operator"},

		// Benchmark programs: each imports the harness, and some the plain libraries for comparison.
		"svc/bench/harness":           nil,
		"svc/bench/bare":              {"svc/bench/harness"},
		"svc/bench/assistant":         {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/campaigns":         {"svc/bench/harness"},
		"svc/bench/cluster":           {"svc/bench/harness", "svc/bench/subscriptions"},
		"svc/bench/crash":             {"svc/bench/harness", "svc/bench/subscriptions"},
		"svc/bench/console":           {"svc/bench/harness"},
		"svc/bench/errors":            {"svc/bench/harness"},
		"svc/bench/flags":             {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/ingest":            {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/limits":            {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/metrics":           {"svc/bench/harness"},
		"svc/bench/monitors":          {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/people":            {"svc/bench/harness"},
		"svc/bench/destinations":      {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/query":             {"svc/bench/bare", "svc/bench/harness"},
		"svc/bench/revenue":           {"svc/bench/harness"},
		"svc/bench/report":            {"svc/bench/harness"},
		"svc/bench/state":             {"svc/bench/harness"},
		"svc/bench/subscriptions":     {"svc/bench/harness"},
		"svc/bench/recount":           {"svc/bench/harness", "svc/bench/recount/suite", "svc/bench/recount/traffic"},
		"svc/bench/recount/suite":     {"svc/bench/recount/reference", "svc/bench/recount/traffic"},
		"svc/bench/recount/reference": nil,
		"svc/bench/recount/traffic":   nil,

		// Generators of committed files.
		"svc/actors/enrich/gen": nil,
		"svc/protos/gen":        nil,
	}
}

// vendorFolders lists the folders in which the packages of a vendor may appear. bench may use the same libraries,
// because it measures their limits.
func vendorFolders() map[string][]string {
	return map[string][]string{
		"github.com/asynkron/protoactor-go":    {"svc/actors", "svc/cluster"},
		"github.com/segmentio/kafka-go":        {"svc/storage/kafka", "svc/bench"},
		"github.com/twmb/franz-go":             {"svc/storage/kafka", "svc/bench"},
		"github.com/ClickHouse":                {"svc/storage", "svc/bench"},
		"github.com/ebitengine/purego":         {"svc/storage"},
		"github.com/oschwald/maxminddb-golang": {"svc/storage/geo"},
		"github.com/julienschmidt/httprouter":  {"svc/http/route", "svc/bench"},
		"github.com/tmaxmax/go-sse":            {"svc/http/route", "svc/http/outbound/llm"},
		"github.com/mileusna/useragent":        {"svc/actors/enrich"},
		"github.com/modelcontextprotocol":      {"svc/http/mcp"},
		"github.com/go-webauthn":               {"svc/http/passkey"},
		"github.com/fxamacker/cbor":            {"svc/http/passkey"},
		"github.com/getsentry/sentry-go":       {"svc/cmd"},
		"github.com/google/generative-ai-go":   {"svc/http/outbound/llm"},
		"google.golang.org/api":                {"svc/http/outbound/llm"},
		"github.com/sony/gobreaker":            {"svc/http/outbound/llm", "svc/actors/destinations"},
	}
}

// listed describes a package in the output of the go command.
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

// folder returns the top folder of a package of this module; ours is false for other packages.
func folder(path string) (name string, ours bool) {
	rest, ours := strings.CutPrefix(path, "svc/")
	name, _, _ = strings.Cut(rest, "/")
	return name, ours
}

func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

// TestImportsFollowTheTable compares every import between top folders, and of vendors, with the tables. A row or an
// edge that is not needed fails as well.
func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	allowed, vendors := allowedImports(), vendorFolders()
	used := map[[2]string]bool{}
	for _, p := range list(t) {
		from, _ := folder(p.ImportPath)
		used[[2]string{from, ""}] = true
		targets, known := allowed[from]
		if !known {
			t.Errorf("%s is in a top folder that allowedImports (imports_test.go) does not know: add a row for %q, or move the package", p.ImportPath, from)
			continue
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			to, ours := folder(path)
			if ours && to != from && !slices.Contains(targets, to) {
				t.Errorf("%s must not import %s: declare a small interface where it is used, and have cmd/svc plug it in", p.ImportPath, path)
			}
			if from == "bench" && to == "http" && !strings.HasSuffix(path, "test") {
				t.Errorf("%s must not import %s: a benchmark reaches the service as its clients do", p.ImportPath, path)
			}
			if ours {
				used[[2]string{from, to}] = true
			}
			for vendor, folders := range vendors {
				if !within(path, []string{vendor}) {
					continue
				}
				at := slices.IndexFunc(folders, func(prefix string) bool { return within(p.ImportPath, []string{prefix}) })
				if at < 0 {
					t.Errorf("%s must not import %s; that vendor stays in %v", p.ImportPath, path, folders)
					continue
				}
				used[[2]string{vendor, folders[at]}] = true
			}
		}
		if from == "domain" {
			for _, path := range p.Imports {
				if strings.Contains(path, ".") {
					t.Errorf("%s must not import %s: domain uses the standard library only", p.ImportPath, path)
				}
			}
		}
	}
	for from, targets := range allowed {
		if !used[[2]string{from, ""}] {
			t.Errorf("allowedImports has a row for %s, which holds no package: delete it", from)
		}
		for _, to := range targets {
			if !used[[2]string{from, to}] {
				t.Errorf("allowedImports lets %s import %s, which it does not any more: delete the edge", from, to)
			}
		}
	}
	for vendor, folders := range vendors {
		for _, folder := range folders {
			if !used[[2]string{vendor, folder}] {
				t.Errorf("vendorFolders lets %s import %s, which it does not any more: delete the edge", folder, vendor)
			}
		}
	}
}

// TestEveryPackageKeepsItsEdges compares the imports within top folders with innerImports, which has a row for every
// package.
func TestEveryPackageKeepsItsEdges(t *testing.T) {
	t.Parallel()
	edges, seen := innerImports(), map[string]bool{}
	for _, p := range list(t) {
		seen[p.ImportPath] = true
		from, _ := folder(p.ImportPath)
		var inner []string
		for _, path := range p.Imports {
			if to, ours := folder(path); ours && to == from {
				inner = append(inner, path)
			}
		}
		targets, known := edges[p.ImportPath]
		if !known {
			t.Errorf("%s has no row in innerImports (imports_test.go): add one that lists the packages of %s/ which it may import; today these are %q. DESIGN.md's file map needs a row as well",
				p.ImportPath, from, inner)
			continue
		}
		for _, path := range inner {
			if !slices.Contains(targets, path) {
				t.Errorf("%s must not import %s: its row in innerImports does not list it. Declare a small interface instead, or argue for the edge", p.ImportPath, path)
			}
		}
		for _, path := range targets {
			if !slices.Contains(inner, path) {
				t.Errorf("innerImports lets %s import %s, which it does not any more: delete the edge", p.ImportPath, path)
			}
		}
	}
	for path := range edges {
		if !seen[path] {
			t.Errorf("innerImports has a row for %s, which is no package: delete it", path)
		}
	}
}

// productWords are product terms that package cluster must not use, because it runs actors of any kind.
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

// splitWords splits a camel-case name into its words, in lower case.
func splitWords(name string) (words []string) {
	start := 0
	for i, r := range name {
		if i > start && unicode.IsUpper(r) {
			words, start = append(words, strings.ToLower(name[start:i])), i
		}
	}
	return append(words, strings.ToLower(name[start:]))
}
