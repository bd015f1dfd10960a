package actors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/actors/attempt"
)

// IssueTotals is what the store knows of how often issues occurred.
type IssueTotals interface {
	// IssueTotals returns how often issues of some environments occurred in all that is
	// stored; one that never did is missing.
	IssueTotals(ctx context.Context, environments, issues []uint64) ([]svc.IssueTotal, error)
}

// alarms are told of issues that are new, and of what rules count.
type alarms interface {
	// NewIssues returns once what the rules decided is durable; it may be repeated.
	NewIssues(ctx context.Context, app svc.AppRef, news svc.NewIssues) error
	// Regressed does the same for issues that regressed.
	Regressed(ctx context.Context, app svc.AppRef, regressions svc.Regressions) error
	// Counted does the same with what a stored block brought.
	Counted(ctx context.Context, app svc.AppRef, told toldCounted) error
}

// totalsAtOnce bounds the issues of one question to the store.
const totalsAtOnce = 5000

// unknown returns the issues of a block, by environment, that somebody waits for and that
// are not known to have occurred before.
func (b *Rulebook) unknown(hits blockHits, continued map[uint64]bool) (environments, issues []uint64) {
	if b == nil || b.count.Load() == 0 {
		return nil, nil
	}
	places, wanted := map[uint64]bool{}, map[uint64]bool{}
	for key := range hits {
		set := b.find(key.environment)
		if set != nil && set.newIssues && !b.known.has(key.issue) && !continued[key.issue] {
			places[key.environment], wanted[key.issue] = true, true
		}
	}
	return slices.Sorted(maps.Keys(places)), slices.Sorted(maps.Keys(wanted))
}

// tellNews has the rules that wait for new issues learn of those of a stored block. An issue
// is new in the block that holds all of its occurrences. It stands between the insert and
// the commit, as settle does: before the commit the whole block comes again, and the
// alerting actors know a block that they were told of.
func (s *Sink) tellNews(ctx context.Context, block *openBlock, id uint64) error {
	book := s.config.Rules
	environments, issues := book.unknown(block.hits, block.continued)
	if len(issues) == 0 {
		return nil
	}
	occurred := map[[2]uint64]uint64{}
	for key, hit := range block.hits {
		occurred[[2]uint64{key.environment, key.issue}] += hit.occurrences
	}
	var news map[uint64][]svc.IssueTotal
	err := s.insist(ctx, block, "looking for new issues", func() (err error) {
		news, err = s.firstSeen(ctx, environments, issues, occurred)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.later(ctx, block, s.tellOfNews(ctx, id, news)); err != nil {
		return err
	}
	book.known.add(issues)
	return nil
}

// tellOfNews tells the alerting actors of the new issues of a block, all at once, and returns what
// must be told later.
func (s *Sink) tellOfNews(ctx context.Context, id uint64, news map[uint64][]svc.IssueTotal) (late []toldLater) {
	patient, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(tellAtOnce)
	for environment, found := range news {
		set := s.config.Rules.find(environment)
		if set == nil {
			continue // its rules are gone
		}
		first := slices.MinFunc(found, func(a, b svc.IssueTotal) int { return cmp.Compare(a.Issue, b.Issue) })
		message := svc.NewIssues{
			Environment: environment, Block: id, ID: svc.IssueID(first.Issue), Title: first.Title(), Others: len(found) - 1,
		}
		told := toldLater{Block: id, Environment: environment, App: set.app, News: []svc.NewIssues{message}}
		group.Go(func() error {
			if !s.config.Outbox.has(&told) {
				err := attempt.Contained(func() error { return s.config.Alarms.NewIssues(patient, set.app, message) })
				if err == nil {
					return nil
				}
				s.config.Logger.Warn("an application's alert rules will be told of new issues later", "app", set.app.String(), "error", err)
			}
			mu.Lock()
			defer mu.Unlock()
			late = append(late, told)
			return nil
		})
	}
	_ = group.Wait() // those that failed are in late
	return late
}

// waits says whether an alert rule of an environment waits for regressions.
func (b *Rulebook) waits(environment uint64) bool {
	set := b.find(environment)
	return set != nil && set.regressions
}

// regressionsAtOnce bounds the issues of one telling.
const regressionsAtOnce = 500

// tellRegressions has the rules that wait for regressions learn of issues that regressed with
// a block, and the issues know that they did. An issue that does not know it says again that
// it regressed with the block, so nothing is overlooked by a crash; the alerting actors know
// what they were told of. It returns the environments for which it failed; they do not keep the
// others from hearing.
func (s *Sink) tellRegressions(ctx context.Context, id uint64, came []issueKey) map[uint64]error {
	failed := map[uint64]error{}
	for len(came) > 0 {
		environment := came[0].environment
		some := slices.IndexFunc(came, func(key issueKey) bool { return key.environment != environment })
		if some < 0 {
			some = len(came)
		}
		for part := range slices.Chunk(came[:some], regressionsAtOnce) {
			err := attempt.Contained(func() error { return s.tellRegressed(ctx, id, environment, part) })
			if err == nil {
				err = s.config.Issues.noted(ctx, id, part)
			}
			if err != nil {
				failed[environment] = fmt.Errorf("telling of regressions: %w", err)
			}
		}
		came = came[some:]
	}
	return failed
}

// tellRegressed tells the rules of one environment.
func (s *Sink) tellRegressed(ctx context.Context, id, environment uint64, came []issueKey) error {
	set := s.config.Rules.find(environment)
	if set == nil || !set.regressions {
		return nil // its rules are gone
	}
	issues := make([]uint64, len(came))
	for i, key := range came {
		issues[i] = key.issue
	}
	totals, err := s.config.Totals.IssueTotals(ctx, []uint64{environment}, issues)
	if err != nil {
		return fmt.Errorf("reading what issues are called: %w", err)
	}
	told := svc.Regressions{Environment: environment, Block: id}
	for _, issue := range issues {
		title := svc.IssueID(issue)
		for _, total := range totals {
			if total.Issue == issue && total.Environment == environment {
				title = total.Title()
			}
		}
		told.Issues = append(told.Issues, svc.RegressedIssue{Issue: issue, Title: title})
	}
	return s.config.Alarms.Regressed(ctx, set.app, told)
}

// firstSeen returns by environment the issues that occurred in a block, by environment and
// issue, as often as in all.
func (s *Sink) firstSeen(ctx context.Context, environments, issues []uint64, occurred map[[2]uint64]uint64) (map[uint64][]svc.IssueTotal, error) {
	news := map[uint64][]svc.IssueTotal{}
	for part := range slices.Chunk(issues, totalsAtOnce) {
		totals, err := s.config.Totals.IssueTotals(ctx, environments, part)
		if err != nil {
			return nil, err
		}
		for _, total := range totals {
			if occurred[[2]uint64{total.Environment, total.Issue}] == total.Occurrences {
				news[total.Environment] = append(news[total.Environment], total)
			}
		}
	}
	return news, nil
}
