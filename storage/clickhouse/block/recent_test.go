package block

import (
	"reflect"
	"testing"
	"time"

	"svc/protos"
)

func TestRecentIDs(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	insert(t, db, "1", 1, hourly(t, db, at, 10))
	insert(t, db, "2", 2, hourly(t, db, at.Add(10*time.Hour), 10))
	type named struct {
		thread uint64
		key    [2]uint64
	}
	// The rows are from before threads existed: a repetition may arrive in the thread of the visitor or of the session.
	name := func(thread, visitor, id string) named {
		number := protos.VisitorHash(7, thread)
		return named{number, protos.EventKey(7, number, visitor, id)}
	}
	former := []named{name("u3", "u3", "e8"), name("s8", "u3", "e8"), name("u4", "u4", "e9"), name("s9", "u4", "e9")}
	for _, c := range []struct {
		since  time.Time
		except uint64
		limit  int
		want   []named
	}{
		{at.Add(8 * time.Hour), 2, 100, former},
		{at.Add(18 * time.Hour), 99, 100, former},
		{at.Add(30 * time.Hour), 0, 100, nil},
	} {
		var got []named
		if err := db.RecentIDs(deadline(t), c.since, c.except, c.limit, func(thread uint64, key [2]uint64) {
			got = append(got, named{thread, key})
		}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("since %s except %d: got %v, want %v", c.since, c.except, got, c.want)
		}
	}
}
