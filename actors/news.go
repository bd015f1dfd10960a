package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"svc"
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
func (b *Rulebook) unknown(hits blockHits) (environments, issues []uint64) {
	if b == nil || b.count.Load() == 0 {
		return nil, nil
	}
	places, wanted := map[uint64]bool{}, map[uint64]bool{}
	for key := range hits {
		set := b.find(key.environment)
		if set != nil && set.newIssues && !b.known.has(key.issue) {
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
	environments, issues := book.unknown(block.hits)
	if len(issues) == 0 {
		return nil
	}
	occurred := map[[2]uint64]uint64{}
	for key, hit := range block.hits {
		occurred[[2]uint64{key.environment, key.issue}] += hit.occurrences
	}
	return s.insist(ctx, block, "telling of new issues", func() error {
		news, err := s.firstSeen(ctx, environments, issues, occurred)
		if err != nil {
			return fmt.Errorf("looking for new issues: %w", err)
		}
		for environment, found := range news {
			set := book.find(environment)
			if set == nil {
				continue // its rules are gone
			}
			first := slices.MinFunc(found, func(a, b svc.IssueTotal) int { return cmp.Compare(a.Issue, b.Issue) })
			err := s.config.Alarms.NewIssues(ctx, set.app, svc.NewIssues{
				Environment: environment, Block: id, ID: svc.IssueID(first.Issue), Title: first.Title(), Others: len(found) - 1,
			})
			if err != nil {
				return fmt.Errorf("telling of new issues: %w", err)
			}
		}
		book.known.add(issues)
		return nil
	})
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
// what they were told of. What one application fails with does not keep the others from
// hearing.
func (s *Sink) tellRegressions(ctx context.Context, id uint64, came []issueKey) error {
	var failed []error
	for len(came) > 0 {
		environment := came[0].environment
		some := slices.IndexFunc(came, func(key issueKey) bool { return key.environment != environment })
		if some < 0 {
			some = len(came)
		}
		for part := range slices.Chunk(came[:some], regressionsAtOnce) {
			err := s.tellRegressed(ctx, id, environment, part)
			if err == nil {
				err = s.config.Issues.noted(ctx, id, part)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("telling of regressions: %w", err))
			}
		}
		came = came[some:]
	}
	return errors.Join(failed...)
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
