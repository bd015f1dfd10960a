package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"svc/domain/event"
	"svc/domain/ingest"
	"svc/protos"
)

// boundedLog accepts positions like a Kafka cluster, and stores the last one of each partition.
type boundedLog struct {
	mu        sync.Mutex
	committed map[int]event.LogPosition
}

func (l *boundedLog) Commit(_ context.Context, _ int32, positions []event.LogPosition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, position := range positions {
		if len(position.Metadata) > 4096 {
			return fmt.Errorf("metadata of %d bytes is too long", len(position.Metadata))
		}
	}
	for _, position := range positions {
		l.committed[position.Partition] = position
	}
	return nil
}

// blocksStored stores the number of rows of each block.
type blocksStored struct {
	mu   sync.Mutex
	rows []int
}

// numberBlock counts its rows and drops them.
type numberBlock struct{ n int }

func (b *numberBlock) Add(rows *ingest.Rows) { b.n += rows.Len() }
func (b *numberBlock) Rows() int             { return b.n }
func (b *numberBlock) Counts() int           { return 0 }
func (b *numberBlock) Bytes() int            { return 0 }
func (b *numberBlock) Reset()                { b.n = 0 }

func (b *numberBlock) Without(_ ingest.LetterKind, rows []int) { b.n -= len(rows) }

func (b *blocksStored) NewBlock() Block { return &numberBlock{} }

func (b *blocksStored) Insert(_ context.Context, _ string, _ uint64, block Block) error {
	time.Sleep(10 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, block.Rows())
	return nil
}

func (b *blocksStored) Sift(context.Context, uint64, Block) ([]ingest.RefusedRow, error) {
	return nil, nil
}

// CountRows counts every insert, also repeated ones.
func (b *blocksStored) CountRows(context.Context, uint64, Block) (sum int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rows := range b.rows {
		sum += rows
	}
	return sum, nil
}

func (b *blocksStored) Park(context.Context, []ingest.DeadLetter) error { return nil }

func roomSink(store BlockStore, log Committer, outbox *Outbox, listeners ...Listener) *Sink {
	logger := slog.New(slog.DiscardHandler)
	return NewSink(SinkConfig{
		Store: store, Log: log, MaxRows: 200_000, MaxBytes: 64 << 20, Interval: time.Second, Now: time.Now, Logger: logger,
		Metrics:    NewSinkMetrics(prometheus.NewRegistry()),
		NewBlockID: func(now time.Time) uint64 { return NewBlockNumber(now, 1<<31) }, Outbox: outbox, Listeners: listeners,
	})
}

// TestACompletedBlockIsRecounted completes a block in a store without tokens, which stores it each time.
func TestACompletedBlockIsRecounted(t *testing.T) {
	t.Parallel()
	sink := roomSink(&blocksStored{}, &boundedLog{committed: map[int]event.LogPosition{}}, nil)
	for times, recovered := range map[float64][]int{0: nil, 1: {0, 1}} {
		store := &blocksStored{}
		sink.config.Store = store
		for range 2 {
			block := sink.newBlock(0)
			block.id, block.recovered = 7, recovered
			block.add(recordRange{}, &folded{Rows: ingest.Rows{Events: make([]event.Row, 3)}})
			if err := sink.insert(t.Context(), block); err != nil {
				t.Fatal(err)
			}
		}
		var uneven dto.Metric
		if err := sink.config.Metrics.Uneven.Write(&uneven); err != nil || uneven.GetCounter().GetValue() != times {
			t.Errorf("recovered %v: %v blocks are uneven, want %v (%v)", recovered, uneven.GetCounter().GetValue(), times, err)
		}
		sink.config.Metrics = NewSinkMetrics(prometheus.NewRegistry())
	}
}

// TestABlockSpansNoMorePartitionsThanItsTextHolds lets every partition of the largest log deliver at once, at high
// offsets. All is stored within the time of a few blocks.
func TestABlockSpansNoMorePartitionsThanItsTextHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions, first, records = 4096, int64(1) << 40, 5
		log, store := &boundedLog{committed: map[int]event.LogPosition{}}, &blocksStored{}
		sink := roomSink(store, log, nil)
		ctx, cancel := context.WithCancel(t.Context())
		sink.begin(1)
		ran := make(chan struct{})
		go func() { defer close(ran); _ = sink.Run(ctx) }()
		began := time.Now()
		var readers sync.WaitGroup
		for partition := range partitions {
			readers.Go(func() {
				value, _ := protos.AppendRecord(nil, &protos.Event{Id: "e"})
				for n := range int64(records) {
					room := newTicket(1, partition, []event.LogRecord{{Partition: partition, Offset: first + n, Value: value}})
					if err := sink.enter(ctx, room); err != nil {
						t.Error(err)
						return
					}
					sink.append(1, recordRange{partition, first + n, first + n}, &folded{Rows: ingest.Rows{Events: make([]event.Row, room.rows)}})
					sink.leave(room)
				}
			})
		}
		readers.Wait()
		for done := false; !done; {
			time.Sleep(10 * time.Millisecond)
			log.mu.Lock()
			done = len(log.committed) == partitions
			for _, position := range log.committed {
				done = done && position.Offset == first+records && position.Metadata == ""
			}
			log.mu.Unlock()
			if time.Since(began) > 10*time.Second {
				t.Fatalf("after %s %d partitions are committed", time.Since(began), len(log.committed))
			}
		}
		stored := 0
		for _, rows := range store.rows {
			stored += rows
		}
		if stored != partitions*records {
			t.Errorf("%d rows are stored, %d were delivered", stored, partitions*records)
		}
		cancel()
		<-ran
	})
}

// TestABlockStaysBelowWhatTheStoreCuts lets many partitions deliver more than a block holds at the same time.
func TestABlockStaysBelowWhatTheStoreCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions, rows = 40, 60_000
		log, store := &boundedLog{committed: map[int]event.LogPosition{}}, &blocksStored{}
		sink := roomSink(store, log, nil)
		ctx, cancel := context.WithCancel(t.Context())
		sink.begin(1)
		ran := make(chan struct{})
		go func() { defer close(ran); _ = sink.Run(ctx) }()
		var readers sync.WaitGroup
		for partition := range partitions {
			readers.Go(func() {
				room := &ticket{generation: 1, partition: partition, rows: rows, bytes: 100, granted: make(chan struct{})}
				if err := sink.enter(ctx, room); err != nil {
					t.Error(err)
					return
				}
				defer sink.leave(room)
				time.Sleep(time.Millisecond) // all of them fold at the same time
				sink.append(1, recordRange{partition, 0, 0}, &folded{Rows: ingest.Rows{Events: make([]event.Row, rows)}})
			})
		}
		readers.Wait()
		time.Sleep(10 * time.Second)
		cancel()
		<-ran
		stored := 0
		for _, n := range store.rows {
			if stored += n; n > blockRows {
				t.Errorf("a block has %d rows", n)
			}
		}
		if stored != partitions*rows {
			t.Errorf("%d rows are stored, %d were delivered", stored, partitions*rows)
		}
	})
}
