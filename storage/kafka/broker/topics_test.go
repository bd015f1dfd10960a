package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"svc/storage/kafka"
	"svc/storage/kafka/state"
)

const stateTopic = "state"

// saved holds the acknowledged values, by partition and key.
type saved [journalPartitions]map[string]string

// stateOf opens a log of state on a broker.
func stateOf(t *testing.T, b *Broker) *state.Log {
	t.Helper()
	l, err := state.Open(state.Config{
		Brokers: b.Addrs(), Dial: b.Dial, Topic: stateTopic, Partitions: journalPartitions, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if err := l.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// owners takes all partitions and returns their owners and values.
func owners(t *testing.T, l *state.Log) (all [journalPartitions]*state.Owner, found saved) {
	t.Helper()
	for p := range all {
		found[p] = map[string]string{}
		var err error
		all[p], err = l.Take(t.Context(), p, state.Position{}, func(entries []state.Entry) {
			for _, e := range entries {
				if e.Void {
					t.Errorf("the save of %s at offset %d is void", e.Key, e.Offset)
				}
				found[p][e.Key] = string(e.Value)
			}
		}, func([]string) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(all[p].Close)
	}
	return all, found
}

// save saves n values with random keys and sizes.
func (s *saved) save(t *testing.T, random *rand.Rand, all [journalPartitions]*state.Owner, n int) {
	t.Helper()
	for range n {
		p, key := random.IntN(journalPartitions), fmt.Sprint("key-", random.IntN(20))
		value := strings.Repeat("v", random.IntN(3000)) + fmt.Sprint(random.Uint64())
		if err := all[p].Save(t.Context(), []state.Record{{Key: key, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
		s[p][key] = value
	}
}

// TestALossOfPowerKeepsBothTopics makes a broker sync two topics through one journal, and opens it as losses of power
// leave it. The owners continue afterwards.
func TestALossOfPowerKeepsBothTopics(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	cfg := Config{Sync: true, Topics: []string{testTopic, stateTopic}, Partitions: journalPartitions, Dir: t.TempDir()}
	b := start(t, cfg)
	release := b.forcer.rest()
	b.forcer.journal.limit = 100 << 10
	release()
	produce := producerOf(t, b, journalPartitions)
	all, known := owners(t, stateOf(t, b))
	var events written
	for round := range 3 {
		for range 2 {
			events.write(t, random, produce, 10)
			known.save(t, random, all, 10)
		}
		for name, cut := range map[string]func(certain, size int64) int64{
			"nothing": func(certain, _ int64) int64 { return certain },
			"all":     func(_, size int64) int64 { return size },
			"a part":  func(certain, size int64) int64 { return max(0, certain) + random.Int64N(size-max(0, certain)+1) },
		} {
			t.Run(fmt.Sprintf("%d %s", round, name), func(t *testing.T) {
				image := b.image(t, cut)
				after, err := Open(Config{Dir: image, Sync: true, Topics: cfg.Topics, Partitions: cfg.Partitions})
				if err != nil {
					t.Fatal(err)
				}
				next, found := owners(t, stateOf(t, after))
				for p := range known {
					if !maps.Equal(found[p], known[p]) {
						t.Errorf("partition %d holds %d values, want %d, or others", p, len(found[p]), len(known[p]))
					}
				}
				found.save(t, random, next, 10)
				if err := after.Close(); err != nil {
					t.Error(err)
				}
				events.check(t, image, round%2 == 0)
			})
		}
	}
}

// TestOneForceCoversBothTopics appends to both topics while no round runs. It then counts the entries that the next
// round writes to the journal.
func TestOneForceCoversBothTopics(t *testing.T) {
	b := start(t, Config{Dir: t.TempDir(), Sync: true, Topics: []string{testTopic, stateTopic}, Partitions: journalPartitions})
	produce := producerOf(t, b, journalPartitions)
	all, _ := owners(t, stateOf(t, b))
	if err := produce(t.Context(), []kafka.Part{{Payload: []byte("first")}}); err != nil { // the first round bypasses the journal
		t.Fatal(err)
	}
	release := b.forcer.rest()
	before := b.forcer.journal.end
	appended := make(chan error, 2)
	go func() { appended <- produce(context.Background(), []kafka.Part{{Payload: []byte("event")}}) }()
	go func() {
		appended <- all[1].Save(context.Background(), []state.Record{{Key: "key", Value: []byte("value")}})
	}()
	for _, folder := range []string{partitionDir(b.dir, testTopic, 0), partitionDir(b.dir, stateTopic, 1)} {
		awaitGrowth(t, b, folder)
	}
	release()
	if err := errors.Join(<-appended, <-appended); err != nil {
		t.Fatal(err)
	}
	defer b.forcer.rest()()
	content, err := os.ReadFile(journalName(b.dir, b.forcer.journal.current))
	if err != nil {
		t.Fatal(err)
	}
	topics := map[string]int{}
	for _, e := range entriesIn(content[before:]) {
		for _, topic := range []string{testTopic, stateTopic} {
			if strings.Contains(e.name, topic) {
				topics[topic]++
			}
		}
	}
	if topics[testTopic] != 1 || topics[stateTopic] != 1 {
		t.Errorf("the journal has %v entries of the two appends, want one of each topic", topics)
	}
}

// awaitGrowth waits until a partition's log is longer than its synced part. No round runs meanwhile.
func awaitGrowth(t *testing.T, b *Broker, folder string) {
	t.Helper()
	for _, l := range b.forcer.logs {
		if l.dir != folder {
			continue
		}
		for t.Context().Err() == nil {
			if info, err := l.active.Stat(); err != nil {
				t.Fatal(err)
			} else if info.Size() > l.forced {
				return
			}
		}
	}
}

// TestATopicGrows opens a folder with a higher partition count than before. The log's records stay, and the new
// partitions are durable too.
func TestATopicGrows(t *testing.T) {
	dir := t.TempDir()
	open := func(partitions int) (*Broker, error) {
		b, err := Open(Config{Dir: dir, Sync: true, Topics: []string{testTopic, stateTopic}, Partitions: 2, Wider: map[string]int{testTopic: partitions}})
		if err != nil {
			t.Fatal(err)
		}
		topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: b.Addrs(), Topic: testTopic, Partitions: partitions, Step: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer topic.Close()
		return b, topic.Ensure(t.Context())
	}
	for round, partitions := range []int{2, 6, 6} {
		b, err := open(partitions)
		if err != nil {
			t.Fatal(err)
		}
		produce := producerOf(t, b, partitions)
		for partition := range partitions {
			if err := produce(t.Context(), []kafka.Part{{Partition: partition, Payload: []byte("x")}}); err != nil {
				t.Fatal(err)
			}
		}
		topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: b.Addrs(), Topic: testTopic, Partitions: partitions})
		if err != nil {
			t.Fatal(err)
		}
		ends, err := topic.Ends(t.Context())
		if err != nil || ends[0] != int64(round+1) || ends[partitions-1] != int64(max(1, round)) && partitions == 6 {
			t.Errorf("round %d: the partitions end at %v: %v", round, ends, err)
		}
		topic.Close()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := open(4)
	if !errors.Is(err, kafka.ErrPartitions) {
		t.Errorf("a topic shrinks: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
