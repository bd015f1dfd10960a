package actors

import (
	"context"
	"fmt"
	"sync"

	"svc"
	"svc/protos"
)

// WatchedIssues is what the store knows of issues whose occurrences their actors
// must be told of.
type WatchedIssues interface {
	// WatchedIssues returns the entities of the issues that are resolved or merged.
	WatchedIssues(ctx context.Context) ([]svc.Entity, error)
}

// Watch is which issues of this node's partitions are resolved or merged. The
// sink shows their occurrences to their actors, and those of no other issue, so
// a stream of errors wakes nobody. The set may hold too many issues, never too
// few: an actor puts its issue in before it saves, and takes it out after.
type Watch struct {
	Store      WatchedIssues
	Partitions int

	mu     sync.RWMutex
	issues map[uint64]bool
}

// has says whether an issue is watched.
func (w *Watch) has(issue uint64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.issues[issue]
}

func (w *Watch) set(issue uint64, watched bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.issues == nil {
		w.issues = map[uint64]bool{}
	}
	if watched {
		w.issues[issue] = true
	} else {
		delete(w.issues, issue)
	}
}

// load adds the watched issues of partitions and forgets those of others. It
// takes nothing of its own partitions out, for an actor that was kept from the
// generation before may have put an issue in meanwhile.
func (w *Watch) load(ctx context.Context, partitions []int) error {
	if w == nil {
		return nil
	}
	owned := make(map[int]bool, len(partitions))
	for _, partition := range partitions {
		owned[partition] = true
	}
	mine := func(issue uint64) bool { return owned[protos.PartitionOfIssue(issue, w.Partitions)] }
	entities, err := w.Store.WatchedIssues(ctx)
	if err != nil {
		return fmt.Errorf("reading watched issues: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := map[uint64]bool{}
	for issue := range w.issues {
		if mine(issue) {
			kept[issue] = true
		}
	}
	for _, entity := range entities {
		record, err := decode[issueRecord](entity)
		if err != nil {
			return err
		}
		if record.Watched() && mine(record.Issue) {
			kept[record.Issue] = true
		}
	}
	w.issues = kept
	return nil
}
