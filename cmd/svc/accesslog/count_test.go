package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"svc/cmd/svc/accesslog"
)

// counted is the output of scripts/recount_access_log.py. That script shares no code with this package.
type counted struct {
	Lines, Sent, Skipped, Malformed int
	Visitors                        int
	VisitorSum                      string
	Paths                           int
	TopPaths                        map[string]int
	Days                            map[string]int
	WithReferrer                    int
	LastLine                        string
}

func TestCountsAgreeWithTheIndependentRecount(t *testing.T) {
	t.Parallel()
	t.Run("excerpt", func(t *testing.T) {
		t.Parallel()
		compare(t, "testdata/excerpt.log", "testdata/excerpt.json")
	})
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		compare(t, "../testdata/access.log.gz", "testdata/whole.json")
	})
}

// compare counts a log with this package and compares the result with the recount.
func compare(t *testing.T, log, recount string) {
	t.Helper()
	content, err := os.ReadFile(recount)
	if err != nil {
		t.Fatal(err)
	}
	var want counted
	if err := json.Unmarshal(content, &want); err != nil {
		t.Fatal(err)
	}
	got := counted{TopPaths: map[string]int{}, Days: map[string]int{}}
	visitors, paths, sum := map[string]bool{}, map[string]int{}, uint64(0)
	parse := formatOf(t, lines(t, log), "combined")
	for _, raw := range lines(t, log) {
		got.Lines++
		line, ok := parse([]byte(raw))
		if ok {
			got.LastLine = line.Time.UTC().Format("2006-01-02T15:04:05Z")
		}
		switch {
		case !ok:
			got.Malformed++
			continue
		case !line.IsPageView():
			got.Skipped++
			continue
		}
		got.Sent++
		visitors[line.Visitor()] = true
		number, err := strconv.ParseUint(line.Visitor(), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += number
		paths[line.Path()]++
		got.Days[line.Time.UTC().Format("2006-01-02")]++
		if line.Referrer != "-" {
			got.WithReferrer++
		}
	}
	got.Visitors, got.Paths, got.VisitorSum = len(visitors), len(paths), fmt.Sprintf("%016x", sum)
	for path := range want.TopPaths {
		got.TopPaths[path] = paths[path]
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// formatOf returns the parser of the format that is detected in a log.
func formatOf(t *testing.T, all []string, want string) func(line []byte) (accesslog.Line, bool) {
	t.Helper()
	detector := accesslog.NewDetector()
	for _, line := range all {
		if !detector.Add([]byte(line)) {
			break
		}
	}
	format, ok := detector.Format()
	if !ok || format.Name != want {
		t.Fatalf("the format is %q, want %q", format.Name, want)
	}
	return format.Parser()
}

// lines reads a log to its end.
func lines(t *testing.T, name string) (all []string) {
	t.Helper()
	reader, err := accesslog.Open(name, accesslog.MaxLineBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*accesslog.MaxLineBytes)
	content := "one\n\n" + long + "\nlast"
	want := []string{"one", "", long[:accesslog.MaxLineBytes], "last"}
	var zipped bytes.Buffer
	for _, part := range []string{content[:2], content[2:]} { // two members, as log rotation may produce
		zip := gzip.NewWriter(&zipped)
		if _, err := io.WriteString(zip, part); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"plain": []byte(content), "gzip": zipped.Bytes()} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lines(t, file); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %d lines %.80q", name, len(got), got)
		}
	}
}

func TestReaderReportsACutGzipFile(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(zip, "one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cut.gz")
	if err := os.WriteFile(file, zipped.Bytes()[:zipped.Len()-6], 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := accesslog.Open(file, accesslog.MaxLineBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}()
	for err == nil {
		_, err = reader.Next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("got", err)
	}
}
