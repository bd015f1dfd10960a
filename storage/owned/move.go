package owned

import (
	"context"
	"time"

	log "svc/storage/kafka/state"
)

const (
	// moveEvery is the pause between two moves of the tail to the tables. movePause is the pause after a failed move.
	moveEvery, movePause = time.Second, 5 * time.Second
	// markEvery is the pause between two marks of the moved positions. renewEvery is the time after which all marks are
	// written again even if nothing was moved, because clusters forget them.
	markEvery, renewEvery = 10 * time.Second, 12 * time.Hour
	// lastMove limits the move at the end of the process.
	lastMove = 10 * time.Second
)

// mover moves the tail to the tables in the background. Only its own goroutine uses it.
type mover struct {
	store *Store
	// marks has the last mark of each partition.
	marks           map[int]int64
	marked, renewed time.Time
}

// run moves the tail of this process's partitions until ctx ends, and then the whole tail.
func (m *mover) run(ctx context.Context) {
	now := time.Now()
	pause := moveEvery
	m.marked, m.renewed, m.marks = now, now, map[int]int64{}
	for {
		select {
		case <-ctx.Done():
			m.last(context.WithoutCancel(ctx))
			return
		case <-time.After(pause):
		}
		pause = moveEvery
		if err := m.store.moves.Commit(ctx, false); err != nil {
			m.store.cfg.Logger.Warn("the tables do not follow what is saved", "error", err)
			pause = movePause
			continue
		}
		m.keep(ctx, time.Now())
	}
}

// last moves the rest of the tail.
func (m *mover) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastMove)
	defer cancel()
	err := m.store.Await(ctx)
	if err == nil {
		err = m.store.moves.Commit(ctx, true)
	}
	if err != nil {
		m.store.cfg.Logger.Warn("what was saved last goes to the tables at the next start", "error", err)
		return
	}
	m.mark(ctx, true)
}

// keep writes the marks if they are due.
func (m *mover) keep(ctx context.Context, now time.Time) {
	if now.Sub(m.marked) >= markEvery {
		renew := now.Sub(m.renewed) >= renewEvery
		if m.marked = now; renew {
			m.renewed = now
		}
		m.mark(ctx, renew)
	}
}

// mark stores the moved positions in the log, and drops the part of the tail that other nodes have moved.
func (m *mover) mark(ctx context.Context, renew bool) {
	s, marks := m.store, map[int]log.Position{}
	for partition := range s.cfg.Partitions {
		moved := s.tail.movedTo(partition)
		if moved.Offset > m.marks[partition] && s.owner(partition) != nil || renew && moved.Offset > 0 {
			marks[partition] = moved
		}
	}
	if err := s.cfg.Log.Mark(ctx, marks); err != nil {
		s.cfg.Logger.Warn("how far the tables follow is not noted", "error", err)
		return
	}
	for partition, moved := range marks {
		m.marks[partition] = moved.Offset
	}
	if s.tail.isEmpty() {
		return
	}
	if moved, err := s.cfg.Log.Marks(ctx); err == nil {
		s.tail.dropAll(moved)
	}
}
