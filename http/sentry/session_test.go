package sentry_test

import (
	"reflect"
	"testing"
	"time"

	"svc/domain/issue"
	"svc/http/sentry"
)

func TestParseSession(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	one := func(status issue.SessionStatus) sentry.Sessions {
		return sentry.Sessions{Release: "1.0", Status: status, Count: 1, At: at, ID: "session:s1:" + string(status)}
	}
	const began = `"sid":"s1","started":"2026-11-20T12:00:00Z","attrs":{"release":"1.0"}`
	for name, tc := range map[string]struct {
		payload string
		want    []sentry.Sessions
		err     string
	}{
		"begins":             {`{` + began + `,"init":true,"status":"ok"}`, []sentry.Sessions{one(issue.SessionStarted)}, ""},
		"goes on":            {`{` + began + `,"status":"ok","errors":2}`, nil, ""},
		"ends well":          {`{` + began + `,"status":"exited"}`, nil, ""},
		"ends with errors":   {`{` + began + `,"status":"exited","errors":1}`, []sentry.Sessions{one(issue.SessionErrored)}, ""},
		"crashes at once":    {`{` + began + `,"init":true,"status":"crashed","errors":1}`, []sentry.Sessions{one(issue.SessionStarted), one(issue.SessionCrashed)}, ""},
		"is killed":          {`{` + began + `,"status":"abnormal"}`, []sentry.Sessions{one(issue.SessionAbnormal)}, ""},
		"seconds":            {`{"sid":"s1","started":1795176000,"init":true,"attrs":{"release":"1.0"}}`, []sentry.Sessions{one(issue.SessionStarted)}, ""},
		"without a release":  {`{"sid":"s1","init":true}`, nil, ""},
		"without an id":      {`{"init":true}`, nil, "invalid session: no usable sid"},
		"what is no session": {`[]`, nil, "invalid session"},
	} {
		got, err := sentry.ParseSession([]byte(tc.payload))
		if !reflect.DeepEqual(got, tc.want) || text(err) != tc.err {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseSessions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	got, err := sentry.ParseSessions([]byte(`{"aggregates":[{"started":"2026-11-20T12:00:00Z","exited":7,"errored":2,"crashed":1},{"did":"x"}],"attrs":{"release":"1.0"}}`))
	want := []sentry.Sessions{
		{Release: "1.0", Status: issue.SessionStarted, Count: 10, At: at},
		{Release: "1.0", Status: issue.SessionErrored, Count: 2, At: at},
		{Release: "1.0", Status: issue.SessionCrashed, Count: 1, At: at},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for payload, want := range map[string]string{
		`{"aggregates":[{"exited":-1}]}`:          "invalid sums of sessions",
		`{"aggregates":[{"exited":99999999999}]}`: "invalid sums of sessions: a number is too great",
	} {
		if _, err := sentry.ParseSessions([]byte(payload)); text(err) != want {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
