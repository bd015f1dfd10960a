package main

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"svc/cmd/svc/settings"
	"svc/http/route"
)

// TestRouteList compares every row that svc routes prints, and the server registers, with the
// golden list.
func TestRouteList(t *testing.T) {
	var out bytes.Buffer
	for _, row := range printedRows(t) {
		fmt.Fprintf(&out, "%-6s %-58s %-24s scope=%s permission=%s module=%s role=%s effect=%s rate=%s%s\n",
			row.Method, row.Pattern(), row.Operation, row.Scope, row.Permission, row.Module, row.Role, row.Effect, row.Rate, map[bool]string{true: " addition"}[row.Addition])
	}
	const path = "testdata/routes.golden"
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("%s differs; got:\n%s", path, out.String())
	}
}

// printedRows returns the rows that svc routes prints, sorted by path and method.
func printedRows(t *testing.T) []route.Route {
	t.Helper()
	n := newNode(settings.Config{}, slog.New(slog.DiscardHandler))
	if err := n.openLibrary(); err != nil {
		t.Fatal(err)
	}
	rows, err := n.wholeTable()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b route.Route) int {
		return cmp.Or(strings.Compare(a.Pattern(), b.Pattern()), strings.Compare(a.Method, b.Method))
	})
	return rows
}

// TestTheRegistryHasItsRows compares the rows of the surfaces manage and console with the 163 of the
// specification's registry (testdata/registry.txt), by method, path and operation. The assistant's control
// endpoints are not part of it. Every other row must be marked as an addition.
func TestTheRegistryHasItsRows(t *testing.T) {
	text, err := os.ReadFile("testdata/registry.txt")
	if err != nil {
		t.Fatal(err)
	}
	registry := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		registry[strings.Join(strings.Fields(line), " ")] = true
	}
	if len(registry) != 163 {
		t.Errorf("testdata/registry.txt has %d rows, want 163", len(registry))
	}
	var additions []string
	for _, row := range printedRows(t) {
		noun := strings.TrimPrefix(row.Operation, "console.")
		managed := row.Surface == route.Manage || row.Surface == route.Console
		if !managed || strings.HasPrefix(noun, "ai.") || strings.HasPrefix(noun, "approvals.") {
			if row.Addition {
				t.Errorf("%s is marked as an addition, but the registry does not count rows of its kind", row.Operation)
			}
			continue
		}
		name := row.Method + " " + row.Pattern() + " " + row.Operation
		switch {
		case registry[name] && row.Addition:
			t.Errorf("%s is in the registry and marked as an addition", name)
		case registry[name]:
			delete(registry, name)
		case row.Addition:
			additions = append(additions, row.Operation)
		default:
			t.Errorf("%s is not in the registry and lacks the mark Addition: true", name)
		}
	}
	for name := range registry {
		t.Errorf("%s is in the registry and not in the route table", name)
	}
	t.Logf("%d additions: %s", len(additions), strings.Join(additions, ", "))
}
