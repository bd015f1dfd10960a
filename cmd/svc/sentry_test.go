package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	sentrygo "github.com/getsentry/sentry-go"

	"svc/storage/kafka/broker"
)

// dsn mints a public key and returns its DSN, with its parts.
func (s *server) dsn() (dsn, key, path string) {
	s.t.Helper()
	got := s.call("POST", appPath+"/keys", s.boot.Token, []byte(`{"kind":"public","environment":"production","label":"sentry"}`), nil)
	if got.status != 201 {
		s.t.Fatalf("minting a key: %d %s", got.status, got.body)
	}
	dsn, _ = object(s.t, got.body)["dsn"].(string)
	match := regexp.MustCompile(`^http://(svc_pub_prod_\w+)@[^/]+(/sentry)/(\d+)$`).FindStringSubmatch(dsn)
	if match == nil {
		s.t.Fatalf("the DSN is %q", dsn)
	}
	return dsn, match[1], match[2] + "/api/" + match[3]
}

// envelope sends an envelope like an SDK that puts its key in the query.
func (s *server) envelope(body []byte) answer {
	s.t.Helper()
	_, key, path := s.dsn()
	return s.call("POST", path+"/envelope/?sentry_version=7&sentry_key="+key, "", body, nil)
}

// issues waits until there are count issues of any status, and returns their rows by title.
func (s *server) issues(count int) map[string]map[string]any {
	s.t.Helper()
	found := map[string]map[string]any{}
	eventually(s.t, fmt.Sprintf("there are %d issues", count), func() error {
		rows, _ := s.listed("status=all&limit=100")
		if len(rows) < count {
			return fmt.Errorf("there are %d", len(rows))
		}
		clear(found)
		for _, row := range rows {
			found[row["title"].(string)] = row
		}
		return nil
	})
	return found
}

// occurrence reads the newest occurrence of an issue in full, once everything is stored.
func (s *server) occurrence(issue map[string]any) map[string]any {
	s.t.Helper()
	s.settled()
	events := s.get(errorsPath + "/" + issue["id"].(string) + "/events?limit=1")
	row := events["data"].([]any)[0].(map[string]any)
	return s.get(errorsPath + "/" + issue["id"].(string) + "/events/" + row["id"].(string))
}

// TestTheGoSDK sends errors with the real sentry-go.
func TestTheGoSDK(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	dsn, _, _ := s.dsn()
	client, err := sentrygo.NewClient(sentrygo.ClientOptions{
		Dsn: dsn, Release: "shop@1.2.3", Environment: "qa", ServerName: "web-1", AttachStacktrace: true, Transport: sentrygo.NewHTTPSyncTransport(),
	})
	if err != nil {
		t.Fatal(err)
	}
	hub := sentrygo.NewHub(client, sentrygo.NewScope())
	hub.Scope().SetUser(sentrygo.User{ID: "u1", Email: "ada@example.com", IPAddress: "203.0.113.9"})
	hub.Scope().SetTag("plan", "pro")
	hub.Scope().AddBreadcrumb(&sentrygo.Breadcrumb{Category: "ui", Message: "clicked", Timestamp: time.Now()}, 10)
	if hub.CaptureException(fmt.Errorf("paying order 17: %w", os.ErrNotExist)) == nil || hub.CaptureMessage("disk is nearly full") == nil {
		t.Fatal("the SDK did not send")
	}
	found := s.issues(2)
	message := found["Message: disk is nearly full"]
	if message == nil || message["level"] != "info" {
		t.Errorf("the message is not there: %v", found)
	}
	issue := found["*fmt.wrapError: paying order 17: file does not exist"]
	if issue == nil {
		t.Fatalf("the error is not there: %v", found)
	}
	got := s.occurrence(issue)
	want := map[string]any{"level": "error", "handled": true, "release": "shop@1.2.3", "distinctId": "u1", "message": "paying order 17: file does not exist"}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	tags, crumbs, frames := got["tags"].(map[string]any), got["breadcrumbs"].([]any), got["frames"].([]any)
	if tags["plan"] != "pro" || tags["environment"] != "qa" || tags["server_name"] != "web-1" || len(crumbs) != 1 {
		t.Errorf("tags %v, breadcrumbs %v", tags, crumbs)
	}
	if top := frames[0].(map[string]any); !strings.Contains(top["function"].(string), "TestTheGoSDK") || top["inApp"] != true {
		t.Errorf("the frames begin with %v", top)
	}
}

