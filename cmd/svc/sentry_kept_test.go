package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestNothingAcceptedIsDropped sends reports with a member that cannot be stored: each is answered 200 and is stored
// without that member, which the occurrence names.
func TestNothingAcceptedIsDropped(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	long := strings.Repeat("x", 5000)
	old := func(age time.Duration) string { return time.Now().Add(-age).UTC().Format(time.RFC3339) }
	const day = 24 * time.Hour
	cases := map[string]struct {
		members  string
		problems []any
		// distinctID is the person of the occurrence; age is its least age.
		distinctID any
		age        time.Duration
	}{
		"long user":       {`"user":{"id":"` + long + `","email":"a@b.example"}`, noted("user.id", "It is over 200 bytes and was left out."), "a@b.example", 0},
		"long e-mail":     {`"user":{"email":"` + long + `@b.example"}`, noted("user.email", "It is over 200 bytes and was left out."), nil, 0},
		"control":         {`"user":{"id":"a\u0000b"}`, noted("user.id", "It holds a control character and was left out."), nil, 0},
		"another":         {`"user":{"username":"a\u001bb"}`, noted("user.username", "It holds a control character and was left out."), nil, 0},
		"long event id":   {`"event_id":"` + long + `"`, noted("event_id", "It is over 200 bytes; another id was made."), nil, 0},
		"no time":         {`"timestamp":"yesterday"`, noted("timestamp", "Its form is not understood; it was left out."), nil, 0},
		"nine days old":   {`"timestamp":"` + old(9*day) + `"`, []any{}, nil, 9*day - time.Minute},
		"ten years old":   {`"timestamp":"` + old(3650*day) + `"`, noted("timestamp", "ts is older than this key may send; the time of arrival took its place."), nil, 0},
		"wrong exception": {`"exception":"boom"`, noted("exception", "Its form is not understood; it was left out."), nil, 0},
	}
	for name, tc := range cases {
		body := "{\"sent_at\":\"" + time.Now().UTC().Format(time.RFC3339Nano) + "\"}\n{\"type\":\"event\"}\n{\"message\":\"" + name + "\"," + tc.members + "}"
		if got := s.envelope([]byte(body)); got.status != 200 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	found := s.issues(len(cases))
	for name, tc := range cases {
		issue := found["Message: "+name]
		if issue == nil {
			t.Errorf("%s: nothing was kept: %v", name, found)
			continue
		}
		got := s.occurrence(issue)
		if !reflect.DeepEqual(got["processingErrors"], tc.problems) || got["distinctId"] != tc.distinctID {
			t.Errorf("%s: processingErrors %v, distinctId %v", name, got["processingErrors"], got["distinctId"])
		}
		ts, err := time.Parse(time.RFC3339, got["ts"].(string))
		if age := time.Since(ts); err != nil || age < tc.age || age > tc.age+time.Hour {
			t.Errorf("%s: it is %s old (%v)", name, age, err)
		}
	}
}

func noted(field, reason string) []any {
	return []any{map[string]any{"field": field, "reason": reason}}
}

// TestABadItemCostsNoOther sends unreadable events next to valid ones in an envelope.
func TestABadItemCostsNoOther(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	item := func(payload string) string { return "{\"type\":\"event\"}\n" + payload + "\n" }
	body := "{}\n" + item(`{"message":"first"}`) + item(`noise`) + item(`{"extra":{"a":"`+strings.Repeat("x", 1<<20)+`"}}`) + item(`{"message":"last"}`)
	got := s.envelope([]byte(body))
	if hint := got.header.Get("X-Sentry-Error"); got.status != 200 || !strings.Contains(hint, "no JSON object") {
		t.Errorf("%d %q %s", got.status, hint, got.body)
	}
	if found := s.issues(2); found["Message: first"] == nil || found["Message: last"] == nil {
		t.Error(fmt.Sprint("the issues are ", found))
	}
}
