package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"svc/storage/kafka"
)

const journalPartitions = 3

// written holds the acknowledged records, by partition and in order.
type written [journalPartitions][]uint64

// write appends n records of random size, one after another.
func (w *written) write(t *testing.T, random *rand.Rand, produce func(context.Context, []kafka.Part) error, n int) {
	t.Helper()
	for range n {
		p := random.IntN(journalPartitions)
		id := uint64(len(w[p]))
		payload := append(binary.BigEndian.AppendUint64(nil, id), make([]byte, random.IntN(9000))...)
		if err := produce(t.Context(), []kafka.Part{{Partition: p, Payload: payload}}); err != nil {
			t.Fatal(err)
		}
		w[p] = append(w[p], id)
	}
}

// check opens a broker on a folder and compares its records with the acknowledged ones.
func (w *written) check(t *testing.T, dir string, sync bool) {
	t.Helper()
	b := start(t, Config{Dir: dir, Sync: sync, Topics: []string{testTopic}, Partitions: journalPartitions})
	topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: b.Addrs(), Topic: testTopic, Partitions: journalPartitions})
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	ranges, err := topic.Ranges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := kafka.NewConsumer(kafka.ConsumerConfig{Brokers: b.Addrs(), Topic: testTopic, Group: "g", Handler: idle{}})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range w {
		records, err := consumer.Read(t.Context(), p, ranges[p].Start, ranges[p].End-1)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) < len(want) {
			t.Errorf("partition %d: %d of %d records are left", p, len(records), len(want))
		}
		for n, record := range records {
			if id := binary.BigEndian.Uint64(record.Value); id != uint64(n) || record.Offset != int64(n) {
				t.Fatalf("partition %d: record %d stands at offset %d, place %d", p, id, record.Offset, n)
			}
		}
	}
}

// idle is a handler that ignores all calls.
type idle struct{}

func (idle) Assigned(context.Context, kafka.Assignment) (map[int]int64, error) { return nil, nil }
func (idle) Records(context.Context, int, []kafka.Record, int64) error         { return nil }
func (idle) Ending(context.Context, int32)                                     {}
func (idle) Revoked(int32)                                                     {}

// producing starts a broker with a small journal, and returns a function that appends to its topic.
func producing(t *testing.T, dir string) (*Broker, func(context.Context, []kafka.Part) error) {
	t.Helper()
	b := start(t, Config{Dir: dir, Sync: true, Topics: []string{testTopic}, Partitions: journalPartitions})
	release := b.forcer.rest()
	b.forcer.journal.limit = 100 << 10
	release()
	return b, producerOf(t, b, journalPartitions)
}

