package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
)

// timedStore records when blocks are stored. Once it hangs, none is stored.
type timedStore struct {
	blocksStored

	hangs time.Duration // after the beginning; zero never
	fails error
	times []time.Duration
	began time.Time
}

func (s *timedStore) Insert(ctx context.Context, token string, id uint64, block Block) error {
	if s.fails != nil {
		return s.fails
	}
	if s.hangs > 0 && time.Since(s.began) > s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := s.blocksStored.Insert(ctx, token, id, block); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Since(s.began))
	return nil
}

// storedAt returns the number of stored rows, and the number of blocks stored since an instant.
func (s *timedStore) storedAt(since time.Duration) (rows, blocks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, at := range s.times {
		rows += s.rows[n]
		if at > since {
			blocks++
		}
	}
	return rows, blocks
}

// usual is the configuration of a node alone, without its dependencies.
var usual = SinkConfig{MaxRows: 200_000, MaxBytes: 64 << 20, Interval: 500 * time.Millisecond, Unread: 2 * time.Second}

// readSinks runs one sink for each store and folds a row into it every 50 ms.
func readSinks(t *testing.T, config SinkConfig, stores ...*timedStore) *Sinks {
	t.Helper()
	config.Log, config.Now, config.Logger = &boundedLog{committed: map[int]event.LogPosition{}}, time.Now, slog.New(slog.DiscardHandler)
	config.Metrics, config.NewBlockID = NewSinkMetrics(prometheus.NewRegistry()), func(now time.Time) uint64 { return NewBlockNumber(now, 1<<31) }
	sinks := NewSinks(config, domain.LogShape{Shards: len(stores), Partitions: 1}, func(shard int) BlockStore { return stores[shard] })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = sinks.Run(ctx) })
	for shard, store := range stores {
		store.began = time.Now()
		sinks.all[shard].begin(1)
		running.Go(func() {
			for offset := int64(0); ctx.Err() == nil; offset++ {
				sinks.of(shard).append(1, recordRange{shard, offset, offset}, &folded{Rows: ingest.Rows{Events: make([]event.Row, 1)}})
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	return sinks
}

// TestBlocksAreFewerWhileNobodyReads counts the blocks of half a minute: before any read, while a stream is open, after
// it, while questions are asked all the time, and while they are asked every five seconds.
func TestBlocksAreFewerWhileNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &timedStore{}
		sinks := readSinks(t, usual, store)
		const never = time.Hour
		count := func(every time.Duration) (blocks int) {
			time.Sleep(100 * time.Millisecond) // no block is stored at the ends of the counted time
			from := time.Since(store.began)
			reading, end := context.WithTimeout(t.Context(), 30*time.Second)
			defer end()
			for ticker := time.NewTicker(every); reading.Err() == nil; {
				select {
				case <-ticker.C:
					sinks.Read(t.Context(), 0)
				case <-reading.Done():
					ticker.Stop()
				}
			}
			_, blocks = store.storedAt(from)
			return blocks
		}
		counts := []int{count(never)}
		sinks.Read(t.Context(), time.Minute)
		counts = append(counts, count(never))
		time.Sleep(time.Minute)
		counts = append(counts, count(never), count(300*time.Millisecond), count(5*time.Second))
		if want := []int{15, 60, 15, 60, 19}; !slices.Equal(counts, want) {
			t.Errorf("blocks while nobody reads, a stream is open, nobody reads, questions are asked all the time, and every five seconds: %v, want %v", counts, want)
		}
	})
}

// TestTheFirstReadFindsWhatWasFolded begins to read at many moments between two blocks. All records folded before are
// stored when the read continues, also while a block is under way, and when the others of the same page continue. The
// next reads do not wait.
func TestTheFirstReadFindsWhatWasFolded(t *testing.T) {
	for moment := time.Duration(0); moment < 2*time.Second; moment += 7 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			store := &timedStore{}
			sinks := readSinks(t, usual, store)
			time.Sleep(10*time.Second + moment)
			synctest.Wait()
			// As many questions as a page asks arrive at once.
			folded := int((10*time.Second+moment)/(50*time.Millisecond)) + 1
			began := time.Now()
			var page sync.WaitGroup
			for range 12 {
				page.Go(func() {
					sinks.Read(t.Context(), 0)
					if rows, _ := store.storedAt(0); rows < folded {
						t.Errorf("%s after a block: %d rows are stored, %d were folded", moment, rows, folded)
					}
				})
			}
			page.Wait()
			// A block under way and the next one take 10 ms each.
			if waited := time.Since(began); waited > 20*time.Millisecond {
				t.Errorf("%s after a block: the first read waited %s", moment, waited)
			}
			began = time.Now()
			if sinks.Read(t.Context(), 0); time.Since(began) != 0 {
				t.Errorf("the second read waited %s", time.Since(began))
			}
		})
	}
}

