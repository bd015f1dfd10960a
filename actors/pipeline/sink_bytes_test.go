package pipeline

import (
	"context"
	"testing"

	"svc/domain/event"
)

// TestABlockHoldsNoMoreBytesThanItMay lets deliveries of several partitions wait for room. The deliveries that are
// being folded and the open block together stay within the bound of bytes. The only exception is a single delivery that
// is longer than the bound. Storing a block makes room.
func TestABlockHoldsNoMoreBytesThanItMay(t *testing.T) {
	t.Parallel()
	sink := roomSink(&blocksStored{}, &boundedLog{committed: map[int]event.LogPosition{}}, nil)
	sink.config.MaxRecords = 1000
	sink.begin(1)
	enter := func(partition, bytes int) *ticket {
		entered := newTicket(1, partition, []event.LogRecord{{Partition: partition, Value: make([]byte, bytes)}})
		sink.mu.Lock()
		defer sink.mu.Unlock()
		sink.room.waiting = append(sink.room.waiting, entered)
		sink.grant()
		return entered
	}
	granted := func(entered *ticket) bool {
		select {
		case <-entered.granted:
			return true
		default:
			return false
		}
	}
	fold := func(entered *ticket) {
		sink.append(1, recordRange{partition: entered.partition}, &folded{bytes: entered.bytes})
		sink.leave(entered)
	}
	first, second, third := enter(0, 600), enter(1, 400), enter(2, 1)
	if !granted(first) || !granted(second) || granted(third) {
		t.Fatalf("while 1,000 bytes are folded: %v, %v, %v", granted(first), granted(second), granted(third))
	}
	fold(first)
	fold(second)
	if granted(third) || !sink.busy() {
		t.Error("the open block is full, and another delivery was let in")
	}
	block := sink.take()
	if block == nil || block.bytes != 1000 || !granted(third) {
		t.Fatalf("taken is %+v; the next delivery has room: %v", block, granted(third))
	}
	fold(third)
	sink.giveBack(block)
	if block.bytes != 0 {
		t.Errorf("an emptied block has %d bytes", block.bytes)
	}
	if err := sink.flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if long := enter(3, 5000); !granted(long) {
		t.Error("a delivery that is longer than a block waits although nothing else is there")
	}
}
