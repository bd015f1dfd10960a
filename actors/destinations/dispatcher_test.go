package destinations

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/destination"
)

// tried is an attempt of a scripted sender.
type tried struct {
	destination, event string
	attempt            int
	after              time.Duration
}

// world is a node with destinations that have scripted receivers.
type world struct {
	*actorstest.Host
	store *actorstest.Store
	ports *Ports
	begun time.Time

	mu     sync.Mutex
	made   []tried
	log    map[string]destination.Dispatch
	answer map[string]func(attempt int) destination.DispatchOutcome
	life   uint64
	// slow is the time between storing records in the log and its answer.
	slow time.Duration
}

func (w *world) Batch(destination.Kind) int { return 1 }

func (w *world) Send(ctx context.Context, request destination.DispatchRequest) []destination.DispatchOutcome {
	item := request.Items[0]
	w.mu.Lock()
	w.made = append(w.made, tried{request.Destination.ID, item.Conversion.EventID, item.Attempt, time.Since(w.begun)})
	answer := w.answer[request.Destination.ID]
	w.mu.Unlock()
	if answer == nil {
		return []destination.DispatchOutcome{{OK: true, StatusCode: 200}}
	}
	outcome := answer(item.Attempt)
	if outcome.Latency > 0 { // it hangs
		<-ctx.Done()
	}
	return []destination.DispatchOutcome{outcome}
}

func (w *world) Open(_ string, sealed []byte) ([]byte, error) { return sealed, nil }

func (w *world) Contacts(context.Context, uint64, []uint64) (map[uint64]destination.Contacts, error) {
	return nil, nil
}

// Append stores the record of the latest millisecond, and the last one of equal ones, as the store does.
func (w *world) Append(_ context.Context, records []destination.Dispatch) error {
	w.mu.Lock()
	for _, record := range records {
		name := record.DestinationID + " " + record.EventID
		if record.At.UnixMilli() >= w.log[name].At.UnixMilli() {
			w.log[name] = record
		}
	}
	w.mu.Unlock()
	time.Sleep(w.slow)
	return nil
}

func (w *world) Dispatches(context.Context, destination.DispatchQuery) ([]destination.Dispatch, error) {
	return nil, nil
}

// Parked returns the parked deliveries of a destination.
func (w *world) Parked(_ context.Context, _ domain.AppRef, d, _ string, _ *destination.DispatchKey, _ int) (parked []destination.Dispatch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, record := range w.log {
		if record.DestinationID == d && record.Status == destination.DispatchParked {
			parked = append(parked, record)
		}
	}
	return parked, nil
}

// attempts returns the attempts to send an event to a destination.
func (w *world) attempts(destination, event string) (some []tried) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.made {
		if one.destination == destination && one.event == event {
			some = append(some, one)
		}
	}
	return some
}

// logged returns the record with a name in the delivery log.
func (w *world) logged(name string) destination.Dispatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log[name]
}

var web = domain.AppRef{Org: "acme", App: "web"}

