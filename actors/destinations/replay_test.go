package destinations

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/destination"
	"svc/protos"
)

// lossy loses the first answer to a call with a text in its payload: the call is executed, and its caller waits in
// vain.
type lossy struct {
	grain.Caller
	text []byte
	once *sync.Once
}

func (l lossy) Call(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	answer, err := l.Caller.Call(ctx, call)
	if call.GetMethod() == "ended" && bytes.Contains(call.GetPayload(), l.text) {
		l.once.Do(func() {
			<-ctx.Done()
			answer, err = nil, domain.Unavailable("The queue", time.Second)
		})
	}
	return answer, err
}

// TestAReplayOutlivesALostAnswer replays a parked delivery while its dispatcher waits for the queue's answer to the
// outcome. That answer is lost, so the outcome is recorded again after the replay. It does not end the replay.
func TestAReplayOutlivesALostAnswer(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.ports.Actors = lossy{w.ports.Actors, []byte(`"status":"parked"`), &sync.Once{}}
		made, err := bookCreate.Ask(t.Context(), w.ports.Actors, web.String(), *w.ports.Index.Destination(web, "dst_1"))
		if err != nil {
			t.Fatal(err)
		}
		w.answer[made.ID] = refuse(503)
		w.offer(t, made.ID, blockPart{Block: 7}, "order-1")
		for len(w.store.Present(kindBatch)) > 0 {
			time.Sleep(time.Millisecond)
		}
		if got := w.logged("dst_1 order-1"); got.Status != destination.DispatchParked {
			t.Fatalf("the queue has forgotten the delivery, and the log has %+v", got)
		}
		w.mu.Lock()
		w.answer[made.ID] = nil
		w.mu.Unlock()
		d := &Destinations{Actors: w.ports.Actors, Log: w, Now: time.Now}
		if replayed, _, err := d.Replay(t.Context(), web, made.ID, ""); err != nil || replayed != 1 {
			t.Fatalf("%d were replayed, %v", replayed, err)
		}
		time.Sleep(time.Minute)
		if made := w.attempts("dst_1", "order-1"); len(made) != 5 {
			t.Errorf("%d attempts, want those before the replay and one after it", len(made))
		}
		if got := w.logged("dst_1 order-1"); got.Status != destination.DispatchAccepted {
			t.Errorf("the log has %+v", got)
		}
		if left := w.store.Present(kindBatch); len(left) != 0 {
			t.Errorf("the queue keeps %v", left)
		}
	})
}

// TestAnOutcomeIsOfOneAttempt sends a queue every outcome of a delivery repeatedly, and between them outcomes of other
// attempts.
func TestAnOutcomeIsOfOneAttempt(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	q := &queue{}
	if err := q.Restore(nil); err != nil {
		t.Fatal(err)
	}
	offered := func(block uint64) turn {
		t.Helper()
		if _, err := q.onOffer(now, offer{blockPart: blockPart{Block: block}, Items: []destination.Conversion{{EventID: "order-1"}}}); err != nil {
			t.Fatal(err)
		}
		return q.entries["order-1"].turn()
	}
	tell := func(of turn, status destination.DispatchStatus) {
		t.Helper()
		r := result{EventID: "order-1", Turn: of, Status: status, Attempts: of.Before + 1, Next: now.Add(time.Minute), Sent: true}
		if _, err := q.onEnded(now, ended{At: now, Results: []result{r}}); err != nil {
			t.Fatal(err)
		}
	}
	first := offered(7)
	tell(first, destination.DispatchRetrying)
	second := q.entries["order-1"].turn()
	if want := (turn{first.Batch, 1}); second != want {
		t.Fatalf("after an attempt, the delivery is at %+v, want %+v", second, want)
	}
	for _, late := range []destination.DispatchStatus{destination.DispatchRetrying, destination.DispatchFailed, destination.DispatchParked, destination.DispatchAccepted} {
		if tell(first, late); q.entries["order-1"] == nil || q.entries["order-1"].turn() != second {
			t.Fatalf("a late %q of the first attempt changed the second one", late)
		}
	}
	tell(second, destination.DispatchParked)
	if q.entries["order-1"] != nil {
		t.Fatal("the delivery is not over")
	}
	again := offered(0)
	for _, late := range []turn{first, second, {Batch: first.Batch, Before: 0}} {
		if tell(late, destination.DispatchParked); q.entries["order-1"] == nil || q.entries["order-1"].turn() != again {
			t.Fatalf("a late outcome of %+v changed the replay %+v", late, again)
		}
	}
	if tell(again, destination.DispatchAccepted); q.entries["order-1"] != nil || len(q.batches) != 0 {
		t.Fatal("the replay is not over")
	}
}
