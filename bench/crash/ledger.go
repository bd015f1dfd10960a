package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
)

// fate is the outcome of an event, as far as its client knows.
type fate uint8

const (
	// unsent means that no request with the event can have reached the server.
	unsent fate = iota
	// unknown means that it was sent and never acknowledged: it may be stored.
	unknown
	// acknowledged means that it must be stored.
	acknowledged
)

// entry is one event of the run; its number determines its id, its user and its path.
type entry struct {
	ts     int64
	fate   fate
	stored uint8
}

// ledger records the fate of every event. Its methods may be called concurrently.
type ledger struct {
	prefix string

	mu      sync.Mutex
	entries []entry
	acked   []int
	// resent counts acknowledged events that were sent again on purpose.
	resent int
}

func newLedger(seed uint64) *ledger {
	return &ledger{prefix: "crash-" + strconv.FormatUint(seed, 36) + "-"}
}

// take makes new events and returns the number of the first.
func (l *ledger) take(count int, now time.Time) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	numbers := make([]int, count)
	for n := range numbers {
		numbers[n] = len(l.entries)
		l.entries = append(l.entries, entry{ts: now.UnixMilli()})
	}
	return numbers
}

// again appends acknowledged events, which a client sends once more: half of them recent, half of any age.
func (l *ledger) again(numbers []int, count int, random *rand.Rand) []int {
	const recent = 500
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := 0; n < count && len(l.acked) > 0; n++ {
		span := len(l.acked)
		if n%2 == 0 {
			span = min(span, recent)
		}
		numbers = append(numbers, l.acked[len(l.acked)-1-random.IntN(span)])
		l.resent++
	}
	return numbers
}

// sent records that a request may have reached the server.
func (l *ledger) sent(numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		l.entries[n].fate = max(l.entries[n].fate, unknown)
	}
}

// ack records that the server acknowledged a request.
func (l *ledger) ack(numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		if l.entries[n].fate != acknowledged {
			l.entries[n].fate = acknowledged
			l.acked = append(l.acked, n)
		}
	}
}

// counts returns the number of events of each fate.
func (l *ledger) counts() (counts [acknowledged + 1]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.entries {
		counts[l.entries[n].fate]++
	}
	return counts
}

// body appends the request body of some events: one object for one event, a batch otherwise. An event has the same
// bytes each time it is sent.
func (l *ledger) body(out []byte, numbers []int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(numbers) == 1 {
		n := numbers[0]
		return harness.AppendEvent(out, l.id(n), userOf(n), pathOf(n), time.UnixMilli(l.entries[n].ts))
	}
	out = append(out, `{"items":[`...)
	for at, n := range numbers {
		if at > 0 {
			out = append(out, ',')
		}
		out = harness.AppendItem(out, l.id(n), userOf(n), pathOf(n), time.UnixMilli(l.entries[n].ts))
	}
	return append(out, `]}`...)
}

func (l *ledger) id(n int) []byte { return strconv.AppendInt([]byte(l.prefix), int64(n), 10) }

// userOf and pathOf spread events over the reference load's users and paths.
func userOf(n int) int { return n * 7919 % harness.Users }
func pathOf(n int) int { return n * 104_729 % harness.Paths }

// find returns the entry of a stored id.
func (l *ledger) find(id string) (int, error) {
	digits, ours := strings.CutPrefix(id, l.prefix)
	n, err := strconv.Atoi(digits)
	if !ours || err != nil || n < 0 || n >= len(l.entries) {
		return 0, fmt.Errorf("%s was never made", id)
	}
	return n, nil
}