// TestSentryRefusals checks the answer to each kind of invalid request.
func TestSentryRefusals(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	_, key, path := s.dsn()
	event := `{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","message":"m"}`
	good := "{}\n{\"type\":\"event\"}\n" + event
	keyed := "?sentry_key=" + key
	for name, tc := range map[string]struct {
		path, body string
		header     map[string]string
		status     int
		says       string
	}{
		"good":                 {path + "/envelope/" + keyed, good, nil, 200, `{"id":"9ec79c33ec9942ab8353589fcb2e04dc"}`},
		"without slash":        {path + "/envelope" + keyed, good, nil, 200, `{"id":`},
		"key in a header":      {path + "/envelope/", good, map[string]string{"X-Sentry-Auth": "Sentry sentry_version=7, sentry_key=" + key}, 200, `{"id":`},
		"key in the envelope":  {path + "/envelope/", strings.Replace(good, "{}", `{"dsn":"http://`+key+`@h`+strings.Replace(path, "/api", "", 1)+`"}`, 1), nil, 200, `{"id":`},
		"store":                {path + "/store/" + keyed, event, nil, 200, `{"id":"9ec79c33ec9942ab8353589fcb2e04dc"}`},
		"nothing in it":        {path + "/envelope/" + keyed, "{}", nil, 200, "{}"},
		"unknown item":         {path + "/envelope/" + keyed, "{}\n{\"type\":\"novelty\"}\nx", nil, 200, "{}"},
		"no key":               {path + "/envelope/", good, nil, 403, "No key was sent"},
		"unknown key":          {path + "/envelope/?sentry_key=svc_pub_prod_nobody", good, nil, 403, "unknown or revoked"},
		"two keys":             {path + "/envelope/" + keyed, good, map[string]string{"X-Sentry-Auth": "Sentry sentry_key=svc_pub_prod_other"}, 403, "two different keys"},
		"another ingest id":    {"/sentry/api/4711/envelope/" + keyed, good, nil, 403, "does not belong to the ingest id 4711"},
		"envelope is noise":    {path + "/envelope/" + keyed, "noise", nil, 400, "invalid envelope header"},
		"event is noise":       {path + "/envelope/" + keyed, "{}\n{\"type\":\"event\"}\nnoise", nil, 400, "invalid event"},
		"bad gzip":             {path + "/envelope/" + keyed, good, map[string]string{"Content-Encoding": "gzip"}, 400, "not valid gzip"},
		"unknown encoding":     {path + "/envelope/" + keyed, good, map[string]string{"Content-Encoding": "lzma"}, 415, "lzma"},
		"event too large":      {path + "/envelope/" + keyed, "{}\n{\"type\":\"event\"}\n{\"extra\":{\"a\":\"" + strings.Repeat("x", 1<<20) + "\"}}", nil, 413, "over 1048576 bytes"},
		"bomb":                 {path + "/envelope/" + keyed, string(zeros(t, 300<<20)), map[string]string{"Content-Encoding": "gzip"}, 413, "inflates to more than"},
		"nested deeply":        {path + "/envelope/" + keyed, "{}\n{\"type\":\"event\"}\n{\"message\":\"deep\",\"extra\":{\"a\":" + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}}", nil, 200, `{}`},
		"nested beyond reason": {path + "/envelope/" + keyed, "{}\n{\"type\":\"event\"}\n{\"extra\":" + strings.Repeat("[", 200_000), nil, 400, "invalid event"},
		"another origin":       {path + "/envelope/" + keyed, "{}", map[string]string{"Origin": "https://elsewhere.example"}, 200, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.call("POST", tc.path, "", []byte(tc.body), tc.header)
			if got.status != tc.status || !strings.Contains(string(got.body), tc.says) {
				t.Errorf("%d %s", got.status, got.body)
			}
			if hint := got.header.Get("X-Sentry-Error"); (got.status >= 400) != (hint != "") {
				t.Errorf("X-Sentry-Error is %q with %d", hint, got.status)
			}
		})
	}
	// The refused requests had no effect: one event id was sent five times.
	rows := s.issues(2)
	if row := rows["Message: m"]; row == nil || row["eventCount"] != 1.0 {
		t.Errorf("the issues are %v", rows)
	}
}

