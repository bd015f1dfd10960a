package sentry_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"svc/http/sentry"
)

// TestShapesOfSDKs covers members that the protocol defines as a text, an object or a list. SDKs of several languages
// write them in other shapes. Each shape is read, and none is reported as a problem.
func TestShapesOfSDKs(t *testing.T) {
	t.Parallel()
	headers := func(e *sentry.Event) any { return e.Request.Headers }
	for name, tc := range map[string]struct {
		payload string
		see     func(e *sentry.Event) any
		want    any
	}{
		"C1 headers as lists":         {`{"request":{"headers":{"User-Agent":["UA"],"Accept":["text/html","*/*"]}}}`, headers, map[string]string{"User-Agent": "UA", "Accept": "text/html, */*"}},
		"C1 user agent of a list":     {`{"request":{"headers":{"User-Agent":["UA"]}}}`, func(e *sentry.Event) any { return e.Request.UserAgent }, "UA"},
		"headers as pairs of lists":   {`{"request":{"headers":[["User-Agent",["UA"]],["Accept","a"],["Accept","b"]]}}`, headers, map[string]string{"User-Agent": "UA", "Accept": "a, b"}},
		"headers as keyed lists":      {`{"request":{"headers":[{"key":"Accept","value":["a",null,"b"]}]}}`, headers, map[string]string{"Accept": "a, b"}},
		"headers of other kinds":      {`{"request":{"headers":{"Content-Length":[12],"X-N":7,"X-T":true,"X-Null":null,"X-E":[],"X-Nulls":[null]}}}`, headers, map[string]string{"Content-Length": "12", "X-N": "7", "X-T": "true", "X-E": "", "X-Nulls": ""}},
		"addresses in lists":          {`{"request":{"headers":{"X-Forwarded-For":["203.0.113.9"],"A":["b"]}}}`, headers, map[string]string{"A": "b"}},
		"empty headers":               {`{"request":{"headers":[]}}`, func(e *sentry.Event) any { return len(e.Request.Headers) }, 0},
		"query as an object":          {`{"request":{"query_string":{"b":["1","2"],"a":"x y"}}}`, func(e *sentry.Event) any { return e.Request.Query }, "a=x+y&b=1&b=2"},
		"query as an empty list":      {`{"request":{"query_string":[]}}`, func(e *sentry.Event) any { return e.Request.Query }, ""},
		"tag lists":                   {`{"tags":{"a":["x","y"],"b":[["c"]]}}`, func(e *sentry.Event) any { return fmt.Sprint(e.Tags, e.Problems) }, "map[a:x, y] [tags.b]"},
		"PHP's empty objects":         {`{"tags":[],"extra":[],"contexts":[],"user":[],"request":[],"sdk":[],"debug_meta":[],"exception":{"values":[{"type":"T","mechanism":[],"stacktrace":[]}]}}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"PHP's lists with gaps":       {`{"exception":{"values":{"10":{"type":"B"},"2":{"type":"A"}}}}`, func(e *sentry.Event) any { return e.Exceptions[0].Type + e.Exceptions[1].Type }, "AB"},
		"bare list with gaps":         {`{"breadcrumbs":{"1":{"message":"b"},"0":{"message":"a"}}}`, func(e *sentry.Event) any { return e.Breadcrumbs[0].Message + e.Breadcrumbs[1].Message }, "ab"},
		"frames as a bare list":       {`{"exception":{"type":"T","stacktrace":[{"function":"f"}]}}`, func(e *sentry.Event) any { return e.Exceptions[0].Frames[0].Function }, "f"},
		"p5 no stack":                 {`{"exception":{"values":[{"type":"T","stacktrace":null}]}}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"p5 no frames":                {`{"exception":{"values":[{"type":"T","stacktrace":{"frames":null}}]}}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"p5 a frame that is null":     {`{"exception":{"values":[{"type":"T","stacktrace":{"frames":[null]}}]}}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"p7 NUL and lone surrogate":   {`{"message":"a\u0000b\ud800c"}`, func(e *sentry.Event) any { return e.Message }, "a\x00b\uFFFDc"},
		"p9 pairs with numbers":       {`{"tags":[["n",3],["b",true],["f",1.5],["z",null]]}`, func(e *sentry.Event) any { return e.Tags }, map[string]string{"n": "3", "b": "true", "f": "1.5"}},
		"p9 bare list":                {`{"exception":[{"type":"T"}]}`, func(e *sentry.Event) any { return e.Exceptions[0].Type }, "T"},
		"user with lists":             {`{"user":{"id":[17],"roles":["a","b"],"geo":{"city":"x"}}}`, func(e *sentry.Event) any { return fmt.Sprint(e.User.ID, e.User.Other) }, "17map[roles:a, b]"},
		"texts as lists":              {`{"release":["r"],"transaction":["a","b"],"level":["info"],"logger":[],"server_name":["s"]}`, func(e *sentry.Event) any { return e.Release + e.Transaction + e.Level + e.ServerName }, "ra, binfos"},
		"message as a list":           {`{"message":["a","b"]}`, func(e *sentry.Event) any { return e.Message }, "a, b"},
		"value as an object":          {`{"exception":{"type":"T","value":{"code":7}}}`, func(e *sentry.Event) any { return e.Exceptions[0].Value }, `{"code":7}`},
		"fingerprint as a text":       {`{"fingerprint":"db"}`, func(e *sentry.Event) any { return e.Fingerprint }, []string{"db"}},
		"contexts of odd kinds":       {`{"contexts":{"os":"Linux","browser":{"name":["Firefox"]},"trace":null}}`, func(e *sentry.Event) any { o := e.Occurrence(); return o.OS + o.Browser }, "Firefox"},
		"cookies, env and modules":    {`{"request":{"cookies":[["a","b"]],"env":{"REMOTE_ADDR":["1"]},"data":["x"]},"modules":["m"],"message":"m"}`, func(e *sentry.Event) any { return string(e.Request.Data) }, `["x"]`},
		"source lines of other kinds": {`{"exception":{"type":"T","stacktrace":{"frames":[{"context_line":["a"],"pre_context":"b","vars":[1]}]}}}`, func(e *sentry.Event) any { return e.Exceptions[0].Frames[0].Code.Line }, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event := parse(t, tc.payload)
			if got := tc.see(event); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			for _, problem := range event.Problems {
				if problem != "tags.b" && problem != "frames.pre_context" && problem != "contexts.response" {
					t.Errorf("%s is a problem", problem)
				}
			}
		})
	}
}

// TestHeadersOfEnvelopesOfOtherShapes checks that an envelope is accepted even if a member of its lines has an odd
// form.
func TestHeadersOfEnvelopesOfOtherShapes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body   string
		header sentry.Header
		items  []sentry.Item
	}{
		"numbers as texts":  {"{\"event_id\":7,\"sdk\":{\"name\":[\"php\"],\"version\":4}}\n{\"type\":\"event\",\"length\":\"2\",\"item_count\":\"3\"}\n{}", sentry.Header{EventID: "7", SDK: sentry.SDK{Name: "php", Version: "4"}}, []sentry.Item{{Type: "event", Payload: []byte("{}"), Count: 3}}},
		"an SDK as a text":  {"{\"sdk\":\"php\"}\n{\"type\":\"event\",\"length\":null}\n{}", sentry.Header{}, []sentry.Item{{Type: "event", Payload: []byte("{}"), Count: 1}}},
		"a list of no use":  {"{\"dsn\":[]}\n{\"type\":\"event\",\"item_count\":{}}\n{}", sentry.Header{}, []sentry.Item{{Type: "event", Payload: []byte("{}"), Count: 1}}},
		"an empty SDK, PHP": {"{\"sdk\":[]}\n", sentry.Header{}, nil},
	} {
		header, items, err := sentry.Split([]byte(tc.body))
		if err != nil || !reflect.DeepEqual(header, tc.header) || !reflect.DeepEqual(items, tc.items) {
			t.Errorf("%s: %+v, %+v, %v", name, header, items, err)
		}
	}
	if _, _, err := sentry.Split([]byte("{}\n{\"type\":\"event\",\"length\":\"x\"}\n{}")); text(err) != "item 0: length is no number" {
		t.Errorf("a length of letters: %v", err)
	}
}

// TestDataOfRequests checks that the body of a request is stored unchanged.
func TestDataOfRequests(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`"a=1"`, `["a"]`, `{"a":[1]}`, `7`} {
		if got := parse(t, `{"request":{"data":`+data+`}}`).Request.Data; string(got) != string(json.RawMessage(data)) {
			t.Errorf("%s became %s", data, got)
		}
	}
}
