package actors

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
)

// Releases knows in which order releases came.
type Releases interface {
	// FirstSeen returns when releases of an environment occurred for the first
	// time in an error; one that never did is missing.
	FirstSeen(ctx context.Context, environment uint64, releases []string) (map[string]time.Time, error)
}

// Issues is the client of the issue actors.
type Issues struct {
	Actors   caller
	Releases Releases
}

// Change changes an issue and returns its status before and after. The wish must
// be valid; the change is durable when Change returns.
func (i *Issues) Change(ctx context.Context, environment, number uint64, patch svc.IssuePatch) (svc.IssueChange, error) {
	return ask[svc.IssueChange](ctx, i.Actors, kindIssue, issueIdentity(environment, number), "patch", patchIssue{Patch: patch})
}

// Merge makes an issue part of another one of the same environment. It fails
// with conflict where either is merged otherwise.
func (i *Issues) Merge(ctx context.Context, environment, root, part uint64) error {
	if root == part {
		return svc.Errorf(svc.CodeConflict, "An issue cannot be part of itself.")
	}
	// The root notes its part first, so that it cannot become a part itself.
	if err := i.tell(ctx, environment, root, "adopt", part); err != nil {
		return err
	}
	err := i.tell(ctx, environment, part, "join", root)
	if svc.CodeOf(err) == svc.CodeConflict {
		if undo := i.tell(ctx, environment, root, "release", part); undo != nil {
			return undo
		}
	}
	return err
}

// Unmerge takes a part out of an issue. It fails with not_found where it is none.
func (i *Issues) Unmerge(ctx context.Context, environment, root, part uint64) error {
	if err := i.tell(ctx, environment, part, "leave", root); err != nil {
		return err
	}
	return i.tell(ctx, environment, root, "release", part)
}

// tell sends a message about another issue to an issue.
func (i *Issues) tell(ctx context.Context, environment, number uint64, method string, other uint64) error {
	_, err := ask[none](ctx, i.Actors, kindIssue, issueIdentity(environment, number), method, issuePart{ID: svc.IssueID(other)})
	return err
}

// Notify asks whether people may be told of an issue now; they may not be told
// again before the cooldown has passed, unless the issue is resolved meanwhile.
func (i *Issues) Notify(ctx context.Context, environment, number uint64, cooldown time.Duration) (bool, error) {
	return ask[bool](ctx, i.Actors, kindIssue, issueIdentity(environment, number), "notify", notifyIssue{Cooldown: cooldown})
}

// issueHits are the occurrences of one issue in a block.
type issueHits struct {
	environment, issue uint64
	hits               []svc.IssueHit
}

// occurredAtOnce bounds the issues that are told at the same time.
const occurredAtOnce = 128

// occurred tells watched issues that they occurred. Once it returns nil, what
// they decided is durable; it may be repeated.
func (i *Issues) occurred(ctx context.Context, issues []issueHits) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(occurredAtOnce)
	for _, issue := range issues {
		group.Go(func() error { return i.settle(ctx, issue) })
	}
	return group.Wait()
}

// settle tells one issue, or the one that it is part of.
func (i *Issues) settle(ctx context.Context, issue issueHits) error {
	message := issueOccurred{Hits: issue.hits}
	// An issue is part of another, which may ask for releases: three questions.
	for range 3 {
		settled, err := ask[issueSettled](ctx, i.Actors, kindIssue, issueIdentity(issue.environment, issue.issue), "occurred", message)
		switch {
		case err != nil:
			return fmt.Errorf("telling issue %s: %w", svc.IssueID(issue.issue), err)
		case settled.MergedInto != "":
			root, ok := svc.ParseIssueID(settled.MergedInto)
			if !ok {
				return fmt.Errorf("issue %s is part of %q", svc.IssueID(issue.issue), settled.MergedInto)
			}
			issue.issue = root
		case len(settled.Need) > 0 && message.FirstSeen == nil:
			if message.FirstSeen, err = i.Releases.FirstSeen(ctx, issue.environment, settled.Need); err != nil {
				return fmt.Errorf("ordering releases: %w", err)
			}
		default:
			return nil
		}
	}
	return nil
}
