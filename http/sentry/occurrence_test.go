package sentry_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"svc/domain/occurrence"
)

func TestOccurrence(t *testing.T) {
	t.Parallel()
	got := parse(t, `{
		"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","timestamp":1763640000,"level":"log","platform":"node","release":"shop@1.2.3","environment":"qa","server_name":"web-1",
		"tags":{"plan":"pro","platform":"mine"},"extra":{"cart":3},"contexts":{"os":{"name":"Linux"},"runtime":{"name":"node"},"culture":{"locale":"de-DE"},"browser":{"name":"Firefox","version":"140"},"app":{"app_version":"7"},"device":{"family":"Mac"}},
		"user":{"email":"a@b.example"},"request":{"method":"POST","url":"https://shop.example/pay","query_string":"a=1","headers":{"referer":"https://r.example/"}},
		"breadcrumbs":[{"timestamp":1763639999.5,"category":"ui","message":"clicked"},{"type":"http","data":{"method":"GET","url":"/x","status_code":200}},{"category":"navigation","data":{"from":"/a","to":"/b"}},{"category":"x","data":{"k":1}}],
		"exception":{"values":[
			{"type":"TypeError","value":"cause","stacktrace":{"frames":[{"filename":"lib.js","function":"deep","lineno":3}]}},
			{"type":"Error","value":"outer","mechanism":{"type":"onerror","handled":false},
			 "stacktrace":{"frames":[{"filename":"node:internal/x","function":"run","lineno":1,"colno":2},{"abs_path":"/srv/app.js","function":"?","lineno":10,"colno":5},{"filename":"/srv/node_modules/pay.js","function":"charge","in_app":true}]}}]}}`).Occurrence()
	want := &occurrence.Occurrence{
		ID: "9ec79c33ec9942ab8353589fcb2e04dc", Ts: time.Unix(1763640000, 0).UTC(), Level: occurrence.LevelInfo, Name: "Error", Message: "outer",
		Platform: "node", Handled: false, Mechanism: "onerror", Release: "shop@1.2.3",
		Stack: "Error: outer\n    at charge (/srv/node_modules/pay.js)\n    at /srv/app.js:10:5\n    at run (node:internal/x:1:2)\nCaused by: TypeError: cause\n    at deep (lib.js:3)\n",
		Frames: []occurrence.Frame{
			{File: "/srv/node_modules/pay.js", Function: "charge", InApp: true},
			{File: "/srv/app.js", Line: 10, Column: 5, InApp: true},
			{File: "node:internal/x", Function: "run", Line: 1, Column: 2},
		},
		Causes: []occurrence.Cause{{Name: "TypeError", Message: "cause", Frames: []occurrence.Frame{{File: "lib.js", Function: "deep", Line: 3, InApp: true}}}},
		Breadcrumbs: []occurrence.Breadcrumb{
			{Timestamp: "2025-11-20T11:59:59.500Z", Category: "ui", Message: "clicked"},
			{Category: "http", Message: "GET /x 200"},
			{Category: "navigation", Message: "/a → /b"},
			{Category: "x", Message: `{"k":1}`},
		},
		Tags:    map[string]string{"plan": "pro", "platform": "mine", "environment": "qa", "server_name": "web-1", "runtime": "node"},
		Extra:   json.RawMessage(`{"cart":3,"contexts":{"app":{"app_version":"7"},"browser":{"name":"Firefox","version":"140"},"culture":{"locale":"de-DE"},"device":{"family":"Mac"},"os":{"name":"Linux"},"runtime":{"name":"node"}}}`),
		Request: occurrence.ErrorRequest{Method: "POST", URL: "https://shop.example/pay"}, URL: "https://shop.example/pay?a=1", Referrer: "https://r.example/",
		DistinctID: "a@b.example", Details: occurrence.Details{User: map[string]string{"email": "a@b.example"}, Query: "a=1", Headers: map[string]string{"referer": "https://r.example/"}}, Browser: "Firefox", BrowserVersion: "140", OS: "Linux", Device: "Mac", Locale: "de-DE", AppVersion: "7",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestOccurrenceOfAMessage(t *testing.T) {
	t.Parallel()
	got := parse(t, `{"message":"disk is full","level":"warning"}`).Occurrence()
	want := &occurrence.Occurrence{Name: "Message", Message: "disk is full", Level: occurrence.LevelWarning, Handled: true, Tags: map[string]string{}, Frames: []occurrence.Frame{}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for word, want := range map[string]occurrence.Level{"FATAL": occurrence.LevelFatal, "critical": occurrence.LevelFatal, "odd": occurrence.LevelError, "debug": occurrence.LevelDebug} {
		if got := parse(t, `{"level":"`+word+`"}`).Occurrence().Level; got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}