// play runs a test in a world.
func play(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{store: actorstest.NewStore(), begun: time.Now(), log: map[string]destination.Dispatch{}, answer: map[string]func(int) destination.DispatchOutcome{}}
		node := &grain.Node{Store: w.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { _ = node.Workers.Run(ctx); close(ended) }()
		w.Host = actorstest.NewHostOf(t, func(c *cluster.Cluster) []cluster.Kind {
			w.ports = &Ports{
				Actors: c, Index: NewIndex(), Sender: w, Opener: w, Contacts: w, Log: w, Slots: make(chan struct{}, Slots), Logger: slog.New(slog.DiscardHandler),
				Life:     func(uint64, string, int64) uint64 { w.mu.Lock(); defer w.mu.Unlock(); return w.life },
				Restored: func() time.Time { return time.Time{} },
			}
			return Kinds(node, w.ports)
		})
		sealed, err := json.Marshal(destination.Credential{Secret: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		var all []destination.Destination
		for _, id := range []string{"dst_1", "dst_2"} {
			all = append(all, destination.Destination{ID: id, Sealed: sealed, Spec: destination.Spec{Kind: destination.Webhook, Enabled: true}})
		}
		w.ports.Index.Publish(domain.Version{Generation: 1, Sequence: 1}, web, all)
		test(t, w)
		w.Stop()
		cancel()
		<-ended
		time.Sleep(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

// offer passes conversions to a destination as a part of a block.
func (w *world) offer(t *testing.T, d string, part blockPart, events ...string) {
	t.Helper()
	m := offer{blockPart: part}
	for _, event := range events {
		m.Items = append(m.Items, destination.Conversion{EventID: event, ReceivedAt: w.begun})
	}
	if _, err := queueOffer.Ask(t.Context(), w.ports.Actors, queueIdentity(web, d), m); err != nil {
		t.Fatal(err)
	}
}

func refuse(code int) func(int) destination.DispatchOutcome {
	return func(int) destination.DispatchOutcome {
		return destination.DispatchOutcome{StatusCode: code, Retry: true, Error: fmt.Sprint(code)}
	}
}

// TestRetriesAreAtTheirTimes checks the specified times, and parks a delivery after four refusals.
func TestRetriesAreAtTheirTimes(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.answer["dst_1"] = refuse(503)
		w.offer(t, "dst_1", blockPart{Block: 7}, "order-1")
		time.Sleep(time.Hour)
		made := w.attempts("dst_1", "order-1")
		if len(made) != 4 {
			t.Fatalf("%d attempts", len(made))
		}
		for n, pause := range []time.Duration{30 * time.Second, 2 * time.Minute, 8 * time.Minute} {
			if got := made[n+1].after - made[n].after; got < pause || got > pause+time.Second || made[n+1].attempt != n+2 {
				t.Errorf("attempt %d came after %v, want %v", n+2, got, pause)
			}
		}
		if got := w.logged("dst_1 order-1"); got.Status != destination.DispatchParked || got.Attempts != 4 || got.ID != destination.DispatchID("dst_1", "order-1") || got.Conversion == nil {
			t.Errorf("the log has %+v", got)
		}
		if left := w.store.Present(kindBatch); len(left) != 0 {
			t.Errorf("the queue keeps %v", left)
		}
	})
}

// TestAReplayWaitsForItsOutcome replays a delivery that the log shows as parked and its queue does not.
func TestAReplayWaitsForItsOutcome(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.answer["dst_2"] = func(int) destination.DispatchOutcome {
			return destination.DispatchOutcome{StatusCode: 503, Retry: true, Error: "503"}
		}
		w.slow = time.Second
		w.offer(t, "dst_2", blockPart{Block: 7}, "order-2")
		for w.logged("dst_2 order-2").Status != destination.DispatchParked {
			time.Sleep(time.Millisecond)
		}
		w.mu.Lock()
		w.answer["dst_2"] = nil
		w.mu.Unlock()
		began := time.Now()
		d := &Destinations{Actors: w.ports.Actors}
		if err := d.requeue(t.Context(), queueIdentity(web, "dst_2"), offer{Items: []destination.Conversion{{EventID: "order-2", ReceivedAt: w.begun}}}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < w.slow/2 {
			t.Errorf("the queue took it after %s, while the outcome was being recorded", waited)
		}
		time.Sleep(time.Minute)
		if made := w.attempts("dst_2", "order-2"); len(made) != 5 || w.logged("dst_2 order-2").Status != destination.DispatchAccepted {
			t.Errorf("%d attempts, the log has %+v", len(made), w.logged("dst_2 order-2"))
		}
	})
}

// late is a log that stores records a second late.
type late struct{ *world }

func (l late) Append(ctx context.Context, records []destination.Dispatch) error {
	time.Sleep(time.Second)
	return l.world.Append(ctx, records)
}

// TestAReplayEndsAtOnce replays a delivery that is accepted before the log has the replay: the log ends with accepted.
func TestAReplayEndsAtOnce(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		made, err := bookCreate.Ask(t.Context(), w.ports.Actors, web.String(), *w.ports.Index.Destination(web, "dst_1"))
		if err != nil {
			t.Fatal(err)
		}
		w.answer[made.ID] = refuse(503)
		w.offer(t, made.ID, blockPart{Block: 7}, "order-1")
		time.Sleep(time.Hour)
		if got := w.logged("dst_1 order-1"); got.Status != destination.DispatchParked {
			t.Fatalf("the log has %+v", got)
		}
		w.mu.Lock()
		w.answer[made.ID] = nil
		w.mu.Unlock()
		d := &Destinations{Actors: w.ports.Actors, Log: late{w}, Now: time.Now}
		if replayed, _, err := d.Replay(t.Context(), web, made.ID, ""); err != nil || replayed != 1 {
			t.Fatalf("%d were replayed, %v", replayed, err)
		}
		time.Sleep(time.Minute)
		if got := w.logged("dst_1 order-1"); got.Status != destination.DispatchAccepted || len(w.attempts("dst_1", "order-1")) != 5 {
			t.Errorf("the log has %+v", got)
		}
	})
}

