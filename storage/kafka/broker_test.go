package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acked := make(map[uint64]bool)
	commits := make(map[int]int64)
	note := func(line string) {
		var id uint64
		var partition int
		var offset int64
		if n, _ := fmt.Sscanf(line, "ack %d", &id); n == 1 {
			acked[id] = true
		} else if n, _ := fmt.Sscanf(line, "commit %d %d", &partition, &offset); n == 2 {
			commits[partition] = max(commits[partition], offset)
		}
	}
	for life := range 3 {
		c := spawn(t, "ingest", dir)
		for seen := 0; seen < 2000; seen++ {
			line, ok := <-c.lines
			if !ok {
				t.Fatalf("life %d ended before it was stopped", life)
			}
			note(line)
		}
		for _, line := range c.kill(t) {
			note(line)
		}
	}
	began := time.Now()
	f := reopen(t, dir)
	r := &recorder{starts: map[int]int64{0: 0, 1: 0, 2: 0, 3: 0}}
	consumer := f.consumer(r, node("node"))
	start(t, consumer.Run)
	eventually(t, "assignment", func() bool { return len(r.owned()) == childPartitions }, r.state)
	if took := time.Since(began); took >= defaultSession { // no member waits for the end of a session
		t.Errorf("ready after %s", took)
	} else {
		t.Logf("ready after %s, %d acknowledged", took, len(acked))
	}
	for _, p := range r.assignment().Partitions {
		if p.Offset < commits[p.Partition] || p.Metadata != fmt.Sprintf("up to %d", p.Offset) {
			t.Errorf("commit %d of partition %d came back as %+v", commits[p.Partition], p.Partition, p)
		}
	}
	checkAcknowledged(t, f, r, acked)
}

// reopen opens the directory of a killed child.
func reopen(t *testing.T, dir string) *fixture {
	t.Helper()
	b := startBroker(t, broker.Config{Dir: dir, Sync: true, Topics: []string{childTopic}, Partitions: childPartitions})
	f := &fixture{t: t, brokers: b.Addrs(), topic: childTopic, group: childGroup, partitions: childPartitions}
	f.prepare()
	return f
}

