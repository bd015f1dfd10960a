package sentry_test

import (
	"archive/zip"
	"bytes"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"svc/http/sentry"
)

// TestBundleOfTheRealClient reads an upload of sentry-cli 3.8.0.
func TestBundleOfTheRealClient(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/cli/bundle.bin")
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := sentry.ParseBundle(data)
	if err != nil {
		t.Fatal(err)
	}
	if bundle.Release != "shop@1.2.3" || bundle.Dist != "" || len(bundle.Maps) != 1 {
		t.Fatalf("got %+v", bundle)
	}
	one := bundle.Maps[0]
	if one.DebugID != "a777ec61-fbb2-5716-bc3e-6bfe40bb7cbb" || one.URL != "~/app.js" || !strings.Contains(string(one.Content), "chargeCard") {
		t.Errorf("got %s %s %s", one.DebugID, one.URL, one.Content)
	}
}

// zipped makes an archive of files.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, content := range files {
		file, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParseBundle(t *testing.T) {
	t.Parallel()
	const file = `{"type":"minified_source","url":"~/js/a.js","headers":{"Sourcemap":"../js/a.js.map"}}`
	for name, tc := range map[string]struct {
		files map[string]string
		url   string
		err   string
	}{
		"without debug ids": {
			files: map[string]string{
				"manifest.json": `{"release":"1","files":{"f/a.js":{"type":"minified_source","url":"~/js/a.js","headers":{"Sourcemap":"a.js.map"}},"f/m":{"type":"source_map","url":"~/js/a.js.map"}}}`,
				"f/m":           "{}",
			},
			url: "~/js/a.js",
		},
		"nobody uses the map": {
			files: map[string]string{"manifest.json": `{"files":{"f/a.js":` + file + `,"f/m":{"type":"source_map","url":"~/b.js.map"}}}`, "f/m": "{}"},
		},
		"no manifest":    {files: map[string]string{"x": "y"}, err: "the bundle lacks a file that its manifest needs"},
		"manifest noise": {files: map[string]string{"manifest.json": "x"}, err: "the bundle's manifest is no JSON"},
		"file missing":   {files: map[string]string{"manifest.json": `{"files":{"f/m":{"type":"source_map"}}}`}, err: "the bundle lacks a file that its manifest needs"},
		"bomb": {
			files: map[string]string{"manifest.json": `{"files":{"f/m":{"type":"source_map"}}}`, "f/m": strings.Repeat("0", 65<<20)},
			err:   "f/m inflates beyond the limit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bundle, err := sentry.ParseBundle(zipped(t, tc.files))
			if message := text(err); message != tc.err {
				t.Fatalf("failed with %q, want %q", message, tc.err)
			}
			if err == nil && (len(bundle.Maps) != 1 || bundle.Maps[0].URL != tc.url) {
				t.Errorf("got %+v", bundle)
			}
		})
	}
	if _, err := sentry.ParseBundle([]byte("SYSBxxxx no archive")); text(err) != "the bundle is no zip archive" {
		t.Errorf("got %v", err)
	}
}

// FuzzParseBundle checks that reading any bundle ends within its bounds.
func FuzzParseBundle(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add(zipped(f, map[string]string{"manifest.json": strings.Repeat("[", 1<<20)}))
	f.Add(zipped(f, map[string]string{"manifest.json": `{"files":{"f/m":{"type":"source_map","url":"~/b.js.map"}}}`, "f/m": "{}"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := sentry.ParseBundle(data); err != nil && text(err) == "" {
			t.Errorf("no reason: %v", err)
		}
	})
}