// TestAConversionIsBegunOnce offers a block again: whole, divided otherwise, and after the actor was unloaded.
func TestAConversionIsBegunOnce(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		events := []string{}
		for n := range 50 {
			events = append(events, fmt.Sprint("order-", n))
		}
		w.offer(t, "dst_1", blockPart{Block: 7}, events...)
		time.Sleep(time.Second)
		w.EvictAll()
		time.Sleep(time.Second)
		w.offer(t, "dst_1", blockPart{Block: 7}, events...)
		w.offer(t, "dst_1", blockPart{Block: 7, To: 1 << 63}, events...)
		w.offer(t, "dst_1", blockPart{Block: 8}, "order-of-another-block")
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.made) != len(events)+1 {
			t.Errorf("%d attempts, want %d", len(w.made), len(events)+1)
		}
	})
}

// TestAQueueIsWokenAfterACrash ends the queue's activation while a delivery waits: only the wake-up can have it sent.
func TestAQueueIsWokenAfterACrash(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		wake := grain.Declare[string, grain.None](kindQueue, cluster.WakeMethod)
		w.answer["dst_1"] = func(attempt int) destination.DispatchOutcome {
			return destination.DispatchOutcome{OK: attempt > 1, StatusCode: 503, Retry: attempt == 1, Error: "503"}
		}
		w.offer(t, "dst_1", blockPart{Block: 7}, "order-1")
		time.Sleep(10 * time.Second)
		w.EvictAll()
		time.Sleep(time.Minute)
		due, err := w.store.Due(t.Context(), time.Now(), 10)
		if err != nil || len(due) != 1 {
			t.Fatalf("%v are due, %v", due, err)
		}
		if _, err := wake.Ask(t.Context(), w.Cluster, due[0].Identity, due[0].Name); err != nil {
			t.Fatalf("the queue is not woken: %v", err)
		}
		time.Sleep(time.Minute)
		if made := w.attempts("dst_1", "order-1"); len(made) != 2 {
			t.Errorf("%d attempts, want another one after the crash", len(made))
		}
		later := time.Now().Add(24 * time.Hour)
		if due, err := w.store.Due(t.Context(), later, 10); err != nil || len(due) != 0 {
			t.Errorf("%v are due although nothing waits, %v", due, err)
		}
		// A wake-up that a crash left for an empty queue is removed.
		if _, err := wake.Ask(t.Context(), w.Cluster, queueIdentity(web, "dst_2"), due[0].Name); err != nil {
			t.Errorf("an empty queue is not woken: %v", err)
		}
		if kept := w.store.Present(kindState); len(kept) != 1 {
			t.Errorf("%d states are kept, want that of the queue that has sent", len(kept))
		}
	})
}

