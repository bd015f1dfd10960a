package issues

import (
	"context"
	"fmt"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/http/route"
)

type mergeIssues struct {
	issuePath
	Body issueParts `body:"json"`
}

// issueParts is the body of POST …/errors/{issueId}/merge and …/unmerge.
type issueParts struct {
	IssueIDs []string `json:"issueIds" required:"true" doc:"The issues that become part of the one in the path, or cease to be."`
}

// Check requires one to a hundred issues.
func (m *mergeIssues) Check(*route.Call) []domain.FieldError {
	if n := len(m.Body.IssueIDs); n == 0 || n > issue.MaxMerged {
		return []domain.FieldError{{Field: "issueIds", Code: "invalid_value", Message: fmt.Sprintf("issueIds lists 1 to %d issues.", issue.MaxMerged)}}
	}
	return nil
}

// mergedIssue is the answer of …/merge and …/unmerge.
type mergedIssue struct {
	ID     string   `json:"id"`
	Merged []string `json:"merged" doc:"The ids of all issues that are part of it now."`
}

// merge makes issues part of the one in the path: their occurrences count for it.
func (e tracking) merge(ctx context.Context, call *route.Call, in mergeIssues) (mergedIssue, error) {
	env, root, err := e.find(ctx, call, in.issuePath)
	if err != nil {
		return mergedIssue{}, err
	}
	by, err := author(call)
	if err != nil {
		return mergedIssue{}, err
	}
	parts := make([]uint64, 0, len(in.Body.IssueIDs))
	for n, id := range in.Body.IssueIDs {
		if _, _, err := e.findIn(ctx, []domain.Environment{env}, id, call.Now); domain.CodeOf(err) == domain.CodeNotFound && err != nil {
			return mergedIssue{}, domain.Invalid(domain.FieldError{Field: fmt.Sprintf("issueIds[%d]", n), Code: "unknown_issue", Message: fmt.Sprintf("The environment has no issue %q.", id)})
		} else if err != nil {
			return mergedIssue{}, err
		}
		number, _ := occurrence.ParseIssueID(id)
		parts = append(parts, number)
	}
	for _, part := range parts {
		if err := e.changes.Merge(ctx, env.Number, root.Key.Number, part, by); err != nil {
			return mergedIssue{}, err
		}
	}
	return e.mergedNow(ctx, call, env, root)
}

// unmerge removes parts from the issue in the path; each is an issue again, with its earlier status.
func (e tracking) unmerge(ctx context.Context, call *route.Call, in mergeIssues) (mergedIssue, error) {
	env, root, err := e.find(ctx, call, in.issuePath)
	if err != nil {
		return mergedIssue{}, err
	}
	by, err := author(call)
	if err != nil {
		return mergedIssue{}, err
	}
	for _, id := range in.Body.IssueIDs {
		part, ok := occurrence.ParseIssueID(id)
		if !ok {
			return mergedIssue{}, domain.NotFound("merged issue")
		}
		if err := e.changes.Unmerge(ctx, env.Number, root.Key.Number, part, by); err != nil {
			return mergedIssue{}, err
		}
	}
	return e.mergedNow(ctx, call, env, root)
}

func (e tracking) mergedNow(ctx context.Context, call *route.Call, env domain.Environment, root issue.Issue) (mergedIssue, error) {
	detail, err := e.issues.Issue(ctx, issue.Scope{
		Environment: env, Number: root.Key.Number, Days: issue.LastDays(call.Now, issue.SparkDays, call.App.Location()), Now: call.Now,
	})
	return mergedIssue{ID: root.ID, Merged: append([]string{}, detail.State.Merged...)}, err
}
