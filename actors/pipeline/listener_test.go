package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"svc/domain/event"
	"svc/domain/ingest"
)

// brokenListener panics in every method.
type brokenListener struct{ NopListener }

type brokenBlock struct{}

func (brokenListener) Open() BlockListener                     { return brokenBlock{} }
func (brokenBlock) Saw(int64, *ingest.Rows)                    { panic("saw") }
func (brokenBlock) Refused(ingest.LetterKind, []int)           { panic("refused") }
func (brokenBlock) Stored(context.Context, *StoredBlock) error { panic("stored") }
func (brokenBlock) Committed(uint64)                           { panic("committed") }

// TestAListenerThatPanicsStopsNobody puts a listener that panics before one that works.
func TestAListenerThatPanicsStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &boundedLog{committed: map[int]event.LogPosition{}}, &blocksStored{}
		works := &countingListener{}
		sink := roomSink(store, log, nil, brokenListener{}, works)
		sink.begin(1)
		sink.append(1, recordRange{0, 0, 0}, &folded{Rows: ingest.Rows{Events: make([]event.Row, 3)}})
		if err := sink.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if works.rows != 3 || works.stored != 1 || works.committed != 1 || log.committed[0].Offset != 1 {
			t.Errorf("%+v, committed %+v", works, log.committed)
		}
	})
}

// countingListener counts its calls.
type countingListener struct {
	NopListener
	rows, stored, committed int
}

func (l *countingListener) Open() BlockListener                        { return l }
func (l *countingListener) Saw(_ int64, rows *ingest.Rows)             { l.rows += rows.Len() }
func (l *countingListener) Refused(ingest.LetterKind, []int)           {}
func (l *countingListener) Stored(context.Context, *StoredBlock) error { l.stored++; return nil }
func (l *countingListener) Committed(uint64)                           { l.committed++ }

// TestAListenerIsRepeatedAlone lets a listener fail several times between two others.
func TestAListenerIsRepeatedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &boundedLog{committed: map[int]event.LogPosition{}}, &blocksStored{}
		before, after := &countingListener{}, &countingListener{}
		fails := &failingListener{times: 3}
		sink := roomSink(store, log, nil, before, fails, after)
		sink.begin(1)
		sink.append(1, recordRange{0, 0, 0}, &folded{Rows: ingest.Rows{Events: make([]event.Row, 1)}})
		if err := sink.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if before.stored != 1 || fails.stored != 4 || after.stored != 1 || len(store.rows) != 1 {
			t.Errorf("called %d, %d and %d times; %d inserts", before.stored, fails.stored, after.stored, len(store.rows))
		}
	})
}

var errFails = errors.New("the listener fails")

// failingListener fails a number of times.
type failingListener struct {
	countingListener
	times int
}

func (l *failingListener) Open() BlockListener { return l }

func (l *failingListener) Stored(context.Context, *StoredBlock) error {
	if l.stored++; l.stored <= l.times {
		return errFails
	}
	return nil
}
