package process

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestSpareThreadsAreForLongWork follows the number of threads: it is higher from the first piece of long work on, and
// returns to the usual number some time after the last one.
func TestSpareThreadsAreForLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sets []int
		s := threads{set: func(threads int) int { sets = append(sets, threads); return 0 }}
		expect := func(when string, want ...int) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(sets, want) {
				t.Errorf("%s the threads were set to %v, want %v", when, sets, want)
			}
			sets = nil
		}
		s.begin()
		s.end()
		expect("before a usual number is known")

		s.from(4)
		s.begin()
		expect("when long work begins", 4+spareThreads)
		s.begin()
		s.end()
		time.Sleep(10 * calmTime)
		expect("while some of it is done")
		s.end()
		time.Sleep(calmTime - 1)
		s.begin()
		time.Sleep(10 * calmTime)
		expect("when more begins within that time")
		s.end()
		time.Sleep(calmTime - 1)
		expect("just before it is over")
		time.Sleep(time.Nanosecond)
		expect("after it", 4)
		time.Sleep(10 * calmTime)
		s.begin()
		expect("when long work begins again", 4+spareThreads)
		s.end()
		time.Sleep(calmTime)
		expect("and has ended again", 4)
	})
}
