package actors

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/actors/pipeline"
)

// FormerIssues reads the issues that the former grouping made.
type FormerIssues interface {
	// FormerEnvironments returns the environments that have any.
	FormerEnvironments(ctx context.Context) ([]uint64, error)
	// Merged returns how many issues of an environment are part of others.
	Merged(ctx context.Context, environment uint64) (int, error)
}

// maxMergedIssues bounds the issues of one environment that are part of others, since every
// read of its issues takes them along. Beyond it, issues of the former grouping end, and new
// ones begin beside them.
const maxMergedIssues = 5000

// formerTime is how long is believed which environments have issues of the former grouping.
const formerTime = time.Hour

// Continuation lets issues of the former grouping go on: the first issue of the present
// grouping whose occurrences the former one would have put into an issue that is there
// becomes part of that issue, once and for good. Further ones that the former grouping
// threw together with it stay apart.
//
// It stands between a block's insert and its commit. An issue is new in the block that
// holds all of its occurrences, and only a new one can go on an old one; a crash before
// the commit brings the same block again, and deciding twice is deciding once. So it needs
// neither a table of its own nor a lock over partitions: the old issue's actor knows who
// goes on with it. Actors have AnswerTime to answer, together; where one does not, its issue
// is asked again when the new one next occurs on this node, and stands for itself until then.
type Continuation struct {
	Former FormerIssues
	Totals IssueTotals
	Issues *Issues
	Now    func() time.Time
	Logger *slog.Logger

	known issueSet

	mu           sync.Mutex
	environments map[uint64]bool
	until        time.Time
	// waiting are the issues for which an actor did not answer.
	waiting map[uint64]bool
}

// candidate is an issue of a block with the one that the former grouping would have made.
type candidate struct{ environment, issue, former uint64 }

// goOn returns those of a block's issues that go on an issue of the former grouping. Once
// it returns, that is durable; it may be repeated.
func (c *Continuation) goOn(ctx context.Context, hits blockHits) (map[uint64]bool, error) {
	if c == nil {
		return nil, nil
	}
	candidates, err := c.candidates(ctx, hits)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	totals, err := c.totals(ctx, candidates)
	if err != nil {
		return nil, fmt.Errorf("looking for issues of the former grouping: %w", err)
	}
	occurred := map[[2]uint64]uint64{}
	for key, hit := range hits {
		occurred[[2]uint64{key.environment, key.issue}] += hit.occurrences
	}
	patient, cancel := context.WithTimeout(ctx, pipeline.AnswerTime)
	defer cancel()
	continued, merged := map[uint64]bool{}, map[uint64]int{}
	for _, one := range candidates {
		if !c.mayGoOn(one, totals, occurred) || continued[one.issue] {
			continue
		}
		if _, counted := merged[one.environment]; !counted {
			if merged[one.environment], err = c.Former.Merged(ctx, one.environment); err != nil {
				return nil, fmt.Errorf("counting merged issues: %w", err)
			}
		}
		if merged[one.environment] >= maxMergedIssues {
			continue
		}
		continued[one.issue], err = c.Issues.Continue(patient, one.environment, one.former, one.issue)
		if c.wait(one.issue, err != nil); err != nil {
			c.Logger.Warn("an issue of the former grouping does not answer", "issue", svc.IssueID(one.former), "error", err)
		}
		merged[one.environment]++
	}
	return continued, nil
}

// mayGoOn says whether an issue is new in a block, or waits for an answer, and there is an issue that
// the former grouping would have put it into.
func (c *Continuation) mayGoOn(one candidate, totals, occurred map[[2]uint64]uint64) bool {
	issue := [2]uint64{one.environment, one.issue}
	if totals[issue] != occurred[issue] && !c.waits(one.issue) {
		// Only what is not new is remembered: before the commit the block may come again, and
		// those who are told of new issues must then hear the same.
		c.known.add([]uint64{one.issue})
		return false
	}
	return totals[[2]uint64{one.environment, one.former}] != 0
}

// maxWaiting bounds the issues that are asked again.
const maxWaiting = 10_000

func (c *Continuation) waits(issue uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting[issue]
}

// wait notes whether an issue is to be asked again.
func (c *Continuation) wait(issue uint64, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !again:
		delete(c.waiting, issue)
	case c.waiting == nil:
		c.waiting = map[uint64]bool{issue: true}
	case len(c.waiting) < maxWaiting:
		c.waiting[issue] = true
	}
}

// candidates returns the issues of a block that may be new and have a former one, in an
// order that is the same whenever the block is made.
func (c *Continuation) candidates(ctx context.Context, hits blockHits) ([]candidate, error) {
	found := map[candidate]bool{}
	for key := range hits {
		if key.former != 0 && key.former != key.issue && !c.known.has(key.issue) {
			found[candidate{key.environment, key.issue, key.former}] = true
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	environments, err := c.formerEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(one candidate, _ bool) bool { return !environments[one.environment] })
	return slices.SortedFunc(maps.Keys(found), func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.issue, b.issue), cmp.Compare(a.former, b.former))
	}), nil
}

// formerEnvironments returns the environments that have issues of the former grouping. The store is
// asked without the lock: it may take long, and others only look up what is waiting.
func (c *Continuation) formerEnvironments(ctx context.Context) (map[uint64]bool, error) {
	now := c.Now()
	c.mu.Lock()
	known, until := c.environments, c.until
	c.mu.Unlock()
	if known != nil && !now.After(until) {
		return known, nil
	}
	list, err := c.Former.FormerEnvironments(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for issues of the former grouping: %w", err)
	}
	known = make(map[uint64]bool, len(list))
	for _, environment := range list {
		known[environment] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.environments, c.until = known, now.Add(formerTime)
	return known, nil
}

// totals counts the occurrences of candidates and of their former issues, by environment
// and issue.
func (c *Continuation) totals(ctx context.Context, candidates []candidate) (map[[2]uint64]uint64, error) {
	environments, issues := map[uint64]bool{}, map[uint64]bool{}
	for _, one := range candidates {
		environments[one.environment], issues[one.issue], issues[one.former] = true, true, true
	}
	places := slices.Sorted(maps.Keys(environments))
	out := map[[2]uint64]uint64{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(issues)), totalsAtOnce) {
		totals, err := c.Totals.IssueTotals(ctx, places, part)
		if err != nil {
			return nil, err
		}
		for _, total := range totals {
			out[[2]uint64{total.Environment, total.Issue}] = total.Occurrences
		}
	}
	return out, nil
}

// Continue makes an issue part of one of the former grouping, or of the issue that this one
// is part of, and says whether it did. Only one issue ever goes on an old one: for
// another it returns false. It may be repeated.
func (i *Issues) Continue(ctx context.Context, environment, former, issue uint64) (bool, error) {
	id := svc.IssueID(issue)
	claim, err := issueContinue.Ask(ctx, i.Actors, issueIdentity(environment, former), issuePart{ID: id})
	if err != nil {
		return false, fmt.Errorf("letting issue %s go on: %w", svc.IssueID(former), err)
	}
	root, ok := svc.ParseIssueID(claim.Root)
	if !claim.Granted || !ok || root == issue {
		return false, nil
	}
	switch err := i.Merge(ctx, environment, root, issue); {
	case svc.CodeOf(err) == svc.CodeConflict:
		return false, nil // a person merged either meanwhile, or the root is full
	case err != nil:
		return false, fmt.Errorf("letting issue %s go on: %w", svc.IssueID(former), err)
	}
	return true, nil
}
