package actors

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// waiting returns how many hands wait.
func waiting(c *crew) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.idle)
}

// TestACrewUsesItsHandsAgain gives a crew work in rounds: as many hands as there is work at a
// time, and none when there was none for a while.
func TestACrewUsesItsHandsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c crew
		var done atomic.Int32
		for round := range 10 {
			work := 1 + round%4
			for range work {
				c.run(func() { <-time.After(crewWait / 10); done.Add(1) })
			}
			<-time.After(crewWait / 2)
			synctest.Wait()
			if want := []int{1, 2, 3, 4, 4, 2, 3, 4, 4, 2}[round]; waiting(&c) != want {
				t.Errorf("%d hands wait after round %d, want %d", waiting(&c), round, want)
			}
		}
		<-time.After(2 * crewWait)
		synctest.Wait()
		if got := done.Load(); got != 23 || waiting(&c) != 0 {
			t.Errorf("%d pieces of work were done, %d hands wait", got, waiting(&c))
		}
	})
}

// TestWorkThatComesAsAHandLeavesIsDone gives work at the very instants at which hands leave.
func TestWorkThatComesAsAHandLeavesIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c crew
		var done atomic.Int32
		for range 1000 {
			c.run(func() { done.Add(1) })
			<-time.After(crewWait)
		}
		<-time.After(2 * crewWait)
		synctest.Wait()
		if got := done.Load(); got != 1000 || waiting(&c) != 0 {
			t.Errorf("%d pieces of work were done, %d hands wait", got, waiting(&c))
		}
	})
}
