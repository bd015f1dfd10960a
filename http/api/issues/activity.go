package issues

import (
	"context"
	"strconv"

	"svc/domain"
	"svc/domain/issue"
	"svc/http/api"
	"svc/http/route"
)

// activity is one entry in the activity of an issue.
type activity struct {
	ID      string             `json:"id"`
	Kind    issue.ActivityKind `json:"kind"`
	At      route.Time         `json:"at"`
	Author  *assignee          `json:"author" doc:"The member who did it; null for the service."`
	Text    *string            `json:"text" doc:"Of a comment."`
	From    *string            `json:"from" doc:"The status or the assignee's id before."`
	To      *string            `json:"to" doc:"The status or the assignee's id after."`
	Release *string            `json:"release" doc:"The release that holds the fix, or in which the issue came back."`
	IssueID *string            `json:"issueId" doc:"The other issue of a merge."`
}

func activityOf(a *issue.Activity) activity {
	row := activity{
		ID: a.ID(), Kind: a.Kind, At: route.Time(a.At), Text: api.OrNull(a.Text), From: api.OrNull(a.From), To: api.OrNull(a.To),
		Release: api.OrNull(a.Release), IssueID: api.OrNull(a.Issue),
	}
	if a.Author.ID != "" {
		row.Author = &assignee{ID: a.Author.ID, Name: api.OrNull(a.Author.Name)}
	}
	return row
}

type listActivity struct {
	issuePath
	api.Paging
}

// activityPage is the answer of …/errors/{issueId}/activity.
type activityPage struct {
	domain.Page[activity]
	Environment string `json:"environment"`
}

// activity lists the activity of an issue, the newest first.
func (e tracking) activity(ctx context.Context, call *route.Call, in listActivity) (activityPage, error) {
	env, found, err := e.find(ctx, call, in.issuePath)
	if err != nil {
		return activityPage{}, err
	}
	before, err := sequenceOf(call, in.Cursor)
	if err != nil {
		return activityPage{}, err
	}
	rows, more, err := e.changes.Activity(ctx, env.Number, found.Key.Number, before, int(in.Limit))
	if err != nil {
		return activityPage{}, err
	}
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	page := route.PageOf(call, api.Convert(rows, func(a *issue.Activity) activity {
		if !seesPersons {
			a.Mask()
		}
		return activityOf(a)
	}), more, func(activity) []string {
		return []string{strconv.FormatUint(rows[len(rows)-1].Number, 10)}
	})
	return activityPage{Page: page, Environment: env.Slug}, nil
}

// sequenceOf reads the number in a cursor, 0 without a cursor.
func sequenceOf(call *route.Call, cursor string) (uint64, error) {
	keyset, err := call.Keyset(cursor, 1)
	if keyset == nil || err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(keyset[0], 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return number, nil
}

type commentOnIssue struct {
	issuePath
	Body issueComment `body:"json"`
}

// issueComment is the body of POST …/errors/{issueId}/comments.
type issueComment struct {
	Text string `json:"text" required:"true" doc:"The comment, plain text of up to 4096 bytes."`
}

// Check applies the bounds of the text.
func (c *commentOnIssue) Check(*route.Call) []domain.FieldError {
	if problem := issue.CheckComment(c.Body.Text); problem != nil {
		return []domain.FieldError{*problem}
	}
	return nil
}

// comment adds a comment of the caller to an issue.
func (e tracking) comment(ctx context.Context, call *route.Call, in commentOnIssue) (activity, error) {
	by, err := author(call)
	if err != nil {
		return activity{}, err
	}
	env, found, err := e.find(ctx, call, in.issuePath)
	if err != nil {
		return activity{}, err
	}
	added, err := e.changes.Comment(ctx, env.Number, found.Key.Number, in.Body.Text, by)
	if err != nil {
		return activity{}, err
	}
	call.Answer(201)
	call.About(found.ID)
	return activityOf(&added), nil
}
