package clickhouse

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc"
)

func TestRecentIDs(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	insert(t, db, "1", 1, hourly(t, db, at, 10))
	insert(t, db, "2", 2, hourly(t, db, at.Add(10*time.Hour), 10))
	got := map[string]bool{}
	yield := func(environment uint64, distinctID, anonymousID, id string) bool {
		got[fmt.Sprint(environment, distinctID, anonymousID, id)] = true
		return true
	}
	if err := db.RecentIDs(deadline(t), at.Add(8*time.Hour), 2, yield); err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"7u3e8": true, "7u4e9": true}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	calls := 0
	err := db.RecentIDs(deadline(t), at, 99, func(uint64, string, string, string) bool { calls++; return false })
	if err != nil || calls != 1 {
		t.Errorf("yield was called %d times after it returned false, error %v", calls-1, err)
	}
}

// TestOpenSessions folds the sessions of the generated rows again and compares those that
// were received late enough, with and without one block.
func TestOpenSessions(t *testing.T) {
	db, rows := open(t), testRows()
	since := rows[0].Event.ReceivedAt
	for i := range rows {
		if rows[i].Event.ReceivedAt.After(since) && i%2 == 0 {
			since = rows[i].Event.ReceivedAt
		}
	}
	since = since.Add(-40 * time.Hour)
	const step = 300
	store(t, db, rows, step) // block numbers begin at 1 and go up by the step
	for _, except := range []uint64{0, 301} {
		want := map[string]svc.OpenSession{}
		for i := range rows {
			if uint64(i/step*step+1) != except {
				foldSession(want, &rows[i])
			}
		}
		recent := map[string]bool{}
		for i := range rows {
			if uint64(i/step*step+1) != except && !rows[i].Event.ReceivedAt.Before(since) {
				recent[fmt.Sprint(rows[i].EnvironmentNumber, sessionOf(&rows[i]))] = true
			}
		}
		got := map[string]svc.OpenSession{}
		err := db.OpenSessions(deadline(t), since, except, func(s svc.OpenSession) bool {
			got[fmt.Sprint(s.Environment, svc.Visitor(s.DistinctID, s.AnonymousID)+"\x00"+s.ID)] = s
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(recent) || len(got) == 0 {
			t.Errorf("%d sessions, want %d", len(got), len(recent))
		}
		for key, s := range got {
			if !recent[key] || s != want[key] {
				t.Errorf("got %+v, want %+v", s, want[key])
			}
		}
	}
}

func foldSession(sessions map[string]svc.OpenSession, r *svc.EventRow) {
	key, e := fmt.Sprint(r.EnvironmentNumber, sessionOf(r)), r.Event
	s, known := sessions[key]
	if !known {
		ts := e.Ts.UnixMilli()
		s = svc.OpenSession{Environment: r.EnvironmentNumber, DistinctID: e.DistinctID, AnonymousID: e.AnonymousID}
		s.Session = svc.Session{ID: e.SessionID, Started: r.SessionStartedMs, First: ts, Last: ts}
	}
	s.Add(svc.SessionStep{TsMs: e.Ts.UnixMilli(), Pageview: svc.IsPageview(e.Name), Interactive: svc.IsInteractive(e.Name), EngagedMs: r.EngagedMs})
	sessions[key] = s
}
