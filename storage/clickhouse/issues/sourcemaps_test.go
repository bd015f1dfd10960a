package issues

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain/issue"
)

func TestSourceMapsAreFoundByTheirKeys(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	put := func(app string, at time.Time, maps ...issue.SourceMap) {
		t.Helper()
		if err := db.PutSourceMaps(deadline(t), app, at, maps); err != nil {
			t.Fatal(err)
		}
	}
	put("app_1", at, issue.SourceMap{DebugID: "A", URL: "~/a.js", Release: "1", Content: []byte("old")}, issue.SourceMap{Content: []byte("lost")})
	put("app_1", at.Add(time.Second), issue.SourceMap{URL: "~/a.js", Release: "1", Content: []byte("new\x00\xff")})
	put("app_2", at, issue.SourceMap{DebugID: "a", Content: []byte("of another tenant")})
	put("app_1", at)
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"debug id":           {[]string{issue.DebugIDKey("a")}, "old"},
		"newest of a file":   {[]string{issue.ReleaseFileKey("1", "", "~/a.js")}, "new\x00\xff"},
		"first key that has": {[]string{issue.DebugIDKey("none"), issue.DebugIDKey("a"), issue.ReleaseFileKey("1", "", "~/a.js")}, "old"},
		"another release":    {[]string{issue.ReleaseFileKey("2", "", "~/a.js")}, ""},
	} {
		if got, err := db.SourceMap(deadline(t), "app_1", tc.keys); err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestPiecesOfUploads(t *testing.T) {
	db := open(t)
	content := bytes.Repeat([]byte{0, 255, '\n', '\t', '\\'}, 200_000)
	for range 2 {
		if err := db.PutChunk(deadline(t), "acme", "s1", time.Now(), content); err != nil {
			t.Fatal(err)
		}
	}
	if missing, err := db.MissingChunks(deadline(t), "acme", []string{"s1", "s2"}); err != nil || !slices.Equal(missing, []string{"s2"}) {
		t.Errorf("missing %v, %v", missing, err)
	}
	if missing, err := db.MissingChunks(deadline(t), "globex", []string{"s1"}); err != nil || !slices.Equal(missing, []string{"s1"}) {
		t.Errorf("of another organization missing %v, %v", missing, err)
	}
	if got, err := db.Chunk(deadline(t), "acme", "s1"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if got, err := db.Chunk(deadline(t), "globex", "s1"); err != nil || got != nil {
		t.Errorf("got %d bytes of another organization, %v", len(got), err)
	}
}

// TestPiecesAreCounted stores pieces that are short until they are unpacked, counts them, and releases them.
func TestPiecesAreCounted(t *testing.T) {
	db := open(t)
	const size = 8 << 20
	at := time.Now()
	for n := range 4 {
		content := make([]byte, size)
		content[0] = byte(n)
		if err := db.PutChunk(deadline(t), "acme", fmt.Sprint("s", n), at, content); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int64) {
		t.Helper()
		if sum, err := db.ChunkBytes(deadline(t), "acme"); err != nil || sum != want {
			t.Errorf("%d bytes, want %d: %v", sum, want, err)
		}
	}
	count(4 * size)
	if disk := ask[uint64](t, db, "SELECT sum(bytes_on_disk) FROM system.parts WHERE database = currentDatabase() AND table = 'upload_chunks' AND active"); disk > 1<<20 {
		t.Errorf("%d bytes of nothing take %d on disk", 4*size, disk)
	}
	if err := db.ReleaseChunks(deadline(t), "acme", []string{"s0", "s1"}, at); err != nil {
		t.Fatal(err)
	}
	count(2 * size)
	if missing, err := db.MissingChunks(deadline(t), "acme", []string{"s0", "s1", "s2"}); err != nil || !slices.Equal(missing, []string{"s0", "s1"}) {
		t.Errorf("missing %v, %v", missing, err)
	}
	if content, err := db.Chunk(deadline(t), "acme", "s0"); err != nil || len(content) != 0 {
		t.Errorf("%d bytes of a released piece, %v", len(content), err)
	}
	maps := []issue.SourceMap{{DebugID: "d1", URL: "~/a.js", Release: "1", Content: make([]byte, 1000)}}
	for n := range 2 {
		if err := db.PutSourceMaps(deadline(t), "app_1", at.Add(time.Duration(n)*time.Second), maps); err != nil {
			t.Fatal(err)
		}
	}
	want := int64(1000 * len(maps[0].Keys()))
	if sum, err := db.SourceMapBytes(deadline(t), "app_1"); err != nil || sum != want {
		t.Errorf("maps have %d bytes, want %d: %v", sum, want, err)
	}
}
