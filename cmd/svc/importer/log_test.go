package importer

import (
	"bytes"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImportFindsTheFormat imports logs and counts the arriving visitors.
func TestImportFindsTheFormat(t *testing.T) {
	t.Parallel()
	const request = ` - - [27/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 368 "-" "Mozilla/5.0"`
	clients := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"}
	file := func(line func(client string) string) string {
		name, content := filepath.Join(t.TempDir(), "access.log"), ""
		for _, client := range clients {
			content += line(client) + "\n"
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	vhost := func(client string) string { return "www.example.com " + client + request }
	proxied := func(client string) string { return "10.0.0.7" + request + ` "` + client + `"` }
	for _, test := range []struct {
		name     string
		line     func(client string) string
		args     []string
		notice   string
		summary  []string
		visitors []string
		err      string
	}{
		{"E1: a host before the address", vhost, nil, "format: vhost_combined\n", []string{"sent       4", "malformed  0"}, clients, ""},
		{"E3: the client in X-Forwarded-For", proxied, nil, "format: combined_xff\n", []string{"sent       4", "malformed  0"}, clients, ""},
		{"E1 with a named format", vhost, []string{"--format", "vhost_combined"}, "format: vhost_combined\n", []string{"sent       4"}, clients, ""},
		{"E1 with another format", vhost, []string{"--format", "combined"}, "", nil, nil, "has no line in the format combined"},
		{"E3 with another format", proxied, []string{"--format", "combined"}, "format: combined\n", []string{"sent       4"}, []string{"10.0.0.7"}, ""},
		{"no format", func(string) string { return "junk" }, nil, "", nil, nil, "has a known format; --format names one of combined_xff, combined, common,"},
		{"no page view", func(client string) string { return client + strings.Replace(request, "GET", "POST", 1) }, nil, "format: combined\n", []string{"sent       0", "skipped    4"}, nil, "no line that can be imported"},
	} {
		fake := &fakeIngest{t: t}
		server := httptest.NewServer(fake)
		t.Cleanup(server.Close)
		var out, notices bytes.Buffer
		err := Run(t.Context(), append([]string{"access-log", file(test.line), "--url", server.URL, "--key", "svc_sec_prod_x"}, test.args...), &out, &notices)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.Contains(notices.String(), test.notice) {
			t.Errorf("%s: %s", test.name, notices.String())
		}
		wantLines(t, out.String(), test.summary...)
		addresses, visitors := map[string]bool{}, map[string]bool{}
		for _, item := range fake.items {
			addresses[item.Context.IP], visitors[item.DistinctID] = true, true
		}
		if got := slices.Sorted(maps.Keys(addresses)); !slices.Equal(got, test.visitors) || len(visitors) != len(test.visitors) {
			t.Errorf("%s: addresses %q of %d visitors", test.name, got, len(visitors))
		}
	}
}

// TestImportsOfNothingFail imports files of each kind without any importable row.
func TestImportsOfNothingFail(t *testing.T) {
	t.Parallel()
	for what, content := range map[string]string{"events": "junk\n[1]\n\n", "people": "distinctId,plan\n,pro\n", "billing": "type,id\n"} {
		name := filepath.Join(t.TempDir(), what)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		fake := &fakeIngest{t: t}
		server := httptest.NewServer(fake)
		t.Cleanup(server.Close)
		var out, notices bytes.Buffer
		if err := Run(t.Context(), []string{what, name, "--url", server.URL, "--key", "svc_sec_prod_x"}, &out, &notices); err == nil || len(fake.items) > 0 {
			t.Errorf("%s: %v\n%s%s", what, err, out.String(), notices.String())
		} else {
			t.Logf("%s: %v", what, err)
		}
	}
}