// checkAcknowledged reads the whole log and looks for every acknowledged event.
func checkAcknowledged(t *testing.T, f *fixture, r *recorder, acked map[uint64]bool) {
	t.Helper()
	ends, err := f.admin.Ends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "whole log", func() bool {
		for p, end := range ends {
			if int64(len(r.of(p))) < end {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprint(r.state(), ", ends ", ends) })
	for p := range f.partitions {
		for i, rec := range r.of(p) {
			if rec.Offset != int64(i) {
				t.Fatalf("partition %d: offset %d at place %d", p, rec.Offset, i)
			}
		}
		for _, id := range events(r.of(p)) {
			delete(acked, id)
		}
	}
	if len(acked) > 0 {
		t.Errorf("%d acknowledged events are lost", len(acked))
	}
}

func TestTornTailIsCut(t *testing.T) {
	for name, tear := range map[string]func(path string, size int64) error{
		"cut":     func(path string, size int64) error { return os.Truncate(path, size-3) },
		"zeros":   func(path string, size int64) error { return os.Truncate(path, size+1000) },
		"garbage": func(path string, size int64) error { return appendTo(path, strings.Repeat("tear", 50)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := spawn(t, "ingest", dir)
			for range 500 {
				<-c.lines
			}
			c.kill(t)
			paths, err := filepath.Glob(filepath.Join(dir, "partitions", childTopic+"-1", "*.dat"))
			if err != nil || len(paths) != 1 {
				t.Fatal(paths, err)
			}
			info, err := os.Stat(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := tear(paths[0], info.Size()); err != nil {
				t.Fatal(err)
			}
			f := reopen(t, dir)
			f.produce(Part{Partition: 1, Payload: eventValue(1 << 60)})
			r := &recorder{starts: map[int]int64{0: 0, 1: 0, 2: 0, 3: 0}}
			start(t, f.consumer(r, nil).Run)
			eventually(t, "new event", func() bool { return slices.Contains(events(r.of(1)), 1<<60) }, r.state)
			checkAcknowledged(t, f, r, nil)
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func TestReopenKeepsPositions(t *testing.T) {
	dir := t.TempDir()
	var last int32
	for life := range int64(3) {
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			f := reopen(t, dir)
			for p := range childPartitions {
				f.produce(Part{Partition: p, Payload: eventValue(uint64(life))})
			}
			r := new(recorder)
			c := f.consumer(r, nil)
			start(t, c.Run)
			eventually(t, "one record each", func() bool { return r.count() == childPartitions }, r.state)
			a := r.assignment()
			if a.Generation <= last {
				t.Errorf("generation %d after %d", a.Generation, last)
			}
			last = a.Generation
			var next []Position
			for _, p := range a.Partitions {
				if p.Offset != life || life > 0 && p.Metadata != fmt.Sprint("life ", life-1) {
					t.Errorf("life %d begins at %+v", life, p)
				}
				next = append(next, Position{Partition: p.Partition, Offset: life + 1, Metadata: fmt.Sprint("life ", life)})
			}
			if err := c.Commit(t.Context(), a.Generation, next); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTrimmedLogKeepsItsOffsets(t *testing.T) {
	dir := t.TempDir()
	for life := range int64(3) {
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			f := reopen(t, dir)
			for i := range uint64(5) {
				f.produce(Part{Partition: 0, Payload: eventValue(i)})
			}
			if err := f.admin.Trim(t.Context(), map[int]int64{0: 1 << 40}); err != nil {
				t.Error(err)
			}
			ends, err := f.admin.Ends(t.Context())
			if err != nil || ends[0] != 5*(life+1) {
				t.Errorf("end %d, %v", ends[0], err)
			}
		})
	}
}

func TestBrokerReturns(t *testing.T) {
	cfg := broker.Config{Dir: t.TempDir(), Topics: []string{childTopic}, Partitions: childPartitions}
	b, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = b.Addrs()[0]
	f := &fixture{t: t, brokers: b.Addrs(), topic: childTopic, group: childGroup, partitions: childPartitions}
	f.prepare()
	r := new(recorder)
	start(t, f.consumer(r, nil).Run)
	f.produce(Part{Partition: 0, Payload: eventValue(1)})
	eventually(t, "first event", func() bool { return r.count() == 1 }, r.state)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := f.producer.Produce(ctx, []Part{{Partition: 0, Payload: eventValue(2)}}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without broker: got %v, want ErrUnavailable", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- f.producer.Produce(t.Context(), []Part{{Partition: 1, Payload: eventValue(3)}}) }()
	startBroker(t, cfg)
	if err := <-waiting; err != nil {
		t.Errorf("waiting for the broker: %v", err)
	}
	f.produce(Part{Partition: 0, Payload: eventValue(4)})
	eventually(t, "events after the return", func() bool {
		return slices.Contains(events(r.of(0)), 4) && slices.Contains(events(r.of(1)), 3)
	}, r.state)
}

func TestKilledNodeIsReplacedAtOnce(t *testing.T) {
	f := newFixture(t, embedded(false), 4)
	dead := spawn(t, "member", f.brokers[0], f.topic, f.group)
	if line := <-dead.lines; line != "assigned 4" {
		t.Fatalf("child said %q", line)
	}
	dead.kill(t)
	began := time.Now()
	r := new(recorder)
	start(t, f.consumer(r, node("node")).Run)
	eventually(t, "take-over", func() bool { return len(r.owned()) == 4 }, r.state)
	if took := time.Since(began); took >= defaultSession { // no member waits for the end of a session
		t.Errorf("take-over took %s", took)
	} else {
		t.Logf("take-over took %s", took)
	}
}

// TestProducingInMemory produces without the network and reads over it, with and without syncing.
func TestProducingInMemory(t *testing.T) {
	for name, sync := range map[string]bool{"unforced": false, "forced": true} {
		t.Run(name, func(t *testing.T) {
			f := newMemoryFixture(t, sync, 2)
			f.produce(Part{Partition: 0, Payload: eventValue(1)}, Part{Partition: 1, Payload: eventValue(2)})
			f.produce(Part{Partition: 0, Payload: eventValue(3)})
			r := new(recorder)
			start(t, f.consumer(r, nil).Run)
			eventually(t, "all records", func() bool { return r.bytes() == 3*8 }, r.state)
			if first, second := events(r.of(0)), events(r.of(1)); !slices.Equal(first, []uint64{1, 3}) || !slices.Equal(second, []uint64{2}) {
				t.Errorf("read %v and %v", first, second)
			}
		})
	}
}
