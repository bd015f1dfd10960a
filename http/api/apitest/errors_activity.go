package apitest

import (
	"context"
	"time"

	"svc"
)

// note adds entries to the activity of an issue. The caller holds the lock.
func (t tracked) note(environment, issue uint64, entries ...svc.IssueActivity) {
	ref := issueRef{environment, issue}
	for _, entry := range entries {
		if next, _, err := t.activities[ref].Add(entry); err == nil {
			t.activities[ref] = next
		}
	}
}

// Comment implements issues.IssueChanges.
func (t tracked) Comment(_ context.Context, environment, issue uint64, text string, by svc.IssueAuthor) (svc.IssueActivity, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(environment, issue, svc.IssueActivity{At: t.now(), Kind: svc.ActivityComment, Author: by, Text: text})
	entries := t.activities[issueRef{environment, issue}]
	return entries[len(entries)-1], nil
}

// Activity implements issues.IssueChanges.
func (t tracked) Activity(_ context.Context, environment, issue, before uint64, limit int) (page []svc.IssueActivity, more bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	page, more = t.activities[issueRef{environment, issue}].Page(before, limit)
	return page, more, nil
}

// FindIssues implements issues.Issues.
func (t tracked) FindIssues(ctx context.Context, env svc.Environment, numbers []uint64, now time.Time) (map[uint64]svc.Issue, error) {
	found := map[uint64]svc.Issue{}
	for _, number := range numbers {
		if issue, err := t.FindIssue(ctx, env, number, now); err == nil {
			found[number] = issue
		}
	}
	return found, nil
}

// Releases implements issues.Issues; only the real server answers the steps about releases.
func (tracked) Releases(context.Context, svc.ErrorReleasesQuery) ([]svc.ErrorRelease, bool, error) {
	return nil, false, nil
}

// Artifacts implements issues.Artifacts; only the real server answers the steps about source maps.
func (tracked) Artifacts(context.Context, svc.ArtifactQuery) ([]svc.Artifact, bool, error) {
	return nil, false, nil
}

// Unmapped implements issues.Artifacts.
func (tracked) Unmapped(context.Context, svc.Environment, time.Time) ([]svc.UnmappedFrames, error) {
	return nil, nil
}
