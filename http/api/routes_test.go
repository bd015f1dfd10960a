package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/http/api/apitest"
	"svc/http/ingest"
	"svc/http/route"
)

var update = flag.Bool("update", false, "rewrite golden files")

// noon is the instant of the tests.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func TestGoldenAnswers(t *testing.T) {
	apitest.Run(t, func(t *testing.T) apitest.World { return apitest.NewMemory(noon).Fill(t) })
}

// golden compares a text with testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// TestTheBuiltModulesAreThoseWithRoutes checks that the product shows no module as available unless it has routes.
func TestTheBuiltModulesAreThoseWithRoutes(t *testing.T) {
	for _, module := range domain.Modules() {
		routed := slices.ContainsFunc(wholeTable(), func(route route.Route) bool { return route.Module == module })
		if routed != slices.Contains(domain.BuiltModules(), module) {
			t.Errorf("%s: has routes %v", module, routed)
		}
	}
}

func TestOpenAPIDocument(t *testing.T) {
	document, err := route.OpenAPI(wholeTable(), "https://svc.example", "2026-11-20")
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "openapi.golden.json", append(joined(body), '\n'))
}

// joined writes an indented document with one line for each operation and each component, so that a difference names the
// operation and the file stays small.
func joined(indented []byte) []byte {
	const depth = 3 // the depth of operations and components
	var out []byte
	for line := range bytes.Lines(indented) {
		text := bytes.TrimSpace(line)
		level := (len(bytes.TrimRight(line, "\n")) - len(text)) / 2
		closes := level == depth && (text[0] == '}' || text[0] == ']')
		switch {
		case len(out) == 0:
		case level > depth || closes:
			if bytes.HasSuffix(out, []byte(",")) {
				out = append(out, ' ')
			}
		default:
			out = append(out, '\n')
			out = append(out, bytes.Repeat([]byte(" "), level)...)
		}
		out = append(out, text...)
	}
	return out
}

// wholeTable returns every row that the OpenAPI document describes.
func wholeTable() []route.Route {
	return slices.Concat(apitest.Routes(), new(ingest.Collect).Routes(), new(ingest.Sentry).Routes(), new(ingest.Uploads).Routes(), new(ingest.Releases).Routes())
}
