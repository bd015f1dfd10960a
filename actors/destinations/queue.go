package destinations

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/destination"
)

// The queue of a destination: the core of the dispatcher.
//
//	identity   org/app/id, two slugs and the destination's id
//	rank       2
//	owns       the deliveries that are not over, and the blocks that it has taken
//	persists   entities conversions, one per batch; takenBlocks, one per minute; destinationState
//	woken by   calls, the wake-up send while anything waits, and its own timer
//	limits     maxQueued deliveries; further ones are parked in the delivery log
//	stops      after ten minutes without a message
const kindQueue = "destination"

// The kinds of its entities.
const (
	kindBatch = "conversions"
	kindTaken = "takenBlocks"
	kindState = "destinationState"
)

const (
	// maxQueued is the number of deliveries that a queue holds for sending.
	maxQueued = 16_384
	// takenFor is how long a queue remembers the blocks that it has taken. A block is offered again until it is
	// committed.
	takenFor = 30 * time.Minute
	// wakeAfter is the time after a save at which the queue is woken if nothing else happens, as after a crash.
	wakeAfter = 15 * time.Second
)

// queue is the core of a dispatcher.
type queue struct {
	identity string
	batches  map[string]*batch
	taken    map[int64]*takenBlocks
	state    destination.State
	// entries holds the deliveries of all batches by the id of their event; waiting holds the deliveries that are not
	// being sent.
	entries map[string]*entry
	waiting waiting
	count   int64
}

// batch holds the deliveries that one message brought and that are not over.
type batch struct {
	ID    string   `json:"id"`
	Items []*entry `json:"items"`
}

