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
	var out bytes.Buffer
	for _, row := range rows {
		fmt.Fprintf(&out, "%-6s %-58s %-24s scope=%s permission=%s module=%s role=%s effect=%s rate=%s\n",
			row.Method, row.Pattern(), row.Operation, row.Scope, row.Permission, row.Module, row.Role, row.Effect, row.Rate)
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
