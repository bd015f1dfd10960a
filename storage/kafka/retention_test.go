package kafka

import (
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// TestProgressBoundsWhatGoes checks the bounds by age and by size.
func TestProgressBoundsWhatGoes(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	surplus := map[int]int64{0: 0, 1: 70, 2: 900, 3: 5}
	r := &Retention{
		Keep: time.Hour, Logger: slog.New(slog.DiscardHandler),
		Surplus: func(partition int) (int64, error) { return surplus[partition], nil },
		marks:   []mark{{at: noon.Add(-time.Hour), offsets: map[int]int64{0: 40, 3: 20, 4: 60}}},
	}
	committed := []Position{{Partition: 0, Offset: 100}, {Partition: 1, Offset: 100}, {Partition: 2, Offset: 100}, {Partition: 3, Offset: 100}}
	got := r.bounds(noon, committed)
	want := map[int]int64{
		0: 40,  // by age alone: the partition is small
		1: 70,  // by size alone
		2: 100, // by size, as far as it is committed
		3: 20,  // by age, which reaches further than the size limit
		// 4 has moved to another node
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestProgressIsMarkedSeldom follows a partition for a month.
func TestProgressIsMarkedSeldom(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r := &Retention{Keep: month}
	for minute := range int(2 * month / time.Minute) {
		now := noon.Add(time.Duration(minute) * time.Minute)
		r.note(now, []Position{{Partition: 3, Offset: int64(minute)}})
		r.age(now)
		if len(r.marks) > marksKept+marksKept/graceShare+1 {
			t.Fatalf("%d marks after %d minutes", len(r.marks), minute)
		}
		for _, offset := range r.due(now) {
			if age := time.Duration(int64(minute)-offset) * time.Minute; age < month || age > month+month/marksKept {
				t.Fatalf("minute %d: a commit of %v ago is due", minute, age)
			}
		}
	}
}

// TestAQuietLogIsForgotten follows a partition that gets no record after the first ones.
func TestAQuietLogIsForgotten(t *testing.T) {
	t.Parallel()
	const every = 10 * time.Second
	for _, keep := range []time.Duration{time.Minute, 3 * time.Minute, time.Hour, 30 * 24 * time.Hour} {
		stored := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		r := &Retention{Keep: keep, Every: every}
		begun := stored.Add(-every / 2) // the round before did not know the records
		r.note(begun, []Position{{Partition: 3, Offset: 1}})
		var age time.Duration
		for now := begun; r.forgotten[3] != 10; now = now.Add(every) {
			if age = now.Sub(stored); age > 2*keep {
				t.Fatalf("keep %v: after %v the log is not forgotten", keep, age)
			}
			if age > 0 {
				r.note(now, []Position{{Partition: 3, Offset: 10}})
			}
			r.age(now)
		}
		if least, most := keep+keep/4, keep+keep/4+max(every, keep/60)+2*every; age < least || age > most {
			t.Errorf("keep %v: the records are forgotten after %v, want %v to %v", keep, age, least, most)
		}
	}
}

// TestANodeTrimsItsOwnPartitions runs a node that owns one of two partitions.
func TestANodeTrimsItsOwnPartitions(t *testing.T) {
	b := startBroker(t, broker.Config{Dir: t.TempDir(), Topics: []string{"shared"}, Partitions: 2})
	f := &fixture{t: t, topic: "shared", group: "g-shared", partitions: 2, brokers: b.Addrs(), dial: b.Dial}
	f.prepare()
	const records = segmentBytes/defaultRecordBytes + 3
	for range records {
		f.produce(Part{Partition: 0, Payload: make([]byte, defaultRecordBytes)}, Part{Partition: 1, Payload: make([]byte, defaultRecordBytes)})
	}
	r := new(recorder)
	c := f.consumer(r, nil)
	start(t, c.Run)
	eventually(t, "an assignment", func() bool { return len(r.owned()) == 2 }, r.state)
	if err := c.Commit(t.Context(), r.assignment().Generation, []Position{{Partition: 0, Offset: records}, {Partition: 1, Offset: records}}); err != nil {
		t.Fatal(err)
	}
	owned, now := 1, time.Now()
	retention := &Retention{
		Topic: f.admin, Consumer: c, Partitions: 2, Owned: func(partition int) bool { return partition == owned },
		Keep: time.Hour, Now: func() time.Time { return now }, Logger: slog.Default(),
	}
	for range 2 {
		retention.round(t.Context())
		now = now.Add(time.Hour)
	}
	ranges, err := f.admin.Ranges(t.Context())
	if err != nil || ranges[0].Start != 0 || ranges[1].Start == 0 {
		t.Errorf("the log is %v, %v; want the second partition trimmed alone", ranges, err)
	}
	owned = 0 // partition moved to this node
	retention.round(t.Context())
	now = now.Add(time.Hour)
	retention.round(t.Context())
	if ranges, err = f.admin.Ranges(t.Context()); err != nil || ranges[0].Start == 0 {
		t.Errorf("the log is %v, %v; want both partitions trimmed", ranges, err)
	}
}

// TestALargeLogIsTrimmedAsItIsCommitted runs rounds over a log of several files.
func TestALargeLogIsTrimmedAsItIsCommitted(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, broker.Config{Dir: dir, Topics: []string{"large"}, Partitions: 1})
	f := &fixture{t: t, topic: "large", group: "g-large", partitions: 1, brokers: b.Addrs(), dial: b.Dial}
	f.prepare()
	payload := make([]byte, defaultRecordBytes)
	const records = 3*segmentBytes/defaultRecordBytes + 3
	for range records {
		f.produce(Part{Partition: 0, Payload: payload})
	}
	r := new(recorder)
	c := f.consumer(r, nil)
	start(t, c.Run)
	eventually(t, "an assignment", func() bool { return len(r.owned()) == 1 }, r.state)
	retention := &Retention{
		Topic: f.admin, Consumer: c, Partitions: 1, Owned: func(int) bool { return true }, Keep: 24 * time.Hour, Now: time.Now, Logger: slog.Default(),
		Surplus: func(partition int) (int64, error) { return b.Surplus("large", partition, segmentBytes) },
	}
	round := func(committed int64) (start int64) {
		t.Helper()
		if err := c.Commit(t.Context(), r.assignment().Generation, []Position{{Partition: 0, Offset: committed}}); err != nil {
			t.Fatal(err)
		}
		retention.round(t.Context())
		ranges, err := f.admin.Ranges(t.Context())
		if err != nil || ranges[0].End != records {
			t.Fatalf("the log is %v, %v", ranges, err)
		}
		return ranges[0].Start
	}
	if start := round(0); start != 0 {
		t.Errorf("nothing is committed, and the log begins at %d", start)
	}
	if start := round(25); start != 25 {
		t.Errorf("25 records are committed, and the log begins at %d", start)
	}
	surplus, err := b.Surplus("large", 0, segmentBytes)
	if err != nil || surplus <= 25 {
		t.Fatalf("surplus %d, %v", surplus, err)
	}
	if start := round(records); start != surplus {
		t.Errorf("all is committed, and the log begins at %d, want %d", start, surplus)
	}
	files, err := filepath.Glob(filepath.Join(dir, "partitions", "large-0", "*.dat"))
	if err != nil || len(files) > 2 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}
