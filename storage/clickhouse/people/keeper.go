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
	// sharers are the visitors that several persons used at that time, with their spans. It is nil if there are too
	// many.
	sharers members
	// parts are the parts of the source tables, from before the tables were read.
	parts map[string]tableParts
	// made is the time of the last full fold. A later refresh may have folded the people that changed since.
	made time.Time
	// gone means that no read may use the profiles any more. used is the time of the last read. The keeper guards both.
	gone bool
	used time.Time
}

// tableParts are the parts of a table: the range of blocks of each part, the last block, and the last mutation of any
// part.
type tableParts struct {
	blocks        [][2]int64
	last, mutated int64
}

// keeper is the state of the refresher: the materialized profiles of a node.
type keeper struct {
	// settle is the delay between reading the list of parts and reading the tables.
	settle time.Duration

	mu   sync.Mutex
	kept map[uint64]*kept
	// wanted are the environments to materialize. resting holds the instants before which environments are not
	// materialized again.
	wanted  map[uint64]bool
	resting map[uint64]time.Time
	// retired are replaced numbers with the time of their replacement. Reads that began before may still use them.
	retired map[uint64]time.Time
	// hiding are the conditions that hide rows of erased people. hides counts their changes: a refresh that read rows
	// before a change must not be used.
	hiding map[string]string
	hides  int
	// fault is the error of the last failed read of profiles, until it is logged.
	fault error
	wake  chan struct{}
}

func newKeeper() *keeper {
	return &keeper{kept: map[uint64]*kept{}, wanted: map[uint64]bool{}, resting: map[uint64]time.Time{}, retired: map[uint64]time.Time{}, wake: make(chan struct{}, 1)}
}

// of returns the materialized profiles of an environment, or nil.
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

// Kept returns the number of materialized profiles of all environments.
func (db *Store) Kept() (people uint64) {
	db.keeper.mu.Lock()
	defer db.keeper.mu.Unlock()
	for _, one := range db.keeper.kept {
		if !one.gone {
			people += one.rows - 1 // the mark is not a person
		}
	}
	return people
}

// noteSlow requests a refresh of an environment if a read of its people that began at an instant was slow.
func (db *Store) noteSlow(environment uint64, began time.Time) {
	if time.Since(began) > slowRead && db.keeper.of(environment) == nil {
		db.keeper.want(environment)
	}
}

// want requests a refresh of an environment, unless it rests.
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

// next returns an environment that is due, and makes it rest until the refresh ends.
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

// rest prevents a refresh of an environment for some time, in proportion to the duration of the last one.
func (k *keeper) rest(environment uint64, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resting[environment] = time.Now().Add(keepShare * took)
}

// put makes new profiles of an environment available to reads, unless the hidden rows changed since.
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

// forget retires the profiles of an environment, if they are still the current ones.
func (k *keeper) forget(environment uint64, gone *kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept[environment] == gone {
		gone.gone = true // sweep removes them
	}
}

// fail retires the profiles of an environment after a read of them failed, and records the error for the log. If the
// caller canceled the read, the error says nothing about the profiles, and fail does nothing.
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

// faulted returns the error of a read that failed since the last call.
func (k *keeper) faulted() (fault error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fault, k.fault = k.fault, nil
	return fault
}

// hide retires all profiles if the conditions that hide rows changed.
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

// sweep returns the numbers that no read uses any more: profiles that are too old or retired, and, if there are too
// many environments, the least recently used.
func (k *keeper) sweep(now time.Time) (over []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number, since := range k.retired {
		if now.Sub(since) >= sweepEvery { // reads that began with it have ended, or will notice that it is gone
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

// hidden returns how often the hidden rows changed.
func (k *keeper) hidden() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hides
}
