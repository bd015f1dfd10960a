package importer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/cmd/svc/cli"
	"svc/domain/event"
)

// fakeIngest answers like the batch endpoint and records the items that it receives.
type fakeIngest struct {
	t *testing.T
	// answer may answer a request itself, by its number from 1.
	answer func(number int, w http.ResponseWriter, items []pageItem) bool

	lock     sync.Mutex
	requests int
	largest  int
	items    []pageItem
}

func (f *fakeIngest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/batch" || r.Header.Get("Authorization") != "Bearer svc_sec_prod_x" || r.Header.Get("Content-Encoding") != "gzip" {
		f.t.Errorf("unexpected request %s %v", r.URL.Path, r.Header)
	}
	unzip, err := gzip.NewReader(r.Body)
	if err != nil {
		f.t.Error(err)
		return
	}
	var body struct{ Items []pageItem }
	if err := json.NewDecoder(unzip).Decode(&body); err != nil {
		f.t.Error(err)
		return
	}
	f.lock.Lock()
	f.requests++
	number := f.requests
	f.lock.Unlock()
	if f.answer != nil && f.answer(number, w, body.Items) {
		return
	}
	f.lock.Lock()
	f.items = append(f.items, body.Items...)
	f.largest = max(f.largest, len(body.Items))
	f.lock.Unlock()
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"accepted":%d,"rejected":[],"requestId":"req_1"}`, len(body.Items))
}

// logFile writes a log of page views, one second apart, with alternating visitors.
func logFile(t *testing.T, lines, visitors int) string {
	t.Helper()
	var content strings.Builder
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for i := range lines {
		fmt.Fprintf(&content, "10.0.0.%d - - [%s] \"GET /page/%d HTTP/1.1\" 200 1 \"-\" \"agent\"\n",
			i%visitors, start.Add(time.Duration(i)*time.Second).Format("02/Jan/2006:15:04:05 -0700"), i)
	}
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// runAgainst runs the import against a fake server.
func runAgainst(ctx context.Context, t *testing.T, fake *fakeIngest, args ...string) (stdout string, err error) {
	t.Helper()
	fake.t = t
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	var out, notices bytes.Buffer
	err = Run(ctx, append([]string{"access-log", "--url", server.URL, "--key", "svc_sec_prod_x"}, args...), &out, &notices)
	t.Log(notices.String())
	return out.String(), err
}

func wantLines(t *testing.T, stdout string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains(stdout, line+"\n") {
			t.Errorf("the summary lacks %q:\n%s", line, stdout)
		}
	}
}

func TestImportOfTheExcerpt(t *testing.T) {
	fake := &fakeIngest{}
	stdout, err := runAgainst(t.Context(), t, fake, "../accesslog/testdata/excerpt.log", "--align-end", "2026-11-20T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, stdout, "sent       69", "skipped    115", "malformed  1", "rejected   0")
	ids := map[string]bool{}
	for _, item := range fake.items {
		ids[item.ID] = true
	}
	if len(fake.items) != 69 || len(ids) != 69 {
		t.Errorf("%d items of %d ids arrived", len(fake.items), len(ids))
	}

	again := &fakeIngest{}
	if _, err := runAgainst(t.Context(), t, again, "../accesslog/testdata/excerpt.log", "--align-end", "2026-11-20T12:00:00Z"); err != nil {
		t.Fatal(err)
	}
	for _, item := range again.items {
		if !ids[item.ID] {
			t.Errorf("the second import sent another id: %+v", item)
		}
	}
}

func TestImportedItem(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	line := `2001:db8::7 - - [17/May/2015:12:05:03 +0200] "GET /blog?utm_source=news HTTP/1.1" 200 5 "http://example.com/" "Mozilla/5.0"`
	tail := `1.2.3.4 - - [17/May/2015:10:05:13 +0000] "POST /form HTTP/1.1" 200 5 "-" "-"`
	if err := os.WriteFile(name, []byte("junk\n"+line+"\n"+tail+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fake := &fakeIngest{}
	stdout, err := runAgainst(t.Context(), t, fake, name, "--align-end", "2026-11-20T12:00:00+01:00", "--site", "https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, stdout, "sent       1", "skipped    1", "malformed  1", "rejected   0")
	want := pageItem{
		// printf '2\n%s' "$line" | sha256sum, and printf '%s\n%s' address agent | sha256sum
		Type: "page", ID: "log_626066fbe76b81687d8e3d0021023fff", DistinctID: "6d4d73bd6104fde0",
		Ts:  time.Date(2026, 11, 20, 10, 59, 50, 0, time.UTC), // the last line is 10 s later
		URL: "https://example.com/blog?utm_source=news", Path: "/blog", Referrer: "http://example.com/",
		Context: pageContext{IP: "2001:db8::7", UserAgent: "Mozilla/5.0"},
	}
	if len(fake.items) != 1 || fake.items[0] != want {
		t.Errorf("got  %+v\nwant %+v", fake.items, want)
	}
}

func TestImportKeepsTheOrderOfEachVisitor(t *testing.T) {
	fake := &fakeIngest{}
	stdout, err := runAgainst(t.Context(), t, fake, logFile(t, 9000, 50))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, stdout, "sent       9000", "skipped    0", "malformed  0", "rejected   0")
	if fake.largest > event.MaxBatchItems || fake.requests < 9 {
		t.Errorf("%d requests of up to %d items", fake.requests, fake.largest)
	}
	last := map[string]time.Time{}
	for _, item := range fake.items {
		if !item.Ts.After(last[item.DistinctID]) {
			t.Fatalf("%s came after %s", item.Ts, last[item.DistinctID])
		}
		last[item.DistinctID] = item.Ts
	}
}

func TestImportRetriesWhatMayHelp(t *testing.T) {
	fake := &fakeIngest{answer: func(number int, w http.ResponseWriter, _ []pageItem) bool {
		switch number {
		case 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			panic(http.ErrAbortHandler) // the connection breaks
		default:
			return false
		}
		return true
	}}
	stdout, err := runAgainst(t.Context(), t, fake, logFile(t, 20, 1))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, stdout, "sent       20", "rejected   0")
	if len(fake.items) != 20 || fake.requests != 4 {
		t.Errorf("%d items in %d requests", len(fake.items), fake.requests)
	}
}

func TestImportCountsRejectedItems(t *testing.T) {
	some := &fakeIngest{answer: func(_ int, w http.ResponseWriter, _ []pageItem) bool {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":18,"rejected":[{"index":0,"code":"too_long","message":"m"},{"index":1,"code":"too_old","message":"m"}]}`)
		return true
	}}
	stdout, err := runAgainst(t.Context(), t, some, logFile(t, 20, 1))
	if err == nil || !strings.Contains(err.Error(), "--align-end now") {
		t.Error("got", err)
	}
	wantLines(t, stdout, "sent       18", "rejected   2 (too_long 1, too_old 1)")

	all := &fakeIngest{answer: func(_ int, w http.ResponseWriter, _ []pageItem) bool {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":"invalid_request","detail":"none","accepted":0,"rejected":[{"index":0,"code":"too_long","message":"m"}]}`)
		return true
	}}
	stdout, err = runAgainst(t.Context(), t, all, logFile(t, 1, 1))
	if err == nil || !strings.Contains(err.Error(), "took none") {
		t.Error("got", err)
	}
	wantLines(t, stdout, "sent       0", "rejected   1 (too_long 1)")
}

