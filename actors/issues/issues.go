package issues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/actors/attempt"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
)

// ReleaseOrder knows the order of releases.
type ReleaseOrder interface {
	// FirstSeen returns when releases of an environment were announced or occurred for the first time in an error.
	// Releases that never did are missing.
	FirstSeen(ctx context.Context, environment uint64, releases []string) (map[string]time.Time, error)
}

// Issues is the client of the issue actors.
type Issues struct {
	Actors   grain.Caller
	Releases ReleaseOrder
	// Log orders resolutions and occurrences; if it is nil, clocks do. Shape is the division of the log.
	Log   LogEnds
	Shape domain.LogShape
}

// withoutOffsets returns hits for an issue with occurrences in another partition of the log.
func withoutOffsets(hits []issue.Hit) []issue.Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].Offset = nil
	}
	return hits
}

// LogEnds knows the end of the log.
type LogEnds interface {
	// End returns the offset after the last acknowledged record of a partition.
	End(ctx context.Context, partition int) (int64, error)
}

// endTime bounds the request for the end of the log.
const endTime = 2 * time.Second

// Change changes an issue and returns its status before and after. The patch must be valid. The change is durable when
// Change returns. An occurrence that is accepted after a resolution has returned is newer than the resolution. An
// occurrence that was accepted before the call of Change is older, for any clocks of the nodes. If the log does not
// answer, the clocks decide.
func (i *Issues) Change(ctx context.Context, environment, number uint64, patch issue.Patch, by issue.Author) (issue.Change, error) {
	if patch.End = nil; i.Log != nil && patch.Status != nil && *patch.Status == issue.Resolved {
		asking, cancel := context.WithTimeout(ctx, endTime)
		if end, err := i.Log.End(asking, i.Shape.Of(environment, protos.PartitionOfIssue(number, i.Shape.Partitions))); err == nil {
			patch.End = &end
		}
		cancel()
	}
	return issuePatch.Ask(ctx, i.Actors, issueIdentity(environment, number), patchIssue{Patch: patch, By: by})
}

// Merge makes an issue part of another issue of the same environment. It fails with conflict if either is merged with
// another one.
func (i *Issues) Merge(ctx context.Context, environment, root, part uint64, by issue.Author) error {
	if root == part {
		return domain.Errorf(domain.CodeConflict, "An issue cannot be part of itself.")
	}
	// The root records its part first, so that it cannot become a part itself.
	if err := i.tell(domain.WithCarrier(ctx, nil), environment, root, issueAdopt, issuePart{ID: occurrence.IssueID(part), Noted: true, By: by}); err != nil {
		return err
	}
	err := i.tell(ctx, environment, part, issueJoin, issuePart{ID: occurrence.IssueID(root)})
	if domain.CodeOf(err) == domain.CodeConflict {
		if undo := i.tell(domain.WithCarrier(ctx, nil), environment, root, issueRelease, issuePart{ID: occurrence.IssueID(part), Noted: true, By: by}); undo != nil {
			return undo
		}
	}
	return err
}

// Unmerge removes a part from an issue. It fails with not_found if the issue does not have the part.
func (i *Issues) Unmerge(ctx context.Context, environment, root, part uint64, by issue.Author) error {
	if err := i.tell(ctx, environment, part, issueLeave, issuePart{ID: occurrence.IssueID(root)}); err != nil {
		return err
	}
	return i.tell(ctx, environment, root, issueRelease, issuePart{ID: occurrence.IssueID(part), Noted: true, By: by})
}

// tell sends to an issue a message about another one.
func (i *Issues) tell(ctx context.Context, environment, number uint64, method grain.Method[issuePart, grain.None], other issuePart) error {
	_, err := method.Ask(ctx, i.Actors, issueIdentity(environment, number), other)
	return err
}

// issueHits are the occurrences of one issue in a block.
type issueHits struct {
	environment, issue uint64
	hits               []issue.Hit
}

// occurredAtOnce bounds the issues that are called at the same time.
const occurredAtOnce = 128

// issueKey names an issue.
type issueKey struct{ environment, issue uint64 }

// unreported is an issue that did not take a report, with the error.
type unreported struct {
	issueHits
	err error
}

// occurred reports the occurrences in a block to the actors of issues, one call each. It returns the issues that
// regressed with the block, in environments with alert rules for regressions, and the issues that did not answer. The
// decisions are durable; the call may be repeated.
func (i *Issues) occurred(ctx context.Context, block uint64, issues []issueHits, tells func(environment uint64) bool) (came []issueKey, late []unreported) {
	var group errgroup.Group
	group.SetLimit(occurredAtOnce)
	errs := make([]error, len(issues))
	came = make([]issueKey, len(issues))
	for n, issue := range issues {
		group.Go(func() error {
			message := issueOccurrences{Hits: issue.hits, Block: block}
			if tells(issue.environment) {
				message.Tell = block
			}
			errs[n] = attempt.Contained(func() (err error) {
				came[n], err = i.reportOccurred(ctx, issue, message)
				return err
			})
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for n, err := range errs {
		if err != nil {
			late = append(late, unreported{issues[n], err})
		}
	}
	came = slices.DeleteFunc(came, func(key issueKey) bool { return key == issueKey{} })
	slices.SortFunc(came, func(a, b issueKey) int {
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.issue, b.issue))
	})
	return slices.Compact(came), late // parts of one issue name the same issue
}

// reportOccurred reports to one issue, or to the issue into which it is merged. It returns that issue if it regressed
// and must be reported to alert rules.
func (i *Issues) reportOccurred(ctx context.Context, issue issueHits, message issueOccurrences) (issueKey, error) {
	// An issue is part of another, which may ask for releases: three calls.
	for range 3 {
		settled, err := issueOccurred.Ask(ctx, i.Actors, issueIdentity(issue.environment, issue.issue), message)
		switch {
		case err != nil:
			return issueKey{}, fmt.Errorf("telling issue %s: %w", occurrence.IssueID(issue.issue), err)
		case settled.Regressed:
			return issueKey{issue.environment, issue.issue}, nil
		case settled.MergedInto != "":
			root, ok := occurrence.ParseIssueID(settled.MergedInto)
			if !ok { // no retry finds an issue under an invalid id
				return issueKey{}, nil
			}
			issue.issue = root
			message.Hits = withoutOffsets(message.Hits) // its occurrences have another partition of the log
		case len(settled.Need) > 0 && message.FirstSeen == nil:
			if message.FirstSeen, err = i.Releases.FirstSeen(ctx, issue.environment, settled.Need); err != nil {
				return issueKey{}, fmt.Errorf("ordering releases: %w", err)
			}
		default:
			return issueKey{}, nil
		}
	}
	return issueKey{}, nil
}

// noted confirms to issues that the alert rules received their regression. It may be repeated.
func (i *Issues) noted(ctx context.Context, block uint64, issues []issueKey) error {
	var group errgroup.Group
	group.SetLimit(occurredAtOnce)
	errs := make([]error, len(issues))
	for n, key := range issues {
		group.Go(func() error {
			_, errs[n] = issueNoted.Ask(ctx, i.Actors, issueIdentity(key.environment, key.issue), notedRegression{block})
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return errors.Join(errs...)
}