// zeros returns compressed zero bytes.
func zeros(t *testing.T, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHugeErrorsCostBoundedMemory sends much larger errors than permitted: their cost does not grow with their size.
func TestHugeErrorsCostBoundedMemory(t *testing.T) {
	const most = 160 << 20 // 20 MiB in growing bytes; reading all of it would take over 400
	s := startServer(t, t.TempDir(), nil)
	_, key, path := s.dsn()
	deep := "{}\n{\"type\":\"event\"}\n{\"extra\":" + strings.Repeat("[", 1_000_000)
	for name, tc := range map[string]struct {
		body     io.Reader
		encoding string
		status   int
	}{
		"200 MiB":               {io.LimitReader(spaces{}, 200<<20), "", 413},
		"300 MiB of gzip":       {bytes.NewReader(zeros(t, 300<<20)), "gzip", 413},
		"nested a million deep": {strings.NewReader(deep), "", 400},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.boot.URL+path+"/envelope/?sentry_key="+key, tc.body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Encoding", tc.encoding)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			response, err := http.DefaultClient.Do(request)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != tc.status {
				t.Errorf("the answer is %d, want %d", response.StatusCode, tc.status)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%d MiB were allocated", took>>20)
			}
		})
	}
}

// spaces is an endless reader of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestErrorsOverTheLimitPauseErrorsOnly sends more errors than a key may.
func TestErrorsOverTheLimitPauseErrorsOnly(t *testing.T) {
	s := startServer(t, t.TempDir(), map[string]string{"SVC_ERROR_LIMIT": "2"})
	_, key, path := s.dsn()
	send := func(body string) answer {
		return s.call("POST", path+"/envelope/?sentry_key="+key, "", []byte(body), nil)
	}
	for n := range 2 {
		if got := send(fmt.Sprintf("{}\n{\"type\":\"event\"}\n{\"message\":\"m\",\"event_id\":\"%032d\"}", n)); got.status != 200 {
			t.Fatalf("error %d: %d %s", n, got.status, got.body)
		}
	}
	got := send("{}\n{\"type\":\"event\"}\n{\"message\":\"one too many\"}")
	if got.status != 429 || got.header.Get("Retry-After") == "" || !regexp.MustCompile(`^[1-9]\d*:error:key:rate_limited$`).MatchString(got.header.Get("X-Sentry-Rate-Limits")) {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if got := send("{}\n{\"type\":\"session\"}\n{}"); got.status != 200 {
		t.Errorf("a session: %d %s", got.status, got.body)
	}
}

// TestErrorsSurviveTheLogsAbsence stops the log: errors are accepted, wait on disk, and are stored once each when the
// log returns.
func TestErrorsSurviveTheLogsAbsence(t *testing.T) {
	folder, addr := t.TempDir(), freeAddress(t)
	open := func() *broker.Broker {
		t.Helper()
		broker, err := broker.Open(broker.Config{Dir: folder, Topics: []string{ingestTopic}, Partitions: 4, Addr: addr, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return broker
	}
	broker := open()
	t.Cleanup(func() { _ = broker.Close() })
	s := startServer(t, t.TempDir(), map[string]string{"SVC_KAFKA_BROKERS": addr})
	_, key, path := s.dsn()
	send := func(n int) {
		t.Helper()
		body := fmt.Sprintf("{}\n{\"type\":\"event\"}\n{\"message\":\"while it was away\",\"event_id\":\"%032d\"}", n)
		if got := s.call("POST", path+"/envelope/?sentry_key="+key, "", []byte(body), nil); got.status != 200 {
			t.Fatalf("error %d: %d %s", n, got.status, got.body)
		}
	}
	send(0)
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 6; n++ {
		send(n)
	}
	if s.node.spool.Bytes() == 0 {
		t.Error("nothing is on disk")
	}
	broker = open()
	send(6)
	eventually(t, "all errors are stored", func() error {
		rows, _ := s.listed("status=all")
		if len(rows) != 1 || rows[0]["eventCount"] != 7.0 || s.node.spool.Bytes() != 0 {
			return fmt.Errorf("%v, %d bytes wait", rows, s.node.spool.Bytes())
		}
		return nil
	})
}

// TestARedeployIsNoNewIssue uploads the source maps of two builds of the same code like sentry-cli, and sends the same
// error from both.
func TestARedeployIsNoNewIssue(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.upload("testdata/sourcemaps/first.bundle", "shop@1")
	s.upload("testdata/sourcemaps/second.bundle", "shop@2")
	frame := func(function string, line, column int) map[string]any {
		return map[string]any{"filename": "https://shop.example/app.js", "function": function, "lineno": line, "colno": column, "in_app": true}
	}
	for n, build := range []struct {
		release, debugID string
		frames           []any
	}{
		{"shop@1", "a777ec61-fbb2-5716-bc3e-6bfe40bb7cbb", []any{frame("o", 3, 121), frame("t", 3, 34)}},
		{"shop@2", "", []any{frame("t", 1, 124), frame("n", 1, 34)}},
	} {
		event := map[string]any{
			"event_id": fmt.Sprintf("%032d", n), "platform": "javascript", "release": build.release,
			"exception":  map[string]any{"values": []any{map[string]any{"type": "TypeError", "value": "negative amount -2", "stacktrace": map[string]any{"frames": build.frames}}}},
			"debug_meta": map[string]any{"images": []any{map[string]any{"type": "sourcemap", "code_file": "https://shop.example/app.js", "debug_id": build.debugID}}},
		}
		encoded, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.envelope(append([]byte("{}\n{\"type\":\"event\"}\n"), encoded...)); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	eventually(t, "both are stored", func() error {
		if rows, _ := s.listed("status=all"); len(rows) == 0 || rows[0]["eventCount"] != 2.0 && len(rows) < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	rows, _ := s.listed("status=all")
	if len(rows) != 1 || rows[0]["culprit"] != "chargeCard (../src/pay.ts)" {
		t.Fatalf("the issues are %v", rows)
	}
	frames := s.occurrence(rows[0])["frames"]
	want := []any{
		map[string]any{"file": "../src/pay.ts", "function": "chargeCard", "line": 3.0, "column": 11.0, "inApp": true},
		map[string]any{"file": "../src/pay.ts", "function": "checkout", "line": 9.0, "column": 38.0, "inApp": true},
	}
	if !reflect.DeepEqual(frames, want) {
		t.Errorf("frames %v", frames)
	}
}

// upload sends a bundle the way sentry-cli 3.8.0 does.
func (s *server) upload(file, release string) {
	s.t.Helper()
	bundle, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		s.t.Fatal(err)
	}
	const base = "/api/0/organizations/acme"
	terms := s.call("GET", base+"/chunk-upload/", s.boot.Token, nil, nil)
	if url := object(s.t, terms.body)["url"]; terms.status != 200 || url != s.boot.URL+base+"/chunk-upload/" {
		s.t.Fatalf("the terms are %d %s", terms.status, terms.body)
	}
	sum := sha1Hex(bundle)
	spec := fmt.Appendf(nil, `{"checksum":%[1]q,"chunks":[%[1]q],"projects":["web"],"version":%[2]q}`, sum, release)
	assemble := func(state string) {
		s.t.Helper()
		got := s.call("POST", base+"/artifactbundle/assemble/", s.boot.Token, spec, nil)
		if got.status != 200 || object(s.t, got.body)["state"] != state {
			s.t.Fatalf("assembling: %d %s, want %s", got.status, got.body, state)
		}
	}
	assemble("not_found")
	body, kind := chunkForm(s.t, sum, bundle)
	if got := s.call("POST", base+"/chunk-upload/", s.boot.Token, body, map[string]string{"Content-Type": kind}); got.status != 200 {
		s.t.Fatalf("sending a piece: %d %s", got.status, got.body)
	}
	assemble("ok")
}

// TestUploadsAreGuarded checks who may not upload, and which uploads are refused.
func TestUploadsAreGuarded(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	const base = "/api/0/organizations/acme"
	body, kind := chunkForm(t, sha1Hex([]byte("another")), []byte("content"))
	form := map[string]string{"Content-Type": kind}
	for name, tc := range map[string]struct {
		method, path, token string
		body                []byte
		header              map[string]string
		status              int
	}{
		"no token":           {"GET", base + "/chunk-upload/", "", nil, nil, 401},
		"ingest key":         {"GET", base + "/chunk-upload/", s.boot.Keys["production"].Secret, nil, nil, 401},
		"other organization": {"GET", "/api/0/organizations/globex/chunk-upload/", s.boot.Token, nil, nil, 404},
		"wrong name":         {"POST", base + "/chunk-upload/", s.boot.Token, body, form, 400},
		"no form":            {"POST", base + "/chunk-upload/", s.boot.Token, []byte("{}"), nil, 400},
		"unknown project":    {"POST", base + "/artifactbundle/assemble/", s.boot.Token, []byte(`{"checksum":"x","chunks":["x"],"projects":["moon"]}`), nil, 404},
		"no chunks":          {"POST", base + "/artifactbundle/assemble/", s.boot.Token, []byte(`{"checksum":"x","projects":["web"]}`), nil, 400},
		"noise":              {"POST", base + "/artifactbundle/assemble/", s.boot.Token, []byte(`{`), nil, 400},
	} {
		if got := s.call(tc.method, tc.path, tc.token, tc.body, tc.header); got.status != tc.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
