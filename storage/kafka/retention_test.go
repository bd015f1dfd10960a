package kafka

import (
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// TestProgressBoundsWhatGoes decides what goes by age and by size.
func TestProgressBoundsWhatGoes(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	surplus := map[int]int64{0: 0, 1: 70, 2: 900, 3: 5}
	r := &Retention{
		Keep: time.Hour, Logger: slog.New(slog.DiscardHandler),
		Surplus: func(partition int) (int64, error) { return surplus[partition], nil },
		marks:   []mark{{at: noon.Add(-time.Hour), positions: []Position{{Partition: 0, Offset: 40}, {Partition: 3, Offset: 20}}}},
	}
	committed := []Position{{Partition: 0, Offset: 100}, {Partition: 1, Offset: 100}, {Partition: 2, Offset: 100}, {Partition: 3, Offset: 100}}
	got := r.bounds(noon, committed)
	want := map[int]int64{
		0: 40,  // by age alone: the partition is small
		1: 70,  // by size alone
		2: 100, // by size, as far as it is committed
		3: 20,  // by age, which reaches further than the size asks for
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
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
		Topic: f.admin, Consumer: c, Partitions: 1, Keep: 24 * time.Hour, Now: time.Now, Logger: slog.Default(),
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
