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
