package cluster

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// TestAPanicIsAnsweredAtOnceAndNotRepeated also sends requests after the one that panics. They were not executed, so
// they are repeated.
func TestAPanicIsAnsweredAtOnceAndNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		executed := map[string]int{}
		made := 0
		release := make(chan struct{})
		kind := testKind("thing", func(_ actor.Context, _ string, request *Request) {
			method := request.Call.GetMethod()
			executed[method]++
			switch method {
			case "hold":
				<-release
			case "panic":
				panic("a bug")
			}
			echo(request)
		})
		newActor := kind.New
		kind.New = func(identity string) actor.Actor { made++; return newActor(identity) }
		c := newTestCluster(t, ownAll(), kind)
		run(t, c)
		var callers sync.WaitGroup
		callers.Go(func() { mustCall(t, c, "thing", "a", "hold") })
		synctest.Wait()
		began := time.Now()
		callers.Go(func() {
			if _, err := call(t.Context(), c, "thing", "a", "panic", ""); !errors.Is(err, ErrPanicked) {
				t.Errorf("the request that panics got %v, want %v", err, ErrPanicked)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("the request that panics was answered after %s, want at once", took)
			}
		})
		synctest.Wait()
		for range 10 {
			callers.Go(func() { mustCall(t, c, "thing", "a", "behind") })
		}
		synctest.Wait()
		close(release)
		callers.Wait()
		if executed["hold"] != 1 || executed["panic"] != 1 || executed["behind"] != 10 {
			t.Errorf("executed %v, want hold 1, panic 1, behind 10", executed)
		}
		if made != 2 {
			t.Errorf("%d activations were made, want 2", made)
		}
		if got := figure(t, c.config.Metrics.Panics.WithLabelValues("thing")); got != 1 {
			t.Errorf("%v panics were counted, want 1", got)
		}
	})
}

// TestAPanicWhileStoppingLeavesNothing makes actors panic on their last messages. The identity must then be free for a
// new activation.
func TestAPanicWhileStoppingLeavesNothing(t *testing.T) {
	tests := map[string]func(message any) bool{
		"on Stopping": func(message any) bool { _, is := message.(*actor.Stopping); return is },
		"on Stopped":  func(message any) bool { _, is := message.(*actor.Stopped); return is },
	}
	for name, panics := range tests {
		t.Run(name, func(t *testing.T) {
			c := newTestCluster(t, ownAll(), Kind{Name: "thing", New: func(string) actor.Actor {
				return actorFunc(func(c actor.Context) {
					if request, ok := c.Message().(*Request); ok {
						echo(request)
					}
					if panics(c.Message()) {
						panic("a bug at the end")
					}
				})
			}})
			run(t, c)
			mustCall(t, c, "thing", "a", "m")
			gone := waitGone(c, "thing", "a")
			c.Evict(HashPartition("thing/a", testPartitions))
			<-gone
			mustCall(t, c, "thing", "a", "m")
		})
	}
}
