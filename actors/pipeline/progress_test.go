package pipeline

import (
	"testing"
	"time"

	"svc/domain/event"
)

// TestProgress checks the age of the oldest record that is not committed, over partitions.
func TestProgress(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var p Progress
	check := func(now int, want time.Duration) {
		t.Helper()
		if behind := p.Age(at(now), 0, 4); behind != want {
			t.Errorf("at %d ms it is %s behind, want %s", now, behind, want)
		}
	}
	check(0, 0)
	p.Stored([]event.LogPosition{{Partition: 1, Offset: 5}}) // a move commits positions before anything is read
	check(0, 0)
	p.Read(1, []event.LogRecord{{Offset: 5, Time: at(100)}, {Offset: 6, Time: at(110)}})
	p.Read(1, []event.LogRecord{{Offset: 7, Time: at(112)}})
	p.Read(2, []event.LogRecord{{Offset: 1, Time: at(300)}})
	p.Read(1, []event.LogRecord{{Offset: 8, Time: at(400)}})
	check(500, 400*time.Millisecond)
	p.Stored([]event.LogPosition{{Partition: 1, Offset: 7}}) // in the middle of records that were read together
	check(500, 400*time.Millisecond)
	p.Stored([]event.LogPosition{{Partition: 1, Offset: 8}})
	check(500, 200*time.Millisecond)
	p.Stored([]event.LogPosition{{Partition: 2, Offset: 2}})
	check(500, 100*time.Millisecond)
	p.Forget()
	check(500, 0)
	p.Stored([]event.LogPosition{{Partition: 1, Offset: 9}})
	check(500, 0)
}
