package clickhouse

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc"
	"svc/protos"
)

func TestRecentIDs(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	insert(t, db, "1", 1, hourly(t, db, at, 10))
	insert(t, db, "2", 2, hourly(t, db, at.Add(10*time.Hour), 10))
	type named struct {
		visitor uint64
		key     [2]uint64
	}
	name := func(visitor, id string) named {
		return named{protos.VisitorHash(7, visitor), protos.EventKey(7, visitor, id)}
	}
	for _, c := range []struct {
		since  time.Time
		except uint64
		limit  int
		want   []named
	}{
		{at.Add(8 * time.Hour), 2, 100, []named{name("u3", "e8"), name("u4", "e9")}},
		{at.Add(18 * time.Hour), 99, 100, []named{name("u3", "e8"), name("u4", "e9")}},
		{at.Add(30 * time.Hour), 0, 100, nil},
	} {
		var got []named
		if err := db.RecentIDs(deadline(t), c.since, c.except, c.limit, func(visitor uint64, key [2]uint64) {
			got = append(got, named{visitor, key})
		}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("since %s except %d: got %v, want %v", c.since, c.except, got, c.want)
		}
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
