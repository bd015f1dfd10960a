package issues

import (
	"context"
	"fmt"
	"sync"

	"svc/actors/grain"
	"svc/domain"
	"svc/protos"
)

// ResolvedStore reads the issues with occurrences that must be reported to their actors.
type ResolvedStore interface {
	// WatchedIssues returns the entities of the resolved or merged issues in some of the log's partitions. partitions
	// is the number of all partitions.
	WatchedIssues(ctx context.Context, partitions int, owned []int) ([]domain.Entity, error)
}

// ResolvedSet holds the resolved and merged issues of this node's partitions. Only their occurrences are reported to
// actors, so a stream of errors of other issues wakes no actor. The set may contain too many issues, never too few: an
// actor adds its issue before it saves, and removes it after.
type ResolvedSet struct {
	Store      ResolvedStore
	Partitions int
	// Skipped receives issues that cannot be decoded and are skipped.
	Skipped grain.Skipped

	mu sync.RWMutex
	// issues holds the stored version of each issue that was loaded.
	issues map[uint64]domain.Version
}

// has reports whether an issue is in the set.
func (w *ResolvedSet) has(issue uint64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, watched := w.issues[issue]
	return watched
}

// add adds an issue.
func (w *ResolvedSet) add(issue uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.issues == nil {
		w.issues = map[uint64]domain.Version{}
	}
	if _, watched := w.issues[issue]; !watched {
		w.issues[issue] = domain.Version{}
	}
}

// remove removes an issue as of a version. If a later version was loaded, another node has written it meanwhile, and
// the issue stays.
func (w *ResolvedSet) remove(issue uint64, as domain.Version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.issues[issue].Number() <= as.Number() {
		delete(w.issues, issue)
	}
}

// load adds the stored issues of partitions and drops issues of other partitions. It drops no issue of the partitions
// themselves: the actor of an issue may have stayed since the previous generation and may have added the issue
// meanwhile.
func (w *ResolvedSet) load(ctx context.Context, partitions []int) error {
	if w == nil {
		return nil
	}
	issues, err := w.read(ctx, partitions)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(issues, w.within(partitions))
	w.issues = issues
	return nil
}

// with returns the set for a block's partitions, on any node. The block was begun in an earlier generation. So a
// resolution that preceded an occurrence in it is stored, or its actor is still on this node.
func (w *ResolvedSet) with(ctx context.Context, partitions []int) (*ResolvedSet, error) {
	if w == nil {
		return nil, nil
	}
	issues, err := w.read(ctx, partitions)
	if err != nil {
		return nil, err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	w.keep(issues, w.within(partitions))
	return &ResolvedSet{issues: issues}, nil
}

// within returns a function that reports whether an issue lives in one of some partitions.
func (w *ResolvedSet) within(partitions []int) func(issue uint64) bool {
	wanted := make(map[int]bool, len(partitions))
	for _, partition := range partitions {
		wanted[partition] = true
	}
	return func(issue uint64) bool { return wanted[protos.PartitionOfIssue(issue, w.Partitions)] }
}

// read returns the stored issues of partitions.
func (w *ResolvedSet) read(ctx context.Context, partitions []int) (map[uint64]domain.Version, error) {
	entities, err := w.Store.WatchedIssues(ctx, w.Partitions, partitions)
	if err != nil {
		return nil, fmt.Errorf("reading watched issues: %w", err)
	}
	issues := map[uint64]domain.Version{}
	for _, entity := range entities {
		record := grain.DecodeOrSkip[issueRecord](entity, w.Skipped)
		if record != nil && record.Watched() {
			issues[record.Issue] = entity.Version
		}
	}
	return issues, nil
}

// keep adds this node's issues of partitions; the caller holds the lock.
func (w *ResolvedSet) keep(issues map[uint64]domain.Version, wanted func(issue uint64) bool) {
	for issue, version := range w.issues {
		if _, read := issues[issue]; !read && wanted(issue) {
			issues[issue] = version
		}
	}
}