func TestImportEndsOnARefusal(t *testing.T) {
	fake := &fakeIngest{answer: func(_ int, w http.ResponseWriter, _ []pageItem) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"unauthorized","detail":"The ingest key is unknown or revoked."}`)
		return true
	}}
	stdout, err := runAgainst(t.Context(), t, fake, logFile(t, 5000, 100))
	if err == nil || !strings.Contains(err.Error(), "unknown or revoked. Is the key one of this server's?") {
		t.Error("got", err)
	}
	wantLines(t, stdout, "sent       0")
}

func TestImportFinishesItsRequestsWhenInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	fake := &fakeIngest{answer: func(int, http.ResponseWriter, []pageItem) bool {
		interrupt()
		return false
	}}
	stdout, err := runAgainst(ctx, t, fake, logFile(t, 9000, 1), "--align-end", "2026-11-20T12:00:00Z")
	if err == nil || !strings.Contains(err.Error(), "again with --align-end 2026-11-20T12:00:00Z") {
		t.Error("got", err)
	}
	wantLines(t, stdout, fmt.Sprintf("sent       %d", len(fake.items)))
	if len(fake.items) == 0 || len(fake.items) == 9000 {
		t.Errorf("%d items arrived", len(fake.items))
	}
}

func TestImportFlags(t *testing.T) {
	t.Parallel()
	bootstrap := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(bootstrap, []byte(`{"url":"http://localhost:9000","keys":{"production":{"public":"svc_pub_prod_p","secret":"svc_sec_prod_s"},"staging":{"secret":"svc_sec_stg_s"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, args string
		env        map[string]string
		want       importFlags
		err        string
	}{
		{"key by environment", "f", map[string]string{"SVC_KEY": "svc_sec_prod_e"}, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_e", url: "http://127.0.0.1:8080"}, ""},
		{"flags after the file", "f --key svc_sec_prod_k --url http://h:1/", nil, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://h:1"}, ""},
		{"bootstrap", "--bootstrap " + bootstrap + " f", map[string]string{"SVC_KEY": "svc_sec_prod_e"}, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_s", url: "http://localhost:9000"}, ""},
		{"bootstrap by environment", "f --env staging", map[string]string{"SVC_BOOTSTRAP_FILE": bootstrap}, importFlags{what: importsLog, file: "f", key: "svc_sec_stg_s", url: "http://localhost:9000"}, ""},
		{"key over bootstrap", "f --key svc_sec_prod_k --bootstrap " + bootstrap, nil, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://127.0.0.1:8080"}, ""},
		{"align", "f --key svc_sec_prod_k --align-end 2026-11-20T13:00:00+01:00", nil, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://127.0.0.1:8080", align: true, end: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, ""},
		{"site", "f --key svc_sec_prod_k --site https://example.com/", nil, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://127.0.0.1:8080", site: "https://example.com"}, ""},

		{"listener by environment", "f --key svc_sec_prod_k", map[string]string{"SVC_HTTP_ADDR": ":9000"}, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://localhost:9000"}, ""},
		{"listener with an address", "f --key svc_sec_prod_k", map[string]string{"SVC_HTTP_ADDR": "10.0.0.1:80"}, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://10.0.0.1:80"}, ""},
		{"flag over listener", "f --key svc_sec_prod_k --url http://h:1", map[string]string{"SVC_HTTP_ADDR": ":9000"}, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://h:1"}, ""},
		{"bootstrap over listener", "--bootstrap " + bootstrap + " f", map[string]string{"SVC_HTTP_ADDR": ":9001"}, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_s", url: "http://localhost:9000"}, ""},
		{"format", "f --key svc_sec_prod_k --format iis", nil, importFlags{what: importsLog, file: "f", key: "svc_sec_prod_k", url: "http://127.0.0.1:8080", format: "iis"}, ""},

		{"unknown format", "f --key svc_sec_prod_k --format w3c", nil, importFlags{}, "--format w3c is none of combined_xff, combined,"},
		{"no file", "--key svc_sec_prod_k", nil, importFlags{}, "name one file"},
		{"two files", "a b --key svc_sec_prod_k", nil, importFlags{}, "2 are named"},
		{"no key", "f", nil, importFlags{}, "no ingest key"},
		{"public key", "f --key svc_pub_prod_k", nil, importFlags{}, "no secret ingest key"},
		{"environment without key", "f --env nowhere --bootstrap " + bootstrap, nil, importFlags{}, `"nowhere"`},
		{"no bootstrap file", "f --bootstrap nowhere.json", nil, importFlags{}, "nowhere.json"},
		{"bad time", "f --key svc_sec_prod_k --align-end yesterday", nil, importFlags{}, "neither now nor a time like"},
		{"bad address", "f --key svc_sec_prod_k --url localhost:8080", nil, importFlags{}, "no http or https address"},
		{"unknown flag", "f --speed 3", nil, importFlags{}, "speed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseImportFlags(importsLog, strings.Fields(test.args), func(name string) (string, bool) {
				value, ok := test.env[name]
				return value, ok
			})
			switch {
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got error %v, want %q", err, test.err)
			case test.err == "" && (err != nil || got != test.want):
				t.Errorf("got  %+v %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestImportExplainsItself(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"access-log", "--help"}} {
		var out bytes.Buffer
		if err := Run(t.Context(), args, &out, io.Discard); err != nil || !strings.Contains(out.String(), "--align-end") {
			t.Errorf("%v: %v\n%s", args, err, out.String())
		}
	}
	for _, args := range [][]string{nil, {"sql"}, {"access-log"}} {
		var help bytes.Buffer
		if err := Run(t.Context(), args, io.Discard, &help); !errors.Is(err, cli.ErrUsage) || help.Len() == 0 {
			t.Errorf("%v: %v\n%s", args, err, help.String())
		}
	}
}
