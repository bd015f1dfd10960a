package state

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var histories = flag.Int("histories", 40, "random histories of a partition of state")

// TestReadersAgreeOnOneHistory runs processes that take a partition from each other, save, and stop. Some writes arrive
// late, and the broker fails now and then. All readers must see one history, with everything that was acknowledged and
// nothing that was refused.
func TestReadersAgreeOnOneHistory(t *testing.T) {
	t.Parallel()
	room := make(chan struct{}, 16) // the runs mostly wait
	var all sync.WaitGroup
	var saved atomic.Int64
	for seed := range *histories {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				h := newHistory(t, uint64(seed))
				h.run()
				saved.Add(int64(h.saved))
			})
		})
	}
	all.Wait()
	if saved.Load() < int64(5**histories) {
		t.Errorf("%d values count in %d histories", saved.Load(), *histories)
	}
}

// The outcome of a save, as its caller knows it.
const (
	acknowledged = iota
	refused
	unknown
)

// history is one random run of several processes on one partition.
type history struct {
	t       *testing.T
	cluster *cluster
	broker  *kfake.Cluster
	random  *rand.Rand // only for seeds of processes

	mu     sync.Mutex
	fates  map[string]int // by value; guarded by mu
	places []Position     // positions of owners; guarded by mu
	all    []*process
	faults []*kfake.FaultHandle // guarded by mu
	saved  int                  // the number of values that count in the end
}

// process is one node of the history.
type process struct {
	history *history
	name    string
	random  *rand.Rand
	wire    *gate
	log     *Log
	owner   *Owner
	owners  []*Owner // all owners of this process
	past    []Reign  // of former ownerships
	saves   sync.WaitGroup
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{t: t, random: rand.New(rand.NewPCG(seed, 1)), fates: map[string]int{}}
	h.cluster, h.broker = simulated(t, 1)
	return h
}

// run lets the processes act concurrently and compares the views of the readers.
func (h *history) run() {
	live := new(recorded)
	f, err := h.cluster.open(h.t, "live").Follow(h.t.Context(), make([]Position, 1), live.sink())
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	for n := range 3 {
		p := &process{history: h, name: fmt.Sprint("p", n), random: rand.New(rand.NewPCG(h.random.Uint64(), uint64(n))), wire: newGate()}
		p.log = h.cluster.openOver(h.t, p.name, p.wire.Dial)
		h.all = append(h.all, p)
	}
	var acting sync.WaitGroup
	for _, p := range h.all {
		acting.Go(p.act)
	}
	acting.Wait()
	for _, p := range h.all {
		p.rest()
	}
	h.compare(f, live)
}

// act does a number of random things, one after another; only saves may overlap.
func (p *process) act() {
	for step := range 20 {
		switch n := p.random.IntN(20); {
		case n < 3 || p.owner == nil:
			p.take()
		case n < 13:
			p.save(step)
		case n < 14:
			p.checkpoint()
		case n < 16:
			p.free(step)
		case n < 18:
			p.stand()
		case n < 19:
			p.forge(step)
		default:
			p.history.fail(p.random)
		}
	}
}

// rest waits until no request of the process is under way, even one that its caller has given up.
func (p *process) rest() {
	p.saves.Wait()
	for _, o := range p.owners {
		o.queue.idle.Wait()
	}
	p.log.free[0].idle.Wait()
}

// take takes the partition, from the start or from a former position of an owner.
func (p *process) take() {
	h := p.history
	h.mu.Lock()
	from := Position{}
	if len(h.places) > 0 && p.random.IntN(2) == 0 {
		from = h.places[p.random.IntN(len(h.places))]
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	o, err := p.log.Take(context.WithoutCancel(ctx), 0, from, func([]Entry) {}, func([]string) {})
	if errors.Is(err, ErrLost) {
		return
	}
	if err != nil {
		h.t.Errorf("%s takes: %v", p.name, err)
		return
	}
	if p.owner != nil {
		p.past = append(p.past, p.owner.Position().Reign)
	}
	p.owner, p.owners = o, append(p.owners, o)
	h.note(o.Position())
}

// note stores a position for readers to begin at.
func (h *history) note(at Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.places = append(h.places, at)
}

// settled stores the outcome of values.
func (h *history) settled(err error, values ...string) {
	fate := acknowledged
	switch {
	case errors.Is(err, ErrUnknown):
		fate = unknown
	case err != nil:
		fate = refused
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, value := range values {
		h.fates[value] = fate
	}
}

// save saves two values, often in parallel with the next step. Some callers give up early.
func (p *process) save(step int) {
	value, owner, patience := fmt.Sprint(p.name, "-save-", step), p.owner, time.Minute
	if p.random.IntN(4) == 0 {
		patience = time.Duration(p.random.IntN(5)) * time.Millisecond
	}
	records := []Record{{fmt.Sprint("key-", p.random.IntN(5)), []byte(value + "a")}, {"both", []byte(value + "b")}}
	p.saves.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := owner.Save(ctx, records)
		p.history.settled(err, value+"a", value+"b")
		if err == nil {
			p.history.note(owner.Position())
		}
	})
	if p.random.IntN(2) == 0 {
		p.saves.Wait()
	}
}

