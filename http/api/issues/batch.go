package issues

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/http/api"
	"svc/http/route"
)

type updateIssues struct {
	api.AppPath
	Env  api.Env     `query:"env" doc:"The environment's slug; issues of other environments are not found."`
	Body issuesPatch `body:"json"`
}

// issuesPatch is the body of PATCH …/errors: the changes of one issue, for several.
type issuesPatch struct {
	IDs []string `json:"ids" required:"true" doc:"1 to 200 issues."`
	issuePatch
}

// Check applies the rules of issues and bounds the list.
func (u *updateIssues) Check(call *route.Call) []domain.FieldError {
	patch := u.Body.patch()
	problems := patch.Validate(call.Now)
	if n := len(u.Body.IDs); n == 0 || n > issue.MaxIssueBatch {
		problems = append(problems, domain.FieldError{Field: "ids", Code: "invalid_value", Message: fmt.Sprintf("ids lists 1 to %d issues.", issue.MaxIssueBatch)})
	}
	return problems
}

// issueOutcome shows the result of the change for one issue.
type issueOutcome struct {
	ID             string        `json:"id" doc:"The id as it was asked for."`
	Title          *string       `json:"title"`
	PreviousStatus *issue.Status `json:"previousStatus"`
	Status         *issue.Status `json:"status"`
	Error          *issueFailure `json:"error" doc:"Why the issue was not changed; null where it was."`
}

// issueFailure says why an issue was not changed.
type issueFailure struct {
	Code    domain.Code `json:"code"`
	Message string      `json:"message"`
}

// changedIssues is the answer of PATCH …/errors.
type changedIssues struct {
	Data        []issueOutcome `json:"data" doc:"One row for each id, in the order of the request."`
	Changed     int            `json:"changed" doc:"How many issues were changed."`
	Environment string         `json:"environment"`
}

// batchAtOnce bounds the issues of one request that are changed at the same time.
const batchAtOnce = 16

// updateMany changes several issues of one environment. Each issue succeeds or fails on its own, and the answer
// contains the result of each.
func (e tracking) updateMany(ctx context.Context, call *route.Call, in updateIssues) (changedIssues, error) {
	by, err := author(call)
	if err != nil {
		return changedIssues{}, err
	}
	patch := in.Body.patch()
	if err := e.assignable(ctx, in.Org, patch); err != nil {
		return changedIssues{}, err
	}
	numbers := make([]uint64, len(in.Body.IDs))
	for n, id := range in.Body.IDs {
		numbers[n], _ = occurrence.ParseIssueID(id) // No issue has the number 0.
	}
	found, err := e.issues.FindIssues(ctx, in.Env.Environment, numbers, call.Now)
	if err != nil {
		return changedIssues{}, err
	}
	answer := changedIssues{Data: make([]issueOutcome, len(numbers)), Environment: in.Env.Slug}
	first := map[uint64]int{}
	var group errgroup.Group
	group.SetLimit(batchAtOnce)
	for n, number := range numbers {
		outcome := &answer.Data[n]
		outcome.ID = in.Body.IDs[n]
		issue, known := found[number]
		_, twice := first[issue.Key.Number]
		switch {
		case !known:
			outcome.Error = &issueFailure{Code: domain.CodeNotFound, Message: "The environment has no such issue."}
		case twice:
			outcome.Error = &issueFailure{Code: domain.CodeConflict, Message: "The request names the issue, or the one that it is part of, before."}
		default:
			first[issue.Key.Number] = n
			ctx := call.OfOne(ctx, issue.ID)
			group.Go(func() error {
				e.changeOne(ctx, call, outcome, &issue, in.Env.Number, patch, by)
				return nil
			})
		}
	}
	_ = group.Wait() // The row of an issue contains its error.
	changed := []string{}
	for n := range answer.Data {
		if answer.Data[n].Error == nil {
			changed = append(changed, found[numbers[n]].ID)
		}
	}
	answer.Changed = len(changed)
	call.AboutEach(changed)
	return answer, nil
}

// changeOne changes one issue and writes the result into its row.
func (e tracking) changeOne(ctx context.Context, call *route.Call, row *issueOutcome, issue *issue.Issue, environment uint64, patch issue.Patch, by issue.Author) {
	change, err := e.changes.Change(ctx, environment, issue.Key.Number, patch, by)
	if err != nil {
		row.Error = &issueFailure{Code: domain.CodeOf(err), Message: "The issue could not be changed; try again."}
		return
	}
	shown := shownIssue(call)(issue)
	row.Title, row.PreviousStatus, row.Status = &shown.Title, &change.Previous, &change.Status
}
