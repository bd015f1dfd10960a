package sentry_test

import (
	"errors"
	"net/url"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"svc/http/sentry"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 11, 20, 12, 0, 0, 250e6, time.UTC)
	for name, tc := range map[string]struct {
		body   string
		header sentry.Header
		items  []sentry.Item
		err    string
	}{
		"empty header": {body: "{}"},
		"header alone": {
			body:   `{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","dsn":"https://k@h/1","sent_at":"2026-11-20T12:00:00.250Z","sdk":{"name":"s","version":"1"}}` + "\n",
			header: sentry.Header{EventID: "9ec79c33ec9942ab8353589fcb2e04dc", DSN: "https://k@h/1", SentAt: sent, SDK: sentry.SDK{Name: "s", Version: "1"}},
		},
		"without length": {
			body:  "{}\n{\"type\":\"event\"}\n{\"a\":1}\n{\"type\":\"session\"}\n{}",
			items: []sentry.Item{{Type: "event", Payload: []byte(`{"a":1}`), Count: 1}, {Type: "session", Payload: []byte("{}"), Count: 1}},
		},
		"with length, line feeds inside": {
			body:  "{}\n{\"type\":\"attachment\",\"length\":3}\na\nb\n{\"type\":\"log\",\"length\":2,\"item_count\":4}\n{}\n",
			items: []sentry.Item{{Type: "attachment", Payload: []byte("a\nb"), Count: 1}, {Type: "log", Payload: []byte("{}"), Count: 4}},
		},
		"carriage return is data": {
			body:  "{}\n{\"type\":\"attachment\"}\na\r\n",
			items: []sentry.Item{{Type: "attachment", Payload: []byte("a\r"), Count: 1}},
		},
		"empty payload":           {body: "{}\n{\"type\":\"attachment\",\"length\":0}\n", items: []sentry.Item{{Type: "attachment", Payload: []byte{}, Count: 1}}},
		"unknown type":            {body: "{}\n{\"type\":\"new\",\"color\":1}\nx", items: []sentry.Item{{Type: "new", Payload: []byte("x"), Count: 1}}},
		"unreadable sent_at":      {body: `{"sent_at":"yesterday"}`},
		"no header":               {body: "", err: "invalid envelope header"},
		"header is a list":        {body: "[]", err: "invalid envelope header"},
		"item header is no JSON":  {body: "{}\nx\n", err: "item 0: invalid header"},
		"no type":                 {body: "{}\n{}\n", err: "item 0: header has no type"},
		"length over the end":     {body: "{}\n{\"type\":\"event\",\"length\":9}\n{}", err: "item 0: length 9 does not fit the envelope"},
		"negative length":         {body: "{}\n{\"type\":\"event\",\"length\":-1}\n{}", err: "item 0: length -1 does not fit the envelope"},
		"length before the end":   {body: "{}\n{\"type\":\"event\",\"length\":1}\n{}", err: "item 0: no line feed after 1 bytes"},
		"more items than allowed": {body: "{}\n" + strings.Repeat("{\"type\":\"x\"}\ny\n", sentry.MaxItems+1), err: "envelope holds more than 1000 items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header, items, err := sentry.Split([]byte(tc.body))
			if message := text(err); message != tc.err {
				t.Fatalf("failed with %q, want %q", message, tc.err)
			}
			if header != tc.header || !reflect.DeepEqual(items, tc.items) {
				t.Errorf("got %+v %+v\nwant %+v %+v", header, items, tc.header, tc.items)
			}
		})
	}
}

func text(err error) string {
	if known, ok := errors.AsType[*sentry.Malformed](err); ok {
		return known.Reason
	}
	if err != nil {
		return "another kind of error: " + err.Error()
	}
	return ""
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		query string
		auth  []string
		dsn   string
		want  sentry.Credentials
	}{
		"nothing":          {want: sentry.Credentials{}},
		"query":            {query: "sentry_version=7&sentry_key=k1&sentry_client=x%2F1", want: sentry.Credentials{Key: "k1"}},
		"header":           {auth: []string{"Sentry sentry_version=7, sentry_client=sentry.go/0.50.0, sentry_key=k1"}, want: sentry.Credentials{Key: "k1"}},
		"quoted":           {auth: []string{`sentry sentry_key="k1",sentry_version=7`}, want: sentry.Credentials{Key: "k1"}},
		"another scheme":   {auth: []string{"Bearer sentry_key=k1"}, want: sentry.Credentials{}},
		"dsn":              {dsn: "https://k1@example.com/sentry/42", want: sentry.Credentials{Key: "k1", Project: "42"}},
		"no dsn":           {dsn: "example", want: sentry.Credentials{}},
		"all the same":     {query: "sentry_key=k1", auth: []string{"Sentry sentry_key=k1"}, dsn: "https://k1@h/1/", want: sentry.Credentials{Key: "k1", Project: "1"}},
		"two differ":       {query: "sentry_key=k1", auth: []string{"Sentry sentry_key=k2"}, want: sentry.Credentials{Key: "k1", Conflict: true}},
		"the dsn disagree": {query: "sentry_key=k1", dsn: "https://k2@h/1", want: sentry.Credentials{Key: "k1", Project: "1", Conflict: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query, err := url.ParseQuery(tc.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := sentry.Authenticate(query, tc.auth, tc.dsn); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestParseReport(t *testing.T) {
	t.Parallel()
	got, err := sentry.ParseReport([]byte(`{"timestamp":1,"discarded_events":[{"reason":"ratelimit_backoff","category":"error","quantity":2},{"reason":"x","category":"y","quantity":0}]}`))
	if want := []sentry.Discarded{{Reason: "ratelimit_backoff", Category: "error", Quantity: 2}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := sentry.ParseReport([]byte("[")); text(err) != "invalid client report" {
		t.Errorf("got %v", err)
	}
}

// FuzzSplit checks that for any input, the items follow each other inside the envelope.
func FuzzSplit(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add([]byte("{}\n{\"type\":" + strings.Repeat("[", 1<<20)))
	f.Add([]byte("{}\n{\"type\":\"event\"}\n{\"a\":1}\n{\"type\":\"attachment\",\"length\":3}\na\nb\n"))
	f.Add([]byte(`{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","dsn":"https://k@h/1","sent_at":1.5}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, items, err := sentry.Split(body)
		if err != nil {
			if text(err) == "" {
				t.Errorf("no reason: %v", err)
			}
			return
		}
		sum := 0
		for _, item := range items {
			if item.Type == "" || item.Count < 1 {
				t.Errorf("item %+v", item)
			}
			sum += len(item.Payload)
		}
		if sum > len(body) {
			t.Errorf("the items hold %d bytes, the envelope %d", sum, len(body))
		}
	})
}
