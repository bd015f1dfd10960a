package apitest

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/issue"
)

// note adds entries to the activity of an issue. The caller holds the lock.
func (t tracked) note(environment, issue uint64, entries ...issue.Activity) {
	ref := issueRef{environment, issue}
	for _, entry := range entries {
		if next, _, err := t.activities[ref].Add(entry); err == nil {
			t.activities[ref] = next
		}
	}
}

// Comment implements issues.IssueChanges.
func (t tracked) Comment(_ context.Context, environment, i uint64, text string, by issue.Author) (issue.Activity, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(environment, i, issue.Activity{At: t.now(), Kind: issue.ActivityComment, Author: by, Text: text})
	entries := t.activities[issueRef{environment, i}]
	return entries[len(entries)-1], nil
}

// Activity implements issues.IssueChanges.
func (t tracked) Activity(_ context.Context, environment, issue, before uint64, limit int) (page []issue.Activity, more bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	page, more = t.activities[issueRef{environment, issue}].Page(before, limit)
	return page, more, nil
}

// FindIssues implements issues.Issues.
func (t tracked) FindIssues(ctx context.Context, env domain.Environment, numbers []uint64, now time.Time) (map[uint64]issue.Issue, error) {
	found := map[uint64]issue.Issue{}
	for _, number := range numbers {
		if issue, err := t.FindIssue(ctx, env, number, now); err == nil {
			found[number] = issue
		}
	}
	return found, nil
}

// Releases implements issues.Issues; only the real server answers the steps about releases.
func (tracked) Releases(context.Context, issue.ErrorReleasesQuery) ([]issue.ErrorRelease, bool, error) {
	return nil, false, nil
}

// Artifacts implements issues.Artifacts; only the real server answers the steps about source maps.
func (tracked) Artifacts(context.Context, issue.ArtifactQuery) ([]issue.Artifact, bool, error) {
	return nil, false, nil
}

// Unmapped implements issues.Artifacts.
func (tracked) Unmapped(context.Context, domain.Environment, time.Time) ([]issue.UnmappedFrames, error) {
	return nil, nil
}