// entry is one delivery in the queue.
type entry struct {
	destination.Conversion
	// Attempts counts the attempts so far; Next is when the next one is due.
	Attempts int       `json:"attempts,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Surplus says that the queue was full: the delivery is parked without an attempt.
	Surplus bool `json:"surplus,omitempty"`
	// Replayed is when a member replayed the delivery, zero without a replay.
	Replayed time.Time `json:"replayed,omitzero"`

	batch *batch
	order int64
	// place is the entry's index in waiting, -1 while it is being sent.
	place int
}

// turn identifies an attempt of a delivery by the batch of the delivery and the number of previous attempts. A replay
// has a batch of its own.
type turn struct {
	Batch  string `json:"batch"`
	Before int    `json:"before"`
}

// turn returns the attempt that is due, or under way.
func (e *entry) turn() turn { return turn{e.batch.ID, e.Attempts} }

// takenBlocks lists the parts of blocks that were taken in one minute.
type takenBlocks struct {
	Parts []blockPart `json:"parts"`
}

// blockPart holds the conversions of a block with hashes in a range. If To is zero, the range has no end.
type blockPart struct {
	Block uint64 `json:"block"`
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
}

// holds reports whether the part contains a conversion of a block.
func (p blockPart) holds(block, hash uint64) bool {
	return p.Block == block && hash >= p.From && (p.To == 0 || hash < p.To)
}

type (
	// offer passes conversions to a queue. Block is zero for replays.
	offer struct {
		blockPart
		Items []destination.Conversion `json:"items"`
	}
	// offered lists the conversions of a replay that were not taken. The outcome of an earlier attempt is still being
	// recorded for them, and the queue drops them after that.
	offered struct {
		Busy []string `json:"busy,omitempty"`
	}
	// ended holds the final states of deliveries.
	ended struct {
		At      time.Time `json:"at"`
		Results []result  `json:"results"`
	}
	result struct {
		EventID string `json:"eventId"`
		// Turn is the attempt of the result. If the delivery is at another attempt, the result changes nothing.
		Turn turn `json:"turn"`
		// Status is empty for a delivery that must no longer be made.
		Status   destination.DispatchStatus `json:"status"`
		Attempts int                        `json:"attempts"`
		Next     time.Time                  `json:"next,omitzero"`
		Error    string                     `json:"error,omitempty"`
		// Sent reports whether an attempt was made.
		Sent bool `json:"sent"`
	}
)

var queueKind = grain.NewKind[*queue](kindQueue, 2, 10*time.Minute)

// The methods of the queue.
var (
	queueOffer   = grain.On(queueKind, "offer", (*queue).onOffer, grain.Repeatable)
	queueReplay  = grain.On(queueKind, "replay", (*queue).onOffer) // called by a member, with a ledger entry that is saved
	queueEnded   = grain.On(queueKind, "ended", (*queue).onEnded, grain.Repeatable)
	queueState   = grain.On(queueKind, "state", (*queue).onState, grain.Repeatable)
	queueDiscard = grain.On(queueKind, "discard", (*queue).onDiscard, grain.Repeatable)
	_            = grain.On(queueKind, "wake", (*queue).onWake)
)

// Restore rebuilds the queue. All deliveries wait: a delivery that was being sent is sent again.
func (q *queue) Restore(entities []domain.Entity) error {
	q.batches, q.taken, q.entries, q.waiting, q.state = map[string]*batch{}, map[int64]*takenBlocks{}, map[string]*entry{}, nil, destination.State{}
	for _, entity := range entities {
		switch entity.Kind {
		case kindBatch:
			read, err := grain.Decode[batch](entity)
			if err != nil {
				return err
			}
			q.batches[read.ID] = &read
			for _, item := range read.Items {
				q.add(&read, item)
			}
		case kindTaken:
			read, err := grain.Decode[takenBlocks](entity)
			if err != nil {
				return err
			}
			minute, err := strconv.ParseInt(entity.ID, 10, 64)
			if err != nil {
				return err
			}
			q.taken[minute] = &read
		case kindState:
			read, err := grain.Decode[destination.State](entity)
			if err != nil {
				return err
			}
			q.state = read
		}
	}
	return nil
}

// add adds an entry of a batch to the waiting ones.
func (q *queue) add(of *batch, item *entry) {
	q.count++
	item.batch, item.order = of, q.count
	q.entries[item.EventID] = item
	heap.Push(&q.waiting, item)
}

// onOffer adds the conversions that are new to the queue.
func (q *queue) onOffer(now time.Time, m offer) (grain.Outcome[offered], error) {
	made := &batch{ID: "b" + strconv.FormatUint(m.Block, 36) + "-" + strconv.FormatUint(m.From, 36)}
	if m.Block == 0 || q.batches[made.ID] != nil {
		made.ID += "-" + strconv.FormatInt(now.UnixNano(), 36) + "-" + strconv.FormatInt(q.count, 36)
	}
	var answer offered
	known := q.relevant(m.Block)
	for i := range m.Items {
		item := &entry{Conversion: m.Items[i], Next: now, Surplus: len(q.entries) >= maxQueued}
		if m.Block == 0 {
			item.Replayed = now
		}
		hash := conversionHash(item.EventID)
		queued := q.entries[item.EventID]
		if queued != nil && queued.place < 0 && m.Block == 0 {
			answer.Busy = append(answer.Busy, item.EventID)
		}
		if queued != nil || slices.ContainsFunc(known, func(p blockPart) bool { return p.holds(m.Block, hash) }) {
			continue
		}
		made.Items = append(made.Items, item)
		q.add(made, item)
	}
	var effects grain.Effects
	if m.Block != 0 && !slices.Contains(known, m.blockPart) {
		effects.Writes = q.remember(now, m.blockPart)
	}
	if len(made.Items) > 0 {
		q.batches[made.ID] = made
		effects.Writes = append(effects.Writes, grain.Put(kindBatch, made.ID, made))
		effects.Wakeups = q.wakeups(now)
	}
	return grain.Outcome[offered]{Answer: answer, Effects: effects}, nil
}

// relevant returns the parts of a block that were taken.
func (q *queue) relevant(block uint64) (parts []blockPart) {
	for _, taken := range q.taken {
		for _, part := range taken.Parts {
			if part.Block == block {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// remember records that a part of a block was taken, and deletes old records.
func (q *queue) remember(now time.Time, part blockPart) (writes []grain.Write) {
	minute := now.Unix() / 60
	if q.taken[minute] == nil {
		q.taken[minute] = &takenBlocks{}
	}
	q.taken[minute].Parts = append(q.taken[minute].Parts, part)
	writes = append(writes, grain.Put(kindTaken, strconv.FormatInt(minute, 10), q.taken[minute]))
	for old := range q.taken {
		if minute-old > int64(takenFor/time.Minute) {
			delete(q.taken, old)
			writes = append(writes, grain.Delete(kindTaken, strconv.FormatInt(old, 10)))
		}
	}
	return writes
}

// wakeups returns the wake-up of the queue while anything waits.
func (q *queue) wakeups(now time.Time) []domain.Wakeup {
	wakeup := domain.Wakeup{Kind: kindQueue, Identity: q.identity, Name: "send"}
	if len(q.entries) > 0 {
		wakeup.Due = now.Add(wakeAfter)
		if len(q.waiting) > 0 && q.waiting[0].Next.After(wakeup.Due) {
			wakeup.Due = q.waiting[0].Next
		}
	}
	return []domain.Wakeup{wakeup}
}

// onEnded records the outcomes of deliveries. An unknown delivery is already over. The outcome of an attempt before the
// present one is a repetition after a lost answer.
func (q *queue) onEnded(now time.Time, m ended) (grain.Outcome[grain.None], error) {
	touched := map[*batch]bool{}
	for i := range m.Results {
		r := &m.Results[i]
		if r.Sent && !m.At.Before(q.state.LastDispatchAt) {
			q.state.LastDispatchAt, q.state.LastError = m.At, r.Error
		}
		item := q.entries[r.EventID]
		if item == nil || item.turn() != r.Turn {
			continue
		}
		touched[item.batch] = true
		if r.Status == destination.DispatchRetrying {
			item.Attempts, item.Next = r.Attempts, r.Next
			q.requeue(item)
			continue
		}
		q.drop(item)
	}
	writes := []grain.Write{grain.Put(kindState, "state", q.state)}
	for one := range touched {
		if len(one.Items) == 0 {
			delete(q.batches, one.ID)
			writes = append(writes, grain.Delete(kindBatch, one.ID))
			continue
		}
		writes = append(writes, grain.Put(kindBatch, one.ID, one))
	}
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: writes, Wakeups: q.wakeups(now)}}, nil
}

// requeue puts an entry back among the waiting ones, ordered by the time at which it is due.
func (q *queue) requeue(item *entry) {
	if item.place >= 0 {
		heap.Fix(&q.waiting, item.place)
		return
	}
	heap.Push(&q.waiting, item)
}

// drop removes an entry.
func (q *queue) drop(item *entry) {
	if item.place >= 0 {
		heap.Remove(&q.waiting, item.place)
	}
	delete(q.entries, item.EventID)
	item.batch.Items = slices.DeleteFunc(item.batch.Items, func(one *entry) bool { return one == item })
}

// next removes the first due entry from the waiting ones and returns it, or nil if none is due.
func (q *queue) next(now time.Time) *entry {
	if len(q.waiting) == 0 || q.waiting[0].Next.After(now) && !q.waiting[0].Surplus {
		return nil
	}
	return heap.Pop(&q.waiting).(*entry)
}

func (q *queue) onState(time.Time, grain.None) (grain.Outcome[destination.State], error) {
	state := q.state
	state.Waiting = len(q.entries)
	return grain.Answer(state), nil
}

// onDiscard deletes everything, for a deleted destination.
func (q *queue) onDiscard(now time.Time, _ grain.None) (grain.Outcome[grain.None], error) {
	var writes []grain.Write
	for id := range q.batches {
		writes = append(writes, grain.Delete(kindBatch, id))
	}
	for minute := range q.taken {
		writes = append(writes, grain.Delete(kindTaken, strconv.FormatInt(minute, 10)))
	}
	if !q.state.LastDispatchAt.IsZero() {
		writes = append(writes, grain.Delete(kindState, "state"))
	}
	if err := q.Restore(nil); err != nil || len(writes) == 0 {
		return grain.Outcome[grain.None]{}, err
	}
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: writes, Wakeups: q.wakeups(now)}}, nil
}

// onWake postpones the wake-up, or removes it; the dispatcher sends the deliveries that are due. A wake-up is stored
// with an entity and has its version: the state, which does not change.
func (q *queue) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	state := grain.Delete(kindState, "state")
	if !q.state.LastDispatchAt.IsZero() {
		state = grain.Put(kindState, "state", q.state)
	}
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: []grain.Write{state}, Wakeups: q.wakeups(now)}}, nil
}

// waiting is a heap: first the entries to be parked, then the others by the time at which they are due.
type waiting []*entry

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	if w[i].Surplus != w[j].Surplus {
		return w[i].Surplus
	}
	return cmp.Or(w[i].Next.Compare(w[j].Next), cmp.Compare(w[i].order, w[j].order)) < 0
}

func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i, j
}

// Push is part of heap.Interface.
func (w *waiting) Push(x any) {
	item := x.(*entry)
	item.place = len(*w)
	*w = append(*w, item)
}

// Pop is part of heap.Interface.
func (w *waiting) Pop() any {
	last := len(*w) - 1
	item := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	item.place = -1
	return item
}
