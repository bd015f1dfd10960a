package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/domain/issue"
)

// missingSource is a map whose one segment names a missing source.
const missingSource = `{"version":3,"sources":["a.ts"],"names":[],"mappings":"ACAA"}`

// mapBundle packs the bundle of one file with its map, like sentry-cli.
func mapBundle(t *testing.T, debugID, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	manifest, err := json.Marshal(map[string]any{"files": map[string]any{
		"a.js":     map[string]any{"type": "minified_source", "url": "~/a.js", "headers": map[string]string{"sourcemap": "a.js.map", "debug-id": debugID}},
		"a.js.map": map[string]any{"type": "source_map", "url": "~/a.js.map", "headers": map[string]string{"debug-id": debugID}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"manifest.json": string(manifest), "a.js": "a()", "a.js.map": content} {
		file, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestABrokenMapIsRefused uploads files that are not source maps.
func TestABrokenMapIsRefused(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	const base = "/api/0/organizations/acme"
	for content, reason := range map[string]string{
		missingSource:         "the source map ~/a.js.map is refused: line 1, segment 1 of the mappings: it names the source 1 of 1",
		"<!doctype html>":     "the source map ~/a.js.map is refused: it is no JSON of a source map",
		`{"version":3}`:       "it has no mappings",
		`{"hello":"nothing"}`: "its version is 0",
	} {
		bundle := mapBundle(t, "11111111-2222-3333-4444-555555555555", content)
		sum := sha1Hex(bundle)
		body, kind := chunkForm(t, sum, bundle)
		if got := s.call("POST", base+"/chunk-upload/", s.boot.Token, body, map[string]string{"Content-Type": kind}); got.status != 200 {
			t.Fatalf("sending a piece: %d %s", got.status, got.body)
		}
		spec := fmt.Appendf(nil, `{"checksum":%[1]q,"chunks":[%[1]q],"projects":["web"],"version":"shop@1"}`, sum)
		got := object(t, s.call("POST", base+"/artifactbundle/assemble/", s.boot.Token, spec, nil).body)
		if detail, _ := got["detail"].(string); got["state"] != "error" || !strings.Contains(detail, reason) {
			t.Errorf("%s is answered %v, want %q", content, got, reason)
		}
	}
}

// TestABrokenMapLosesNoError has a broken map in the store that was uploaded before maps were checked. Errors in its
// file, and errors that arrive with them, are stored on every path.
func TestABrokenMapLosesNoError(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	app := object(t, s.call("GET", appPath, s.boot.Token, nil, nil).body)["id"].(string)
	const debugID = "11111111-2222-3333-4444-555555555555"
	err := s.node.db.PutSourceMaps(t.Context(), app, time.Now(), []issue.SourceMap{{DebugID: debugID, URL: "~/a.js", Release: "shop@1", Content: []byte(missingSource)}})
	if err != nil {
		t.Fatal(err)
	}
	stack := `"stacktrace":{"frames":[{"filename":"https://shop.example/a.js","function":"t","lineno":1,"colno":1,"in_app":true}]}`
	event := `{"event_id":"%032d","release":"shop@1","exception":{"values":[{"type":"TypeError","value":"%s",` + stack + `}]}}`
	_, key, path := s.dsn()
	for name, got := range map[string]answer{
		"envelope": s.call("POST", path+"/envelope/?sentry_key="+key, "", fmt.Appendf(nil, "{}\n{\"type\":\"event\"}\n"+event, 1, "by envelope"), nil),
		"store":    s.call("POST", path+"/store/?sentry_key="+key, "", fmt.Appendf(nil, event, 2, "by store"), nil),
		"batch": s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, []byte(`{"items":[
			{"type":"error","name":"TypeError","message":"by batch","release":"shop@1","frames":[{"file":"https://shop.example/a.js","function":"t","line":1,"column":1}]},
			{"type":"error","name":"TypeError","message":"beside it"}]}`), nil),
	} {
		if got.status != 200 && got.status != 202 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	found := s.issues(4)
	for _, title := range []string{"TypeError: by envelope", "TypeError: by store", "TypeError: by batch"} {
		frame := s.occurrence(found[title])["frames"].([]any)[0].(map[string]any)
		if unmapped, _ := frame["unmapped"].(string); frame["file"] != "https://shop.example/a.js" || !strings.Contains(unmapped, "it names the source 1 of 1") {
			t.Errorf("%s: the frame is %v", title, frame)
		}
	}
	if found["TypeError: beside it"] == nil {
		t.Errorf("the other error of the batch is lost: %v", found)
	}
}
