package kafka

import (
	"errors"
	"slices"
	"testing"
	"time"

	"svc/domain"
)

// contractConfirm checks what [Consumer.Confirm] says about a member's generation.
func contractConfirm(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	slow, fast := new(recorder), new(recorder)
	short := func(cfg *ConsumerConfig) { cfg.Rebalance = 900 * time.Millisecond }
	a := f.consumer(slow, func(cfg *ConsumerConfig) {
		short(cfg)
		cfg.Heartbeat = time.Hour // never notices a rebalance and renews no lease
	})
	start(t, a.Run)
	eventually(t, "first assignment", func() bool { return len(slow.owned()) == 2 }, slow.state)
	old := slow.assignment().Generation
	if err := a.Confirm(t.Context(), old); err != nil || !a.Holds(old) {
		t.Errorf("the present generation: %v, holds %v", err, a.Holds(old))
	}
	if err := a.Confirm(t.Context(), old+1); !errors.Is(err, domain.ErrFenced) || a.Holds(old+1) {
		t.Errorf("a generation to come: %v, holds %v", err, a.Holds(old+1))
	}
	b := f.consumer(fast, short)
	start(t, b.Run)
	eventually(t, "take-over", func() bool { return len(fast.owned()) == 2 }, fast.state)
	if err := a.Confirm(t.Context(), old); !errors.Is(err, domain.ErrFenced) {
		t.Errorf("a generation that was followed by another: %v, want ErrFenced", err)
	}
	if a.Settled(old) || !b.Settled(fast.assignment().Generation) {
		t.Error("the old generation is settled, or the new one is not")
	}
	if a.Holds(old) {
		t.Error("a generation is trusted although the coordinator said that it is over")
	}
	if err := b.Confirm(t.Context(), fast.assignment().Generation); err != nil {
		t.Errorf("the next generation: %v", err)
	}
}

// contractForeign checks that a member with another secret does not join and gets no partition.
func contractForeign(t *testing.T, open openCluster) {
	f := newFixture(t, open, 4)
	first, foreign := new(recorder), new(recorder)
	a := f.consumer(first, func(cfg *ConsumerConfig) { cfg.UserData, cfg.Secret = []byte("a:1"), "one secret" })
	start(t, a.Run)
	eventually(t, "assignment", func() bool { return len(first.owned()) == 4 }, first.state)
	b := f.consumer(foreign, func(cfg *ConsumerConfig) { cfg.UserData, cfg.Secret = []byte("b:1"), "another secret" })
	start(t, b.Run)
	eventually(t, "refusal", func() bool { return errors.Is(b.Foreign(), ErrForeign) }, foreign.state)
	if len(foreign.owned()) != 0 || len(first.owned()) != 4 {
		t.Errorf("the foreign member has %v, the first one %v", foreign.owned(), first.owned())
	}
	if err := a.Foreign(); err != nil {
		t.Errorf("the member says %v", err)
	}
}

// contractAlone checks that a node that cannot be called shares a group with no other node. The first node retains all
// partitions, and the second takes over when the first has left.
func contractAlone(t *testing.T, open openCluster) {
	for name, c := range map[string]struct{ first, second string }{
		"two alone":             {LoneNode("/data#1"), LoneNode("/data#2")},
		"alone, then a cluster": {LoneNode("/data#1"), "b:1"},
		"a cluster, then alone": {"a:1", LoneNode("/data#2")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, open, 4)
			first, second := new(recorder), new(recorder)
			a := f.consumer(first, node(c.first))
			stop := start(t, a.Run)
			eventually(t, "assignment", func() bool { return len(first.owned()) == 4 }, first.state)
			generation := first.assignment().Generation
			b := f.consumer(second, node(c.second))
			start(t, b.Run)
			eventually(t, "refusal", func() bool { return errors.Is(b.Foreign(), ErrAlone) }, second.state)
			if first.assignment().Generation != generation || a.Foreign() != nil {
				t.Errorf("the first node was disturbed: %s, %v", first.state(), a.Foreign())
			}
			stop()
			eventually(t, "the second takes over", func() bool { return len(second.owned()) == 4 && b.Foreign() == nil }, second.state)
		})
	}
}

// contractRead checks reads outside of any generation.
func contractRead(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	for i := range uint64(5) {
		f.produce(Part{Partition: 1, Payload: eventValue(i)})
	}
	c := f.consumer(new(recorder), nil)
	records, err := c.Read(t.Context(), 1, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	var offsets []int64
	for _, r := range records {
		offsets = append(offsets, r.Offset)
	}
	if !slices.Equal(offsets, []int64{1, 2, 3}) {
		t.Errorf("read offsets %v", offsets)
	}
}

// TestLeaseRunsOut walks a lease through its states with a manual clock.
func TestLeaseRunsOut(t *testing.T) {
	now := time.Hour
	l := &lease{term: 4 * time.Second, now: func() time.Duration { return now }}
	s := session{generation: 7, member: "m"}
	holds := func(what string, want bool) {
		t.Helper()
		if got := l.holds(7); got != want {
			t.Errorf("%s: holds %v, want %v", what, got, want)
		}
	}
	holds("before it begins", false)
	l.begin(s)
	holds("before the first heartbeat", false)
	l.renew(s, now)
	holds("after it", true)
	sent := now
	now += 3999 * time.Millisecond
	holds("just before it ends", true)
	now += time.Millisecond
	holds("at its end", false)
	l.renew(s, sent)
	holds("after an old answer was read late", false)
	l.renew(session{generation: 6, member: "m"}, now)
	holds("after an answer to another session", false)
	l.renew(s, now)
	holds("after a new answer", true)
	l.suspend(s)
	holds("after an attempt that failed", false)
	l.renew(s, now)
	holds("after one that succeeded", true)
	l.end(session{generation: 6, member: "m"})
	holds("after the end of another session", true)
	l.end(s)
	holds("after its own end", false)
}
