package sentry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/http/sentry"
)

func parse(t *testing.T, payload string) *sentry.Event {
	t.Helper()
	event, err := sentry.ParseEvent([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return event
}

func yes() *bool { value := true; return &value }

func TestParseEventReadsEveryField(t *testing.T) {
	t.Parallel()
	got := parse(t, `{
		"event_id":"9EC79C33-EC99-42AB-8353-589FCB2E04DC","timestamp":1763640000.25,"level":"fatal","platform":"node","release":"shop@1.2.3","dist":"7",
		"environment":"qa","server_name":"web-1","transaction":"GET /","logger":"app","message":"text","fingerprint":["{{ default }}",7],
		"tags":{"plan":"pro","n":3,"ok":true},"extra":{"cart":{"n":3}},"contexts":{"response":{"status_code":502},"os":{"name":"Linux"}},
		"user":{"id":12,"email":"a@b.example","username":"ann","ip_address":"203.0.113.9"},
		"request":{"method":"POST","url":"https://shop.example/pay","query_string":"a=1","headers":[["User-Agent","UA"],["Referer","https://r.example/"]],"data":{}},
		"breadcrumbs":{"values":[{"timestamp":"2025-11-20T12:00:00Z","type":"http","category":"fetch","level":"info","message":"m","data":{"url":"/x"}}]},
		"exception":{"values":[
			{"type":"TypeError","value":"cause","mechanism":{"type":"chained","handled":true}},
			{"type":"Error","value":"outer","module":"pay","mechanism":{"type":"onunhandledrejection","handled":false},
			 "stacktrace":{"frames":[{"filename":"node:internal/x","function":"run","lineno":1,"colno":2,"in_app":false},{"filename":"app.js","abs_path":"/srv/app.js","function":"pay","module":"app","lineno":"10","colno":5,"in_app":true},{"function":"last"}]}}]},
		"debug_meta":{"images":[{"type":"sourcemap","code_file":"https://shop.example/app.js","debug_id":"ABC"},{"type":"elf","code_file":"x","debug_id":"y"}]},
		"sdk":{"name":"sentry.javascript.node","version":"10.78.0"},"modules":{"a":"1"}}`)
	no := false
	want := &sentry.Event{
		ID: "9ec79c33ec9942ab8353589fcb2e04dc", Timestamp: time.UnixMilli(1763640000250).UTC(), Level: "fatal", Platform: "node", Release: "shop@1.2.3", Dist: "7",
		Environment: "qa", ServerName: "web-1", Transaction: "GET /", Logger: "app", Message: "text", Fingerprint: []string{"{{ default }}", "7"},
		Tags: map[string]string{"plan": "pro", "n": "3", "ok": "true"}, Extra: json.RawMessage(`{"cart":{"n":3}}`),
		Contexts:    map[string]json.RawMessage{"response": json.RawMessage(`{"status_code":502}`), "os": json.RawMessage(`{"name":"Linux"}`)},
		User:        sentry.User{ID: "12", Email: "a@b.example", Username: "ann", IP: "203.0.113.9"},
		Request:     sentry.Request{Method: "POST", URL: "https://shop.example/pay", Query: "a=1", UserAgent: "UA", Referrer: "https://r.example/", Status: 502, Headers: map[string]string{"User-Agent": "UA", "Referer": "https://r.example/"}, Data: json.RawMessage(`{}`)},
		Breadcrumbs: []sentry.Breadcrumb{{Timestamp: time.Date(2025, 11, 20, 12, 0, 0, 0, time.UTC), Type: "http", Category: "fetch", Level: "info", Message: "m", Data: json.RawMessage(`{"url":"/x"}`)}},
		Exceptions: []sentry.Exception{
			{Type: "TypeError", Value: "cause", Mechanism: "chained", Handled: true, Frames: []sentry.Frame{}},
			{Type: "Error", Value: "outer", Module: "pay", Mechanism: "onunhandledrejection", Handled: false, Frames: []sentry.Frame{
				{File: "node:internal/x", Function: "run", Line: 1, Column: 2, InApp: &no},
				{File: "app.js", AbsPath: "/srv/app.js", Function: "pay", Module: "app", Line: 10, Column: 5, InApp: yes()},
				{Function: "last"},
			}},
		},
		DebugIDs: map[string]string{"https://shop.example/app.js": "abc"},
		SDK:      sentry.SDK{Name: "sentry.javascript.node", Version: "10.78.0"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestParseEventReadsEveryForm covers the forms in which SDKs write the same value, and checks that an invalid one
// costs only its field.
func TestParseEventReadsEveryForm(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload string
		see     func(e *sentry.Event) any
		want    any
	}{
		"level default":             {`{}`, func(e *sentry.Event) any { return e.Level }, "error"},
		"RFC 3339":                  {`{"timestamp":"2026-11-20T12:00:00.5+01:00"}`, func(e *sentry.Event) any { return e.Timestamp }, time.Date(2026, 11, 20, 11, 0, 0, 5e8, time.UTC)},
		"time without zone":         {`{"timestamp":"2026-11-20T12:00:00"}`, func(e *sentry.Event) any { return e.Timestamp }, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)},
		"impossible time":           {`{"timestamp":-5}`, func(e *sentry.Event) any { return e.Problems }, []string{"timestamp"}},
		"message object":            {`{"message":{"message":"a %s","params":["b"],"formatted":"a b"}}`, func(e *sentry.Event) any { return e.Message }, "a b"},
		"message template":          {`{"logentry":{"message":"a %s"}}`, func(e *sentry.Event) any { return e.Message }, "a %s"},
		"tags as pairs":             {`{"tags":[["a","1"],["b",2]]}`, func(e *sentry.Event) any { return e.Tags }, map[string]string{"a": "1", "b": "2"}},
		"tags as keyed pairs":       {`{"tags":[{"key":"a","value":"1"}]}`, func(e *sentry.Event) any { return e.Tags }, map[string]string{"a": "1"}},
		"tag of a wrong form":       {`{"tags":{"a":{},"b":"1"}}`, func(e *sentry.Event) any { return fmt.Sprint(e.Tags, e.Problems) }, "map[b:1] [tags.a]"},
		"breadcrumbs as a list":     {`{"breadcrumbs":[{"message":"m"}]}`, func(e *sentry.Event) any { return e.Breadcrumbs[0].Message }, "m"},
		"exception as a list":       {`{"exception":[{"type":"T"}]}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"exception as an object":    {`{"exception":{"type":"T"}}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"no mechanism is handled":   {`{"exception":{"type":"T"}}`, func(e *sentry.Event) any { return e.Exceptions[0].Handled }, true},
		"null everywhere":           {`{"tags":null,"exception":null,"user":null,"request":null,"breadcrumbs":{"values":null}}`, func(e *sentry.Event) any { return len(e.Problems) }, 0},
		"frames of a crash":         {`{"exception":{"type":"T"},"threads":{"values":[{"crashed":false},{"crashed":true,"stacktrace":{"frames":[{"function":"f"}]}}]}}`, func(e *sentry.Event) any { return e.Exceptions[0].Frames[0].Function }, "f"},
		"headers as an object":      {`{"request":{"headers":{"user-agent":"UA"}}}`, func(e *sentry.Event) any { return e.Request.UserAgent }, "UA"},
		"query as pairs":            {`{"request":{"query_string":[["a","1"]]}}`, func(e *sentry.Event) any { return e.Request.Query }, "a=1"},
		"exception of a wrong kind": {`{"exception":"boom","message":"m"}`, func(e *sentry.Event) any { return fmt.Sprint(e.Message, e.Problems) }, "m[exception]"},
		"nearest frames are kept": {
			`{"exception":{"type":"T","stacktrace":{"frames":[` + strings.Repeat(`{"function":"far"},`, 300) + `{"function":"near"}]}}}`,
			func(e *sentry.Event) any {
				frames := e.Exceptions[0].Frames
				return fmt.Sprint(len(frames), frames[len(frames)-1].Function)
			}, "250near",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.see(parse(t, tc.payload)); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestParseEventRefusesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", "null", "[]", "7", `"x"`, `{"a":`, "{}{}"} {
		if _, err := sentry.ParseEvent([]byte(payload)); text(err) != "invalid event: no JSON object" {
			t.Errorf("%q: got %v", payload, err)
		}
	}
}

// TestEnvelopesOfTheRealSDK reads envelopes of @sentry/node 10.78.0.
func TestEnvelopesOfTheRealSDK(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/node/*.envelope")
	if err != nil || len(files) == 0 {
		t.Fatalf("no envelopes: %v", err)
	}
	var seen []string
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header, items, err := sentry.Split(body)
		fromReport := len(items) == 1 && items[0].Type == "client_report"
		if err != nil || !fromReport && (header.SDK.Name != "sentry.javascript.node" || header.SentAt.IsZero()) {
			t.Errorf("%s: %+v, %v", file, header, err)
		}
		for _, item := range items {
			seen = append(seen, item.Type+" "+summary(t, item))
		}
	}
	want := []string{
		"client_report ",
		"event error Error: outer handled=true in Server.?",
		"event error RangeError: unhandled 7 handled=false in Server.?",
		"event error SyntaxError: Expected property name or '}' in JSON at position 1 handled=true in JSON.parse",
		"event warning hello world",
		"session ", "session ", "session ", "sessions ",
	}
	slices.Sort(seen)
	if !slices.Equal(seen, want) {
		t.Errorf("the items read as\n%s", strings.Join(seen, "\n"))
	}
}

// summary describes an event item in a line, empty for any other item.
func summary(t *testing.T, item sentry.Item) string {
	t.Helper()
	if item.Type != "event" {
		return ""
	}
	event := parse(t, string(item.Payload))
	if len(event.Problems) > 0 || event.Release != "shop@1.2.3" || event.User.ID != "u1" || event.Tags["plan"] != "pro" || len(event.Breadcrumbs) == 0 {
		t.Errorf("event %s: %+v", event.ID, event)
	}
	if len(event.Exceptions) == 0 {
		return event.Level + " " + event.Message
	}
	thrown := event.Exceptions[len(event.Exceptions)-1]
	return fmt.Sprintf("%s %s: %s handled=%t in %s", event.Level, thrown.Type, thrown.Value, thrown.Handled, thrown.Frames[len(thrown.Frames)-1].Function)
}

// FuzzParseEvent checks that reading any input ends, stays within the bounds and reports its problems.
func FuzzParseEvent(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add([]byte(`{"extra":` + strings.Repeat("[", 1<<20)))
	f.Add([]byte(`{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","tags":[["a",1]],"exception":{"values":[{"type":"T","stacktrace":{"frames":[{"lineno":1e9}]}}]}}`))
	f.Add([]byte(`{"message":{"formatted":7},"breadcrumbs":{"values":[null,1]},"threads":[{"crashed":"x"}],"debug_meta":{"images":{}}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		event, err := sentry.ParseEvent(payload)
		if err != nil {
			return
		}
		if event.Level == "" || len(event.Breadcrumbs) > 100 || len(event.Exceptions) > 50 || len(event.Problems) > 20 {
			t.Errorf("%+v", event)
		}
	})
}