// TestADestinationThatHangsDelaysNoOther offers conversions to two destinations for half a minute. One of them answers
// nothing within its time. Each attempt for the other begins in the same millisecond as if both answered at once.
func TestADestinationThatHangsDelaysNoOther(t *testing.T) {
	began := func(hangs bool) (begun []time.Duration) {
		play(t, func(t *testing.T, w *world) {
			if hangs {
				w.answer["dst_1"] = func(int) destination.DispatchOutcome {
					return destination.DispatchOutcome{Retry: true, Error: "time", Latency: destination.DispatchTime}
				}
			}
			for n := range 300 {
				part := blockPart{Block: uint64(n + 1)}
				w.offer(t, "dst_1", part, fmt.Sprint("slow-", n), fmt.Sprint("slower-", n))
				w.offer(t, "dst_2", part, fmt.Sprint("fast-", n), fmt.Sprint("faster-", n))
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(contactsGather)
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			others := 0
			for _, one := range w.made {
				if one.destination == "dst_2" {
					begun = append(begun, one.after)
				} else {
					others++
				}
			}
			if (others < 600) != hangs {
				t.Errorf("%d attempts began for the other destination", others)
			}
		})
		return begun
	}
	alone, beside := began(false), began(true)
	if len(alone) != 600 || !slices.Equal(alone, beside) {
		t.Errorf("of %d attempts beside a destination that hangs the last began after %v, of %d alone after %v", len(beside), beside[len(beside)-1], len(alone), alone[len(alone)-1])
	}
}

// TestWhoWasErasedIsNotSent drops a delivery that waits for a retry when its person is erased.
func TestWhoWasErasedIsNotSent(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.answer["dst_1"] = refuse(500)
		w.offer(t, "dst_1", blockPart{Block: 7}, "order-1")
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		w.life = 99
		w.mu.Unlock()
		time.Sleep(time.Hour)
		if made := w.attempts("dst_1", "order-1"); len(made) != 1 {
			t.Errorf("%d attempts", len(made))
		}
		if left := w.store.Present(kindBatch); len(left) != 0 {
			t.Errorf("the queue keeps %v", left)
		}
	})
}

// TestWhoWasErasedIsNotKept drops deliveries of erased people for a destination that is away or disabled.
func TestWhoWasErasedIsNotKept(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		later := func(int) destination.DispatchOutcome {
			return destination.DispatchOutcome{Retry: true, RetryAfter: time.Hour}
		}
		w.answer["dst_1"], w.answer["dst_2"] = later, refuse(500)
		for block := range 20 {
			w.offer(t, "dst_1", blockPart{Block: uint64(block) + 1}, fmt.Sprint("order-", block))
		}
		w.offer(t, "dst_2", blockPart{Block: 1}, "order-x")
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		w.life = 99
		w.mu.Unlock()
		off := destination.Destination{ID: "dst_2", Spec: destination.Spec{Kind: destination.Webhook}}
		w.ports.Index.Publish(domain.Version{Generation: 1, Sequence: 2}, web, []destination.Destination{*w.ports.Index.Destination(web, "dst_1"), off})
		time.Sleep(2 * time.Minute) // before the first retry of dst_1 is due
		if left := w.store.Present(kindBatch); len(left) != 0 {
			t.Errorf("the queues keep %d batches", len(left))
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for name, record := range w.log {
			if record.Status == destination.DispatchParked {
				t.Errorf("%s is parked", name)
			}
		}
	})
}

// TestWhatHasNoPlaceIsParked fills a queue.
func TestWhatHasNoPlaceIsParked(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	q := &queue{}
	if err := q.Restore(nil); err != nil {
		t.Fatal(err)
	}
	m := offer{blockPart: blockPart{Block: 1}}
	for n := range maxQueued + 5 {
		m.Items = append(m.Items, destination.Conversion{EventID: fmt.Sprint(n)})
	}
	if _, err := q.onOffer(now, m); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		if got := q.next(now); got.Surplus != (n < 5) {
			t.Errorf("number %d of the waiting is surplus: %t", n, got.Surplus)
		}
	}
}
