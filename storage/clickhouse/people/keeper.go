package people

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// kept describes the rows of person_folds that hold the people of one environment. The number identifies these rows.
type kept struct {
	number, rows uint64
	// sharers are the visitors that several persons used, with their spans, as of then; nil where they are too many.
	sharers members
	// parts are those of the tables of which people are made, before they were read.
	parts map[string]tableParts
	// made is when all people were folded: those who changed since then may have been folded later.
	made time.Time
	// gone says that it is not read any more, and used is when it last was. The keeper guards both.
	gone bool
	used time.Time
}

// tableParts are the parts of a table: the blocks of each, the last block, and the last mutation that any went through.
type tableParts struct {
	blocks        [][2]int64
	last, mutated int64
}

// keeper knows what a node keeps.
type keeper struct {
	// settle is how long after the parts of its tables were read an environment is.
	settle time.Duration

	mu   sync.Mutex
	kept map[uint64]*kept
	// wanted are the environments to keep, and resting those that are not kept again before an instant.
	wanted  map[uint64]bool
	resting map[uint64]time.Time
	// retired are the numbers that reads may have been given until an instant.
	retired map[uint64]time.Time
	// hiding are the conditions by which rows are hidden, and hides counts how often they changed: what was read before must not be kept.
	hiding map[string]string
	hides  int
	// fault is why a read of what is kept failed, until it is told.
	fault error
	wake  chan struct{}
}

func newKeeper() *keeper {
	return &keeper{kept: map[uint64]*kept{}, wanted: map[uint64]bool{}, resting: map[uint64]time.Time{}, retired: map[uint64]time.Time{}, wake: make(chan struct{}, 1)}
}

// of returns what is kept of an environment, nil if nothing is.
func (k *keeper) of(environment uint64) *kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.kept[environment]
	if found == nil || found.gone || time.Since(found.made) > keptTime {
		return nil
	}
	found.used = time.Now()
	return found
}

// Kept returns how many people are kept, of all environments.
func (db *Store) Kept() (people uint64) {
	db.keeper.mu.Lock()
	defer db.keeper.mu.Unlock()
	for _, one := range db.keeper.kept {
		if !one.gone {
			people += one.rows - 1 // the mark is nobody
		}
	}
	return people
}

// noteSlow has an environment be kept where a read of its people that began at an instant took long.
func (db *Store) noteSlow(environment uint64, began time.Time) {
	if time.Since(began) > slowRead && db.keeper.of(environment) == nil {
		db.keeper.want(environment)
	}
}

// want has an environment be kept, again if it is.
func (k *keeper) want(environment uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().Before(k.resting[environment]) {
		return
	}
	k.wanted[environment] = true
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// next returns an environment that is to be kept, and has it rest until that is done.
func (k *keeper) next() (environment uint64, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for environment = range k.wanted {
		delete(k.wanted, environment)
		k.resting[environment] = time.Now().Add(foldTime)
		return environment, true
	}
	return 0, false
}

// rest has an environment not be kept again for some time, which is in proportion to how long it took.
func (k *keeper) rest(environment uint64, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resting[environment] = time.Now().Add(keepShare * took)
}

// put keeps an environment, unless other rows were hidden since.
func (k *keeper) put(environment uint64, made *kept, hides int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := k.kept[environment]
	if k.hides == hides {
		k.kept[environment] = made
	} else {
		over = made
	}
	if over != nil {
		k.retired[over.number] = time.Now()
	}
}

// forget gives up what is kept of an environment, if that is still so.
func (k *keeper) forget(environment uint64, gone *kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept[environment] == gone {
		gone.gone = true // the sweep removes it
	}
}

// fail gives up what is kept of an environment since it could not be read, and has that be told. A caller who left says nothing about it.
func (k *keeper) fail(ctx context.Context, environment uint64, err error) {
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.kept[environment]; found != nil {
		found.gone = true
	}
	k.fault = err
}

// faulted returns why a read failed since the last time that it was asked.
func (k *keeper) faulted() (fault error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fault, k.fault = k.fault, nil
	return fault
}

// hide gives up all that is kept where other rows are hidden from now on.
func (k *keeper) hide(conditions map[string]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if maps.Equal(k.hiding, conditions) {
		return
	}
	k.hiding = conditions
	k.hides++
	for _, one := range k.kept {
		one.gone = true
	}
}

// sweep returns the numbers of what is not read any more: what is too old or was given up, and what was not used for longer than others where these are
// too many.
func (k *keeper) sweep(now time.Time) (over []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number, since := range k.retired {
		if now.Sub(since) >= sweepEvery { // reads that began with it have ended, or find that it is gone
			delete(k.retired, number)
			over = append(over, number)
		}
	}
	for environment, until := range k.resting {
		if now.After(until) {
			delete(k.resting, environment)
		}
	}
	var used []time.Time
	for environment, one := range k.kept {
		if one.gone || now.Sub(one.made) > keptTime {
			delete(k.kept, environment)
			over = append(over, one.number)
			continue
		}
		used = append(used, one.used)
	}
	if len(used) <= keptEnvironments {
		return over
	}
	slices.SortFunc(used, func(a, b time.Time) int { return b.Compare(a) })
	for environment, one := range k.kept {
		if one.used.Before(used[keptEnvironments-1]) {
			delete(k.kept, environment)
			over = append(over, one.number)
		}
	}
	return over
}

// hidden returns how often other rows were hidden.
func (k *keeper) hidden() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hides
}
