package pipeline

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
)

// deafListener leaves a note for one actor as long as the actor does not answer. Finding out takes AnswerTime.
type deafListener struct {
	NopListener
	outbox *Outbox

	mu   sync.Mutex
	deaf bool
	told []uint64
}

type deafBlock struct {
	NopBlockListener
	*deafListener
}

func (l *deafListener) Open() BlockListener { return deafBlock{deafListener: l} }

func (l *deafListener) Deliveries() map[string]Delivery {
	return map[string]Delivery{"shop": func(_ context.Context, note Note) error { return l.tell(note.Block) }}
}

func (l *deafListener) tell(block uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deaf {
		return errFails
	}
	l.told = append(l.told, block)
	return nil
}

func (b deafBlock) Stored(ctx context.Context, block *StoredBlock) error {
	if !b.outbox.Has("shop", "o/a") {
		if b.tell(block.ID) == nil {
			return nil
		}
		time.Sleep(AnswerTime)
	}
	return block.Later(ctx, []Note{{Kind: "shop", Identity: "o/a", Block: block.ID, Payload: json.RawMessage("{}")}})
}

// TestADeafActorDelaysNobody stops an actor from answering. Blocks are committed all the same. After the node has died,
// the actor answers. Then the notes of all blocks are delivered to it, each once and in the order of the blocks. An
// unreadable note does not block the delivery of the others.
func TestADeafActorDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := actorstest.NewStore()
		logger := slog.New(slog.DiscardHandler)
		outboxOf := func() *Outbox {
			return NewOutbox(notes, func(string, string) bool { return true }, logger)
		}
		log := &boundedLog{committed: map[int]event.LogPosition{}}
		listener := &deafListener{outbox: outboxOf(), deaf: true}
		sink := roomSink(&blocksStored{}, log, listener.outbox, listener)
		sink.begin(1)
		for n := range 5 {
			began := time.Now()
			sink.append(1, recordRange{0, int64(n), int64(n)}, &folded{Rows: ingest.Rows{Events: make([]event.Row, 1)}})
			if err := sink.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			took, bound := time.Since(began), 2*AnswerTime
			if n > 0 {
				bound = AnswerTime / 2 // an actor that is known not to answer is not waited for
			}
			if took > bound || log.committed[0].Offset != int64(n+1) {
				t.Errorf("block %d took %s and is committed at %d", n, took, log.committed[0].Offset)
			}
		}
		if len(listener.told) != 0 || listener.outbox.Len() != 1 {
			t.Errorf("told %v, %d actors are waited for", listener.told, listener.outbox.Len())
		}
		spoiled := domain.Entity{Owner: noteOwner + "shop/o/a", Kind: kindNote, ID: "1-0", Version: domain.Version{Sequence: 1}, Payload: []byte("{")}
		_ = notes.Put(t.Context(), []domain.Entity{spoiled}, nil, domain.Trail{})
		successor := outboxOf()
		roomSink(&blocksStored{}, log, successor, listener)
		if err := successor.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		listener.mu.Lock()
		listener.deaf = false
		listener.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() { defer close(ran); _ = successor.Run(ctx) }()
		time.Sleep(5 * time.Second)
		cancel()
		<-ran
		if len(listener.told) != 5 || !slices.IsSorted(listener.told) {
			t.Errorf("told %v", listener.told)
		}
		if left, _ := notes.LoadKind(t.Context(), kindNote); len(left) != 1 || successor.Len() != 0 {
			t.Errorf("%d notes are left, want the one that cannot be read", len(left))
		}
	})
}

// TestNotesOfOneBlockStayApart leaves two notes of one block for one actor, as two attempts at the block do. Another
// node then takes them over.
func TestNotesOfOneBlockStayApart(t *testing.T) {
	t.Parallel()
	store, told := actorstest.NewStore(), []string{}
	open := func() *Outbox {
		o := NewOutbox(store, func(string, string) bool { return true }, slog.New(slog.DiscardHandler))
		o.deliveries = map[string]Delivery{"shop": func(_ context.Context, note Note) error {
			told = append(told, string(note.Payload))
			return nil
		}}
		return o
	}
	first := open()
	for _, payload := range []string{`"a"`, `"b"`, `"a"`} {
		if err := first.put(t.Context(), 1, []Note{{Kind: "shop", Identity: "o/a", Block: 7, Environment: 1, Payload: json.RawMessage(payload)}}); err != nil {
			t.Fatal(err)
		}
	}
	second := open()
	if err := second.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.round(t.Context())
	slices.Sort(told)
	left, _ := store.LoadKind(t.Context(), kindNote)
	if !slices.Equal(told, []string{`"a"`, `"b"`}) || len(left) != 0 || second.Len() != 0 {
		t.Errorf("told %v, %d notes are left in the store, for %d actors in memory", told, len(left), second.Len())
	}
}

// TestANewGenerationAsksAgainAtOnce has an actor that does not answer until it is asked only once a minute. Then the
// actor moves to another node.
func TestANewGenerationAsksAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deaf atomic.Bool
		var told atomic.Int64
		o := NewOutbox(actorstest.NewStore(), func(string, string) bool { return true }, slog.New(slog.DiscardHandler))
		o.deliveries = map[string]Delivery{"shop": func(context.Context, Note) error {
			if deaf.Load() {
				return errFails
			}
			told.Add(1)
			return nil
		}}
		deaf.Store(true)
		if err := o.put(t.Context(), 1, []Note{{Kind: "shop", Identity: "o/a", Block: 7, Payload: json.RawMessage("{}")}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() { defer close(ran); _ = o.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		deaf.Store(false)
		if err := o.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * outboxEvery)
		synctest.Wait()
		if told.Load() != 1 || o.Len() != 0 {
			t.Errorf("the actor was told of %d notes, %d actors are waited for", told.Load(), o.Len())
		}
		cancel()
		<-ran
	})
}
