package owned

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"svc/domain"
)

// wakeAgain is the time after which a delivered wake-up is due again, unless its actor has replaced or removed it.
const wakeAgain = 5 * time.Second

// wakeups holds the wake-ups of this process's partitions, by time. The table is read once for a partition; later saves
// come from the log.
type wakeups struct {
	mu sync.Mutex
	// partitions has the schedule of each owned partition; guarded by mu.
	partitions map[int]*schedule
}

// schedule is the wake-ups of one partition.
type schedule struct {
	wishes map[wishKey]*wish
	queue  wishQueue
	// complete is set once the table was read. Until then the schedule retains removed wake-ups, so that the table does
	// not bring them back.
	complete bool
}

// wishKey names a wake-up: the actor's kind and identity, and the name.
type wishKey struct{ kind, identity, name string }

// wish is one wake-up and the time of its next delivery. A removed wake-up has no due time and is not queued.
type wish struct {
	wakeup  domain.Wakeup
	version uint64
	next    time.Time
	place   int // index in the queue; negative if not queued
}

// versionedWakeup is a wake-up with the version of its write.
type versionedWakeup struct {
	domain.Wakeup
	version uint64
}

// begin creates an empty schedule for a partition and returns it.
func (w *wakeups) begin(partition int) *schedule {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &schedule{wishes: map[wishKey]*wish{}}
	w.partitions[partition] = s
	return s
}

// end removes the schedule of a partition, unless a new one has replaced it.
func (w *wakeups) end(partition int, s *schedule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.partitions[partition] == s {
		delete(w.partitions, partition)
	}
}

// note adds wake-ups of a partition to its schedule, if it has one.
func (w *wakeups) note(partition int, some []versionedWakeup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.partitions[partition]; s != nil {
		for n := range some {
			s.note(&some[n])
		}
	}
}

// finish marks a schedule as complete after the table was read into it.
func (w *wakeups) finish(s *schedule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.complete = true
	for key, known := range s.wishes {
		if known.wakeup.Due.IsZero() {
			delete(s.wishes, key)
		}
	}
}

// note adds a wake-up, unless a later version of it is known.
func (s *schedule) note(w *versionedWakeup) {
	key := wishKey{w.Kind, w.Identity, w.Name}
	known := s.wishes[key]
	switch {
	case known != nil && known.version > w.version:
		return
	case known == nil:
		known = &wish{place: -1}
		s.wishes[key] = known
	}
	known.wakeup, known.version, known.next = w.Wakeup, w.version, w.Due
	switch removed := w.Due.IsZero(); {
	case removed && known.place >= 0:
		heap.Remove(&s.queue, known.place)
	case !removed && known.place >= 0:
		heap.Fix(&s.queue, known.place)
	case !removed:
		heap.Push(&s.queue, known)
	}
	if w.Due.IsZero() && s.complete {
		delete(s.wishes, key)
	}
}

// take returns a wake-up that is due at a time. Within a partition the longest due wake-up comes first.
func (w *wakeups) take(at time.Time) (due domain.Wakeup, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.partitions {
		if len(s.queue) > 0 && !s.queue[0].next.After(at) {
			first := s.queue[0]
			first.next = at.Add(wakeAgain)
			heap.Fix(&s.queue, 0)
			return first.wakeup, true
		}
	}
	return domain.Wakeup{}, false
}

// Due yields the wake-ups of this process's partitions that are due at a time until yield returns false. A yielded
// wake-up is due again after wakeAgain, unless its actor has replaced or removed it.
func (s *Store) Due(at time.Time, yield func(domain.Wakeup) bool) {
	for {
		if due, found := s.wakeups.take(at); !found || !yield(due) {
			return
		}
	}
}

// learn schedules the wake-ups of a partition until ctx ends. ctx lasts as long as the claim.
func (s *Store) learn(ctx context.Context, partition int) {
	schedule := s.wakeups.begin(partition)
	defer s.wakeups.end(partition, schedule)
	s.wakeups.note(partition, s.tail.wakeups(partition))
	for ctx.Err() == nil {
		err := s.learns.Commit(ctx, learning{partition, schedule})
		if err == nil {
			<-ctx.Done()
			return
		}
		if ctx.Err() == nil {
			s.cfg.Logger.Warn("the wake-ups of a partition are not known yet", "partition", partition, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(movePause):
		}
	}
}

// learning is a partition with wake-ups that must be read from the table.
type learning struct {
	partition int
	schedule  *schedule
}

// readWakeups reads the wake-ups of some partitions together, because the table does not know partitions. If the store
// is unavailable, it reads the log.
func (s *Store) readWakeups(ctx context.Context, wanted []learning) error {
	read := make(map[int][]versionedWakeup, len(wanted))
	for _, one := range wanted {
		read[one.partition] = nil
	}
	note := func(w domain.Wakeup, version uint64) {
		partition := s.cfg.PartitionOf(w.Kind + "/" + w.Identity)
		if some, asked := read[partition]; asked {
			read[partition] = append(some, versionedWakeup{w, version})
		}
	}
	err := s.tables.Wakeups(ctx, note)
	if domain.CodeOf(err) == domain.CodeUnavailable {
		partitions := make([]bool, s.cfg.Partitions)
		for partition := range read {
			partitions[partition] = true
		}
		err = s.recallWakeups(ctx, partitions, note)
	}
	if err != nil {
		return err
	}
	for _, one := range wanted {
		s.wakeups.note(one.partition, read[one.partition])
		s.wakeups.finish(one.schedule)
	}
	return nil
}

// wishQueue implements heap.Interface with the next wish first.
type wishQueue []*wish

func (q wishQueue) Len() int           { return len(q) }
func (q wishQueue) Less(a, b int) bool { return q[a].next.Before(q[b].next) }

func (q wishQueue) Swap(a, b int) {
	q[a], q[b] = q[b], q[a]
	q[a].place, q[b].place = a, b
}

// Push implements heap.Interface.
func (q *wishQueue) Push(one any) {
	one.(*wish).place = len(*q)
	*q = append(*q, one.(*wish))
}

// Pop implements heap.Interface.
func (q *wishQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q, last.place = (*q)[:len(*q)-1], -1
	return last
}