// image copies the folder of a broker as a loss of power leaves it. For each file with entries in the journal, cut gets
// the first position that is not certain to be on disk and the size of the file. It returns the size that remains, or a
// negative number to remove the file.
func (b *Broker) image(t *testing.T, cut func(certain, size int64) int64) string {
	t.Helper()
	defer b.forcer.rest()()
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.CopyFS(dir, os.DirFS(b.dir)); err != nil {
		t.Fatal(err)
	}
	certain := map[string]int64{}
	for n := range 2 {
		content, err := os.ReadFile(journalName(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entriesIn(content) {
			if e.created {
				certain[e.name] = -1
			}
			if at, ok := certain[e.name]; !ok || e.offset < at {
				certain[e.name] = e.offset
			}
		}
	}
	for name, at := range certain {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if left := cut(at, info.Size()); left < 0 {
			err = os.Remove(path)
		} else {
			err = os.Truncate(path, left)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestALossOfPowerKeepsWhatWasAcknowledged takes images of a busy broker and opens each as a loss of power would leave
// it. The image has none, all or a part of the bytes that only the journal makes durable.
func TestALossOfPowerKeepsWhatWasAcknowledged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b, produce := producing(t, t.TempDir())
	var all written
	for round := range 4 {
		all.write(t, random, produce, 30+random.IntN(60))
		for name, cut := range map[string]func(certain, size int64) int64{
			"nothing": func(certain, _ int64) int64 { return certain },
			"all":     func(_, size int64) int64 { return size },
			"a part":  func(certain, size int64) int64 { return max(0, certain) + random.Int64N(size-max(0, certain)+1) },
		} {
			t.Run(fmt.Sprintf("%d %s", round, name), func(t *testing.T) {
				dir := b.image(t, cut)
				all.check(t, dir, round%2 == 0)
			})
		}
	}
	release := b.forcer.rest()
	defer release()
	if b.forcer.journal.generation < 5 {
		t.Errorf("generation %d: the journal was not filled often enough", b.forcer.journal.generation)
	}
}

// TestAReplayIsRepeated ends a replay before it removes the journal, and between its two files.
func TestAReplayIsRepeated(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b, produce := producing(t, t.TempDir())
	var all written
	all.write(t, random, produce, 60)
	nothing := func(certain, _ int64) int64 { return certain }
	for removed := range 3 { // the number of journal files that the first replay removes
		dir := b.image(t, nothing)
		halves := map[uint64][]byte{}
		for n := range 2 {
			content, err := os.ReadFile(journalName(dir, n))
			if err != nil {
				t.Fatal(err)
			}
			halves[generationOf(entriesIn(content))] = content
		}
		if err := replayJournal(dir); err != nil {
			t.Fatal(err)
		}
		newest := max(b.forcer.journal.generation, 1)
		if removed < 2 { // the newer half is removed last
			restore(t, journalName(dir, 0), halves[newest])
		}
		if removed < 1 {
			restore(t, journalName(dir, 1), halves[newest-1])
		}
		all.check(t, dir, true)
	}
}

func restore(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestATornJournalEndsBeforeTheTear cuts and overwrites a journal at every position of its last entry.
func TestATornJournalEndsBeforeTheTear(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0.dat")
	restore(t, path, []byte("one two three"))
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.close(false) }()
	for _, g := range []growth{{file, 0, 4, true}, {file, 4, 8, false}, {file, 8, 13, false}} {
		if err := j.append([]growth{g}); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(journalName(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	content = content[:j.end]
	if got := entriesIn(content); len(got) != 3 || !got[0].created || string(got[2].data) != "three" || got[2].offset != 8 || got[2].name != "0.dat" {
		t.Fatalf("entries %+v", got)
	}
	last := len(content) - entryHead - len("0.dat") - len("three")
	for at := last; at < len(content); at++ {
		if got := entriesIn(content[:at]); len(got) != 2 {
			t.Errorf("cut at %d: %d entries", at, len(got))
		}
		torn := bytes.Clone(content)
		torn[at] ^= 0x55
		if got := entriesIn(torn); len(got) != 2 {
			t.Errorf("changed at %d: %d entries", at, len(got))
		}
	}
	if err := j.empty(); err != nil {
		t.Fatal(err)
	}
	if err := j.append([]growth{{file, 0, 4, true}}); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile(journalName(dir, 0)); err != nil || len(entriesIn(content)) != 1 {
		t.Errorf("%d entries after the journal was emptied, %v", len(entriesIn(content)), err)
	}
}

// TestAReplayLeavesOutWhatWasDeleted replays entries of deleted files and folders.
func TestAReplayLeavesOutWhatWasDeleted(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	var growths []growth
	for _, name := range []string{"kept/5.dat", "kept/9.dat", "gone/0.dat"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		restore(t, path, []byte("old and new"))
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		g := growth{file: file, from: 4, to: 11}
		if name != "kept/5.dat" {
			g.from, g.created = 0, true
		}
		growths = append(growths, g)
	}
	if err := j.append(growths); err != nil {
		t.Fatal(err)
	}
	if err := j.close(false); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"kept/5.dat", "kept/9.dat", "gone"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if err := replayJournal(dir); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(found) != 1 || filepath.Base(found[0]) != "9.dat" {
		t.Errorf("the folder has %q, %v; want the one file that the journal has whole", found, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "journal-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}

// TestAFailedWriteIsNotReplayed makes a write of the broker fail. The data that the broker then writes at the same
// position is synced, and the journal has no entry that would undo it.
func TestAFailedWriteIsNotReplayed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	b, produce := producing(t, t.TempDir())
	var all written
	all.write(t, random, produce, 30)
	entries := func() (n int) {
		defer b.forcer.rest()()
		for half := range 2 {
			content, err := os.ReadFile(journalName(b.dir, half))
			if err != nil {
				t.Fatal(err)
			}
			n += len(entriesIn(content))
		}
		return n
	}
	if entries() == 0 {
		t.Fatal("the journal is not used")
	}
	brokerLogger{slog.New(slog.DiscardHandler), b.forcer}.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", testTopic, 0, "disk full")
	all.write(t, random, produce, 1)
	if n := entries(); n != 0 {
		t.Errorf("the journal has %d entries after a failed write", n)
	}
	all.check(t, b.image(t, func(certain, _ int64) int64 { return certain }), true)
	release := b.forcer.rest()
	b.forcer.direct.Store(0) // the time without the journal ends
	release()
	all.write(t, random, produce, 30)
	if entries() == 0 {
		t.Error("the journal is not used any more")
	}
	all.check(t, b.image(t, func(certain, _ int64) int64 { return certain }), true)
}

// TestARoundLargerThanTheJournal checks that such a round syncs the files directly.
func TestARoundLargerThanTheJournal(t *testing.T) {
	b, produce := producing(t, t.TempDir())
	if err := produce(t.Context(), []kafka.Part{{Payload: make([]byte, 200<<10)}}); err != nil {
		t.Fatal(err)
	}
	all := written{{0}}
	all.check(t, b.image(t, func(certain, _ int64) int64 { return certain }), false)
}

// TestTheOlderHalfIsReplayedFirst writes a file across both halves of the journal. A crash then interrupts the emptying
// of the journal between the two halves.
func TestTheOlderHalfIsReplayedFirst(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0.dat")
	restore(t, path, []byte("one two three"))
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	j.limit = 50
	for n, g := range []growth{{file, 0, 4, true}, {file, 4, 8, false}} {
		if err := j.append([]growth{g}); err != nil || j.current != n {
			t.Fatalf("half %d, %v", j.current, err)
		}
	}
	replayed := func() string {
		again := t.TempDir()
		if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(filepath.Join(again, "0.dat")), replayJournal(again)); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(again, "0.dat"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(content)
	}
	if got := replayed(); got != "one two " {
		t.Errorf("replayed %q", got)
	}
	if err := errors.Join(j.wait(), j.halves[1].Close()); err != nil {
		t.Fatal(err)
	}
	if err := j.settle(); err == nil {
		t.Error("a closed file was emptied")
	}
	if got := replayed(); got != "" {
		t.Errorf("what was emptied first left %q, which cuts the rest off", got)
	}
}
