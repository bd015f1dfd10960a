package pipeline

import (
	"context"
	"slices"

	"svc/domain/event"
	"svc/protos"
)

const (
	// blockRows bounds the rows of a block. Above a million the engine would cut it into several parts, and a block
	// that is made again might be cut elsewhere.
	blockRows = 900_000
	// foldingBytes bounds the records that are folded at the same time, unless one delivery
	// alone has more.
	foldingBytes = 64 << 20
)

// ticket is the right to fold some records into the open block, or into the next one if the open block is taken
// meanwhile.
type ticket struct {
	generation int32
	partition  int
	first      int64
	rows       int // the most rows that the records make
	bytes      int
	// granted is closed once the ticket is valid or over is set.
	granted chan struct{}
	over    bool
}

func newTicket(generation int32, partition int, records []event.LogRecord) *ticket {
	t := &ticket{generation: generation, partition: partition, first: records[0].Offset, granted: make(chan struct{})}
	for i := range records {
		t.rows += protos.Items(records[i].Value)
		t.bytes += len(records[i].Value)
	}
	return t
}

// room holds the deliveries that may fold into the open block and the ones that wait for it, first come first served.
// The sink's lock guards it.
type room struct {
	folding map[*ticket]bool
	waiting []*ticket
	// wanted holds a token while a delivery waits.
	wanted chan struct{}
}

func newRoom() room { return room{folding: map[*ticket]bool{}, wanted: make(chan struct{}, 1)} }

// enter waits until records have room in the open block. The caller calls leave once the records are folded. It fails
// if the generation has ended, so that the records are read again in another.
func (s *Sink) enter(ctx context.Context, t *ticket) error {
	s.mu.Lock()
	s.room.waiting = append(s.room.waiting, t)
	s.grant()
	s.mu.Unlock()
	select {
	case <-t.granted:
	case <-ctx.Done():
		s.leave(t)
		return ctx.Err()
	}
	if t.over {
		return errOver
	}
	return nil
}

// leave returns the room, or the place in the queue.
func (s *Sink) leave(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.room.folding, t)
	if at := slices.Index(s.room.waiting, t); at >= 0 {
		s.room.waiting = slices.Delete(s.room.waiting, at, at+1)
	}
	s.grant()
}

// grant admits waiting deliveries in the order of arrival while there is room; the caller holds the lock. If one has to
// wait, the open block is stored without waiting for more rows.
func (s *Sink) grant() {
	for len(s.room.waiting) > 0 {
		next := s.room.waiting[0]
		if next.over = next.generation <= s.ended; !next.over {
			if !s.fits(next) {
				signal(s.room.wanted)
				return
			}
			s.room.folding[next] = true
		}
		s.room.waiting = s.room.waiting[1:]
		close(next.granted)
	}
	select {
	case <-s.room.wanted:
	default:
	}
}

// fits reports whether the open block has room for the records of a ticket in addition to all records that are being
// folded: any of them may enter this block or the next one. The caller holds the lock.
func (s *Sink) fits(t *ticket) bool {
	if s.full() {
		return false
	}
	rows, bytes, partitions := s.open.rows.Rows(), 0, map[int]int64{}
	for partition, span := range s.open.ranges {
		partitions[partition] = span.first
	}
	for other := range s.room.folding {
		rows, bytes = rows+other.rows, bytes+other.bytes
		if _, known := partitions[other.partition]; !known {
			partitions[other.partition] = other.first
		}
	}
	if rows > 0 && rows+t.rows > blockRows || bytes > 0 && bytes+t.bytes > foldingBytes {
		return false
	}
	if held := s.open.bytes + bytes; s.config.MaxRecords > 0 && held > 0 && held+t.bytes > s.config.MaxRecords {
		return false
	}
	if _, known := partitions[t.partition]; known || len(partitions) == 0 {
		return true
	}
	text := pendingHead + pendingRoom(t.partition, t.first)
	for partition, first := range partitions {
		text += pendingRoom(partition, first)
	}
	return text <= maxPendingText
}

// signal puts a token into a channel that holds one.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
