package destinations

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/grain"
	"svc/domain/destination"
)

// conclusion is a delivery with an outcome that is to be recorded.
type conclusion struct {
	record destination.Dispatch
	result result
}

// outcome returns the record of an attempt.
func (d *dispatcher) outcome(item *destination.DispatchItem, of turn, outcome *destination.DispatchOutcome, now time.Time) conclusion {
	record := recordOf(d.ref, d.id, item, outcome, now)
	record.Status, record.NextAt = destination.NextDispatch(outcome, item.Attempt, now)
	return conclusion{record, result{
		EventID: record.EventID, Turn: of, Status: record.Status, Attempts: record.Attempts, Next: record.NextAt, Error: record.Error, Sent: true,
	}}
}

// park records a delivery that is not sent as one that can be replayed.
func (d *dispatcher) park(c actor.Context, definition *destination.Destination, item *entry) {
	problem := "queue_full"
	switch {
	case !definition.Enabled:
		problem = "destination_disabled"
	case d.repeated(definition, item):
		problem = destination.OlderThanRestore
	}
	d.sending[item.EventID] = true
	now := d.node.Now()
	record := recordOf(d.ref, d.id, &destination.DispatchItem{ID: destination.DispatchID(d.id, item.EventID), Attempt: item.Attempts, Conversion: &item.Conversion}, &destination.DispatchOutcome{Error: problem}, now)
	record.Status = destination.DispatchParked
	d.record(c.ActorSystem().Root, c.Self(), conclusion{record, result{EventID: item.EventID, Turn: item.turn(), Status: destination.DispatchParked, Attempts: item.Attempts, Error: problem}})
}

// recordAtOnce is the number of outcomes that are recorded together.
const recordAtOnce = 1024

// record records an outcome, together with others that end meanwhile: in the delivery log, and then in the queue.
func (d *dispatcher) record(root *actor.RootContext, self *actor.PID, one conclusion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finished = append(d.finished, one)
	if d.recording {
		return
	}
	d.recording = true
	d.node.Workers.Go(func(ctx context.Context) {
		for {
			some := d.take()
			if len(some) == 0 || !d.keep(ctx, some) {
				return
			}
			events := make([]string, len(some))
			for i := range some {
				events[i] = some[i].result.EventID
			}
			root.Send(self, &recorded{events})
		}
	})
}

// take returns outcomes that are to be recorded; an empty result ends the recording.
func (d *dispatcher) take() []conclusion {
	d.mu.Lock()
	defer d.mu.Unlock()
	some := d.finished[:min(len(d.finished), recordAtOnce)]
	d.finished = d.finished[len(some):]
	d.recording = len(some) > 0
	return some
}

// keep records outcomes, and retries until it succeeds. It returns false if the node stops.
func (d *dispatcher) keep(ctx context.Context, some []conclusion) bool {
	records, results := make([]destination.Dispatch, 0, len(some)), make([]result, len(some))
	for i := range some {
		results[i] = some[i].result
		if some[i].record.ID != "" {
			records = append(records, some[i].record)
		}
	}
	for {
		err := d.keepOnce(ctx, records, results)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		d.ports.Logger.Warn("recording deliveries failed", "destination", d.id, "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}

func (d *dispatcher) keepOnce(ctx context.Context, records []destination.Dispatch, results []result) error {
	if len(records) > 0 {
		if err := d.ports.Log.Append(ctx, records); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, grain.IOTime)
	defer cancel()
	_, err := queueEnded.Ask(ctx, d.ports.Actors, d.Identity(), ended{At: d.node.Now(), Results: results})
	return err
}
