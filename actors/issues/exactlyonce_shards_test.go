package issues

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAShardThatIsAwayDelaysNoOther has the store of one shard away for a minute, in which nodes are killed and the
// partitions move. Events of the other shard are stored as soon as otherwise, and in the end everything is stored once.
func TestAShardThatIsAwayDelaysNoOther(t *testing.T) {
	for _, away := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(uint64(away), 3, 2)
			nodes := []*process{w.start(t), w.start(t)}
			w.rebalance(nodes)
			w.send(t, 1-away, 5)
			w.setAway(away == 0)
			w.setAside(away == 1)
			for second := range 60 {
				w.send(t, 1-away, 5)
				if away == 1 && second%13 == 12 { // while shard 0 is away, no node can read the watched issues
					w.mu.Lock()
					nodes[second%2].dead = true
					nodes[second%2].kill()
					w.mu.Unlock()
					w.rebalance(w.alive(t, nodes))
				}
			}
			w.mu.Lock()
			if held := w.unstored(away); held < 100 {
				t.Errorf("%d records of the shard that is away wait in the log, want those of a minute", held)
			}
			w.mu.Unlock()
			w.setAway(false)
			w.setAside(false)
			w.settle(t, nodes)
			w.check(t)
			for _, p := range nodes {
				p.kill()
			}
			synctest.Wait()
			time.Sleep(time.Minute)
		})
	}
}

// send sends some records to both shards in a second, and waits until the store of one shard has its records. That
// takes a few intervals, and the preparation of a generation.
func (w *world) send(t *testing.T, shard, records int) {
	t.Helper()
	for range records {
		w.produce(time.Now())
		time.Sleep(100 * time.Millisecond)
	}
	sent := time.Now()
	for {
		w.mu.Lock()
		waiting := w.unstored(shard)
		w.mu.Unlock()
		if waiting == 0 {
			return
		}
		if time.Since(sent) > 5*time.Second {
			t.Fatalf("%d records of shard %d are not stored after %v", waiting, shard, time.Since(sent))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// unstored counts the records of a shard that are not committed; the caller holds the lock.
func (w *world) unstored(shard int) (count int) {
	for partition := shard * w.partitions; partition < (shard+1)*w.partitions; partition++ {
		count += len(w.log[partition]) - int(w.committed[partition].Offset)
	}
	return count
}
