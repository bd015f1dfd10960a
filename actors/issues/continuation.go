package issues

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
)

// FormerIssues reads the issues that the former grouping made.
type FormerIssues interface {
	// FormerEnvironments returns the environments that have any.
	FormerEnvironments(ctx context.Context) ([]uint64, error)
	// Merged returns the number of issues of an environment that are part of others.
	Merged(ctx context.Context, environment uint64) (int, error)
}

// maxMergedIssues bounds the merged issues of one environment, since every read of its issues includes them.
// Beyond it, issues of the former grouping are not continued.
const maxMergedIssues = 5000

// formerTime is how long the list of environments with issues of the former grouping is reused.
const formerTime = time.Hour

// Continuation continues issues of the former grouping. Some issues of the present grouping have occurrences that the
// former grouping would have put into a stored issue. The first of them becomes part of that issue, for good. Further
// ones stay separate.
//
// It runs between a block's insert and its commit. An issue is new in the block that holds all of its occurrences, and
// only a new one can continue an old one. After a crash before the commit, the same block comes again, and deciding
// twice changes nothing. So it needs neither a table of its own nor a lock over partitions: the actor of the old issue
// stores the issue that continues it. The store and the actors together have AnswerTime to answer. If one does not
// answer, it is asked again when the new issue next occurs on this node; until then, the new issue stands alone.
type Continuation struct {
	Former FormerIssues
	Totals Totals
	Issues *Issues
	Now    func() time.Time
	Logger *slog.Logger

	known issueSet

	mu           sync.Mutex
	environments map[uint64]bool
	until        time.Time
	// waiting holds the issues for which the store or an actor did not answer.
	waiting map[issueKey]unanswered
}

// unanswered is an issue for which the store or an actor did not answer.
type unanswered struct {
	// isNew says that the issue is known to have been new.
	isNew bool
	// block is the last block in which the issue occurred since then, and last is the number of its occurrences in it.
	// before counts the occurrences in earlier blocks.
	block        uint64
	last, before uint64
}

// except returns the number of occurrences in other blocks than one.
func (u unanswered) except(block uint64) uint64 {
	if u.block == block {
		return u.before
	}
	return u.before + u.last
}

// candidate is an issue of a block with the issue that the former grouping would have made.
type candidate struct{ environment, issue, former uint64 }

// continueIssues returns the issues of a block that continue an issue of the former grouping. The result is durable;
// the call may be repeated.
func (c *Continuation) continueIssues(ctx context.Context, block uint64, hits blockHits) map[uint64]bool {
	occurred := c.undecided(hits)
	if len(occurred) == 0 {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, pipeline.AnswerTime)
	defer cancel()
	candidates, totals, err := c.find(patient, hits)
	if err != nil {
		c.Logger.Warn("issues of the former grouping will be looked for later", "issues", len(occurred), "error", err)
		for key, count := range occurred {
			c.wait(key, block, count, false)
		}
		return nil
	}
	continued, merged := map[uint64]bool{}, map[uint64]int{}
	for _, one := range candidates {
		issue := issueKey{one.environment, one.issue}
		if !c.continues(one, block, totals, occurred) || continued[one.issue] {
			continue
		}
		joined, err := c.join(patient, one, merged)
		if err != nil {
			c.Logger.Warn("an issue of the former grouping does not answer", "issue", occurrence.IssueID(one.former), "error", err)
			c.wait(issue, block, occurred[issue], true)
			continue
		}
		continued[one.issue] = joined
		c.answered(issue)
	}
	return continued
}

// undecided counts the occurrences in a block of issues that have a former issue and may be new.
func (c *Continuation) undecided(hits blockHits) map[issueKey]uint64 {
	occurred := map[issueKey]uint64{}
	if c == nil {
		return occurred
	}
	for key := range hits {
		if key.former != 0 && key.former != key.issue && !c.known.has(key.issue) {
			occurred[issueKey{key.environment, key.issue}] = 0
		}
	}
	for key, hit := range hits { // occurrences without a former issue count as well
		if count, undecided := occurred[issueKey{key.environment, key.issue}]; undecided {
			occurred[issueKey{key.environment, key.issue}] = count + hit.occurrences
		}
	}
	return occurred
}