func (p *process) checkpoint() {
	owner := p.owner
	p.saves.Go(func() {
		if _, err := owner.Checkpoint(context.Background()); err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrUnknown) {
			p.history.t.Errorf("%s begins a checkpoint: %v", p.name, err)
		}
	})
}

func (p *process) free(step int) {
	value := fmt.Sprint(p.name, "-free-", step)
	p.saves.Go(func() {
		p.history.settled(p.log.Append(context.Background(), 0, []Record{{"free", []byte(value)}}), value)
	})
}

// stand stops the process for some time.
func (p *process) stand() {
	time.AfterFunc(time.Duration(p.random.IntN(20))*time.Millisecond, p.wire.stop())
}

// forge sends a write of a former ownership now, under a producer that no broker knows.
func (p *process) forge(step int) {
	if len(p.past) == 0 {
		return
	}
	value := fmt.Sprint(p.name, "-forged-", step)
	batch := encode(owned, p.past[p.random.IntN(len(p.past))], []Record{{"both", []byte(value)}}, time.Now())
	stamp(batch, identity{-1, -1, -1})
	p.history.settled(errors.New("it is void"), value)
	_, _ = p.log.sender.send(context.Background(), 0, batch) // it may fail like any request
}

// fail makes the broker answer one of the next produce requests with an error, or moves the partition to a broker.
func (h *history) fail(random *rand.Rand) {
	faults := []*kerr.Error{kerr.RequestTimedOut, kerr.UnknownServerError, kerr.NotLeaderForPartition, kerr.OutOfOrderSequenceNumber}
	if random.IntN(len(faults)+1) == 0 {
		_ = h.broker.MoveTopicPartition(testTopic, 0, int32(random.IntN(2)))
		return
	}
	handle := h.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: faults[random.IntN(len(faults))], Count: 1})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, handle)
}

// recorded holds the entries that count, as one reader saw them.
type recorded struct {
	mu      sync.Mutex
	entries []string
	offsets []int64
}

func (r *recorded) each(entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		if !e.Void {
			r.entries = append(r.entries, fmt.Sprintf("%d %s=%s", e.Offset, e.Key, e.Value))
			r.offsets = append(r.offsets, e.Offset)
		}
	}
}

func (r *recorded) sink() Sink {
	return Sink{Each: func(_ int, entries []Entry, _ Position) { r.each(entries) }, Gap: func(int) {}}
}

// compare reads the log in several ways.
func (h *history) compare(f *Follower, live *recorded) {
	for _, fault := range h.faults {
		fault.Remove()
	}
	l, whole := h.cluster.open(h.t, "reader"), new(recorded)
	end, err := l.offset(h.t.Context(), 0, latest)
	if err == nil {
		err = l.until(h.t.Context(), 0, new(cursor), end, whole.each)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	await(h.t, l, f)
	if !slices.Equal(live.entries, whole.entries) {
		h.t.Errorf("the live follower saw %v\nthe whole log has %v", live.entries, whole.entries)
	}
	for _, from := range h.places {
		part := new(recorded)
		if err := l.until(h.t.Context(), 0, &cursor{at: from}, end, part.each); err != nil {
			h.t.Fatal(err)
		}
		begin, _ := slices.BinarySearch(whole.offsets, from.Offset)
		if !slices.Equal(part.entries, whole.entries[begin:]) {
			h.t.Errorf("from %v on there are %v\nthe whole log has %v", from, part.entries, whole.entries[begin:])
		}
	}
	h.judge(whole)
}

// judge compares the history with the results that callers got.
func (h *history) judge(whole *recorded) {
	times := map[string]int{}
	for _, entry := range whole.entries {
		for value := range h.fates {
			if len(entry) > len(value) && entry[len(entry)-len(value)-1:] == "="+value {
				times[value]++
			}
		}
	}
	for value, fate := range h.fates {
		switch n := times[value]; {
		case n > 1:
			h.t.Errorf("%s is there %d times", value, n)
		case n == 0 && fate == acknowledged:
			h.t.Errorf("%s was acknowledged and is not there", value)
		case n == 1 && fate == refused:
			h.t.Errorf("%s was refused and is there", value)
		}
	}
	for _, n := range times {
		h.saved += n
	}
}
