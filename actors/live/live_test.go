package live

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/analytics"
)

// visitStore is a store of visits by block. Its reads wait at points that a test sets.
type visitStore struct {
	mu     sync.Mutex
	blocks map[uint64][]analytics.LiveVisit
	reads  int
	fail   error
	gate   chan struct{}
}

func (s *visitStore) LiveVisits(_ context.Context, _ uint64, since time.Time, yield func(analytics.LiveVisit, uint64) bool) error {
	s.mu.Lock()
	s.reads++
	err, gate := s.fail, s.gate
	rows := map[uint64][]analytics.LiveVisit{}
	for block, visits := range s.blocks {
		rows[block] = append([]analytics.LiveVisit(nil), visits...)
	}
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	for block, visits := range rows {
		for _, visit := range visits {
			if visit.TsMs > since.UnixMilli() {
				yield(visit, block)
			}
		}
	}
	return err
}

func (s *visitStore) store(block uint64, visits ...analytics.LiveVisit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks[block] = visits
}

// watch runs a live actor of environment 7 in a bubble of virtual time.
func watch(t *testing.T, test func(t *testing.T, store *visitStore, watchers *Subscriptions, digests *Updates, visitors func() uint64, host *actorstest.Host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, watchers := &visitStore{blocks: map[uint64][]analytics.LiveVisit{}}, &Subscriptions{}
		logger := slog.New(slog.DiscardHandler)
		host := actorstest.NewHost(t, Kind(Ports{Visits: store, Subscriptions: watchers, Workers: grain.NewWorkers(), Now: clock, Logger: logger}))
		presence := &Presence{Actors: host}
		visitors := func() uint64 {
			t.Helper()
			live, err := presence.Live(t.Context(), domain.Environment{Number: 7})
			if err != nil {
				t.Fatal(err)
			}
			return live.Visitors
		}
		test(t, store, watchers, &Updates{Actors: host, Logger: logger}, visitors, host)
	})
}

func visit(visitor uint64) analytics.LiveVisit {
	return analytics.LiveVisit{TsMs: clock().UnixMilli(), Visitor: visitor, Pageview: true, Path: "/"}
}

func want(t *testing.T, what string, got, expected uint64) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: %d visitors, want %d", what, got, expected)
	}
}

func TestLiveReadsOnceAndGrowsByDigests(t *testing.T) {
	watch(t, func(t *testing.T, store *visitStore, watchers *Subscriptions, digests *Updates, visitors func() uint64, _ *actorstest.Host) {
		store.store(1, visit(1), visit(2))
		want(t, "read from the store", visitors(), 2)
		if !watchers.set()[7] || len(watchers.set()) != 1 {
			t.Errorf("watched: %v", watchers.set())
		}
		third := visit(3)
		digests.deliver(7, &digest{block: 2, visits: []analytics.LiveVisit{third}})
		want(t, "after a digest", visitors(), 3)
		digests.deliver(7, &digest{block: 1, visits: []analytics.LiveVisit{visit(1), visit(2), visit(9)}})
		want(t, "after the digest of a block that was read", visitors(), 3)
		if store.reads != 1 {
			t.Errorf("the store was read %d times", store.reads)
		}
		store.store(2, third) // no request for so long that the window is read again
		time.Sleep(analytics.LiveSeconds*time.Second - time.Minute)
		want(t, "a minute before the window ends", visitors(), 3)
		time.Sleep(time.Minute)
		want(t, "after the window", visitors(), 0)
	})
}

func TestLiveReadsAgainAfterAPartialDigest(t *testing.T) {
	watch(t, func(t *testing.T, store *visitStore, _ *Subscriptions, digests *Updates, visitors func() uint64, _ *actorstest.Host) {
		want(t, "an empty store", visitors(), 0)
		store.store(1, visit(1), visit(2))
		digests.deliver(7, &digest{block: 1, partial: true})
		want(t, "after a partial digest", visitors(), 2)
		if store.reads != 2 {
			t.Errorf("the store was read %d times, want 2", store.reads)
		}
	})
}

func TestLiveCountsABlockOnceThatArrivesWhileItReads(t *testing.T) {
	watch(t, func(t *testing.T, store *visitStore, _ *Subscriptions, digests *Updates, visitors func() uint64, _ *actorstest.Host) {
		store.gate = make(chan struct{})
		store.store(1, visit(1))
		answered := make(chan uint64, 1)
		go func() { answered <- visitors() }()
		synctest.Wait()
		digests.deliver(7, &digest{block: 1, visits: []analytics.LiveVisit{visit(1)}})
		digests.deliver(7, &digest{block: 2, visits: []analytics.LiveVisit{visit(2)}})
		synctest.Wait()
		close(store.gate)
		want(t, "a block that was read and one that came meanwhile", <-answered, 2)
	})
}

func TestLiveStopsWatchingWhenNobodyAsks(t *testing.T) {
	watch(t, func(t *testing.T, store *visitStore, watchers *Subscriptions, _ *Updates, visitors func() uint64, host *actorstest.Host) {
		visitors()
		time.Sleep(liveIdle + time.Minute)
		synctest.Wait()
		if host.Resident(kindLive) != 0 || len(watchers.set()) != 0 {
			t.Errorf("%d are resident, %v watched", host.Resident(kindLive), watchers.set())
		}
		store.store(1, visit(1))
		want(t, "asked again", visitors(), 1)
	})
}

func TestLiveSaysThatTheStoreIsAwayAndRecovers(t *testing.T) {
	watch(t, func(t *testing.T, store *visitStore, _ *Subscriptions, _ *Updates, visitors func() uint64, host *actorstest.Host) {
		store.fail = errors.New("away")
		_, err := (&Presence{Actors: host}).Live(t.Context(), domain.Environment{Number: 7})
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("got %v, want unavailable", err)
		}
		store.mu.Lock()
		store.fail = nil
		store.mu.Unlock()
		store.store(1, visit(1))
		want(t, "the store is back", visitors(), 1)
	})
}

// clock is the clock of the bubble, in the form of times that were decoded from JSON.
func clock() time.Time { return time.Now().UTC().Round(0) }