// find returns the candidates of a block, and the total occurrences of them and of their former issues.
func (c *Continuation) find(ctx context.Context, hits blockHits) ([]candidate, map[issueKey]uint64, error) {
	candidates, err := c.candidates(ctx, hits)
	if err != nil || len(candidates) == 0 {
		return nil, nil, err
	}
	totals, err := c.totals(ctx, candidates)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for issues of the former grouping: %w", err)
	}
	return candidates, totals, nil
}

// join makes an issue part of its former one, unless too many issues of the environment are merged. merged counts the
// merged issues by environment.
func (c *Continuation) join(ctx context.Context, one candidate, merged map[uint64]int) (bool, error) {
	count, counted := merged[one.environment]
	if !counted {
		var err error
		if count, err = c.Former.Merged(ctx, one.environment); err != nil {
			return false, fmt.Errorf("counting merged issues: %w", err)
		}
	}
	if merged[one.environment] = count + 1; count >= maxMergedIssues {
		return false, nil
	}
	return c.Issues.Continue(ctx, one.environment, one.former, one.issue)
}

// continues reports whether the former issue exists and the issue is new in a block, or was new before and waits for an
// answer.
func (c *Continuation) continues(one candidate, block uint64, totals, occurred map[issueKey]uint64) bool {
	issue := issueKey{one.environment, one.issue}
	c.mu.Lock()
	waits := c.waiting[issue]
	c.mu.Unlock()
	if !waits.isNew && totals[issue] != occurred[issue]+waits.except(block) {
		// Only issues that are not new are remembered: before the commit the block may come again, and must then report
		// the same new issues.
		c.known.add([]uint64{one.issue})
		c.answered(issue)
		return false
	}
	return totals[issueKey{one.environment, one.former}] != 0
}

// maxWaiting bounds the issues that are asked again.
const maxWaiting = 10_000

// wait records that the decision on an issue of a block must be repeated.
func (c *Continuation) wait(issue issueKey, block, occurrences uint64, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[issueKey]unanswered{}
	}
	waits, known := c.waiting[issue]
	if !known && len(c.waiting) >= maxWaiting {
		return
	}
	c.waiting[issue] = unanswered{isNew: isNew || waits.isNew, block: block, last: occurrences, before: waits.except(block)}
}

// answered records that an issue is decided.
func (c *Continuation) answered(issue issueKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, issue)
}

// candidates returns the issues of a block that may be new and have a former one. Their order is the same whenever the
// block is made.
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

// formerEnvironments returns the environments that have issues of the former grouping. The store is asked without the
// lock, since it may take long and the others only look up waiting issues.
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
func (c *Continuation) totals(ctx context.Context, candidates []candidate) (map[issueKey]uint64, error) {
	environments, issues := map[uint64]bool{}, map[uint64]bool{}
	for _, one := range candidates {
		environments[one.environment], issues[one.issue], issues[one.former] = true, true, true
	}
	places := slices.Sorted(maps.Keys(environments))
	out := map[issueKey]uint64{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(issues)), totalsAtOnce) {
		totals, err := c.Totals.IssueTotals(ctx, places, part)
		if err != nil {
			return nil, err
		}
		for _, total := range totals {
			out[issueKey{total.Environment, total.Issue}] = total.Occurrences
		}
	}
	return out, nil
}

// Continue makes an issue part of an issue of the former grouping, or of the issue into which that one is merged. It
// reports whether it did. Only one issue ever continues an old one: for another it returns false. It may be repeated.
func (i *Issues) Continue(ctx context.Context, environment, former, is uint64) (bool, error) {
	id := occurrence.IssueID(is)
	claim, err := issueContinue.Ask(ctx, i.Actors, issueIdentity(environment, former), issuePart{ID: id})
	if err != nil {
		return false, fmt.Errorf("letting issue %s go on: %w", occurrence.IssueID(former), err)
	}
	root, ok := occurrence.ParseIssueID(claim.Root)
	if !claim.Granted || !ok || root == is {
		return false, nil
	}
	switch err := i.Merge(ctx, environment, root, is, issue.Author{}); {
	case domain.CodeOf(err) == domain.CodeConflict:
		return false, nil // a member merged either meanwhile, or the root is full
	case err != nil:
		return false, fmt.Errorf("letting issue %s go on: %w", occurrence.IssueID(former), err)
	}
	return true, nil
}