// TestTheFirstReadWaitsForNoStoreThatIsAway lets one of two shards hang or refuse connections. At most the first read
// waits for it. Later reads do not, though each is the first after a pause.
func TestTheFirstReadWaitsForNoStoreThatIsAway(t *testing.T) {
	for name, c := range map[string]struct {
		away   *timedStore
		atMost time.Duration
	}{
		"hangs":   {&timedStore{hangs: 2500 * time.Millisecond}, firstReadTime},
		"refuses": {&timedStore{fails: errors.New("connection refused")}, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serving := &timedStore{}
				sinks := readSinks(t, usual, serving, c.away)
				time.Sleep(3 * time.Second)
				for _, atMost := range []time.Duration{c.atMost, 20 * time.Millisecond, 20 * time.Millisecond} {
					began := time.Now()
					if sinks.Read(t.Context(), 0); time.Since(began) > atMost {
						t.Errorf("a read waited %s, %s is allowed", time.Since(began), atMost)
					}
					time.Sleep(2 * time.Second)
				}
				sinks.Read(t.Context(), time.Minute)
				time.Sleep(100 * time.Millisecond) // no block is stored at the ends of the counted time
				from := time.Since(serving.began)
				time.Sleep(10 * time.Second)
				if _, blocks := serving.storedAt(from); blocks != 20 {
					t.Errorf("the shard that serves stored %d blocks in ten seconds, want 20", blocks)
				}
			})
		})
	}
}

// TestAReadWaitsForNoBlockWhileMoreArrivesThanIsStored has a block under way in a sink with waiting streams.
func TestAReadWaitsForNoBlockWhileMoreArrivesThanIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, config := &timedStore{hangs: time.Second}, usual
		config.MaxRows = 1
		sinks := readSinks(t, config, store)
		time.Sleep(2500 * time.Millisecond) // the second block is under way
		began := time.Now()
		if sinks.Read(t.Context(), 0); time.Since(began) != 0 {
			t.Errorf("a read waited %s for one of many blocks", time.Since(began))
		}
	})
}

// TestTheIntervalCountsForBlocksThatWereBegun reads the interval as callers do that judge how old a record may be. An
// interval that becomes shorter now does not apply to the blocks before.
func TestTheIntervalCountsForBlocksThatWereBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sinks := readSinks(t, usual, &timedStore{})
		var intervals []time.Duration
		for range 5 {
			sinks.Read(t.Context(), 0)
			intervals = append(intervals, sinks.Interval())
			time.Sleep(time.Second)
		}
		sinks.Read(t.Context(), time.Minute)
		for range 3 {
			intervals = append(intervals, sinks.Interval())
			time.Sleep(time.Second)
		}
		long, short := 2*time.Second, 500*time.Millisecond
		if want := []time.Duration{long, long, long, long, long, long, long, short}; !slices.Equal(intervals, want) {
			t.Errorf("the intervals are %v, want %v", intervals, want)
		}
	})
}

// TestAReadHurriesNothingWhereBlocksAreAlwaysSoon counts the blocks of a node of a cluster, with a question every 0.7
// s.
func TestAReadHurriesNothingWhereBlocksAreAlwaysSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, config := &timedStore{}, usual
		config.Unread = config.Interval
		sinks := readSinks(t, config, store)
		time.Sleep(100 * time.Millisecond) // no block is stored at the ends of the counted time
		for range 10 {
			began := time.Now()
			if sinks.Read(t.Context(), 0); time.Since(began) != 0 {
				t.Errorf("a read waited %s", time.Since(began))
			}
			time.Sleep(700 * time.Millisecond)
		}
		if _, blocks := store.storedAt(100 * time.Millisecond); blocks != 14 {
			t.Errorf("seven seconds had %d blocks, want 14", blocks)
		}
	})
}
