package issues

import (
	"context"
	"strconv"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/issue"
)

// kindActivity is the kind of the entities that hold an issue's activity, one per entry.
const kindActivity = "activity"

type (
	// commentIssue adds a comment.
	commentIssue struct {
		Text string       `json:"text"`
		By   issue.Author `json:"by"`
		// Call is the same for all repetitions of a call, empty if it cannot be repeated.
		Call string `json:"call,omitempty"`
	}
	// activityPage requests entries below a number, or the newest for 0.
	activityPage struct {
		Before uint64 `json:"before"`
		Limit  int    `json:"limit"`
	}
	// activityAnswer answers activityPage.
	activityAnswer struct {
		Page []issue.Activity `json:"page"`
		More bool             `json:"more"`
	}
)

// note adds an entry to the activity and returns the writes. It fails with conflict if there is no room for a comment.
func (i *issueActor) note(entry issue.Activity) ([]grain.Write, error) {
	next, dropped, err := i.activities.Add(entry)
	if err != nil || len(next) == 0 || dropped == 0 && len(next) == len(i.activities) {
		return nil, err
	}
	i.activities = next
	added := next[len(next)-1]
	writes := []grain.Write{grain.Put(kindActivity, strconv.FormatUint(added.Number, 10), added)}
	if dropped != 0 {
		writes = append(writes, grain.Delete(kindActivity, strconv.FormatUint(dropped, 10)))
	}
	return writes, nil
}

// regression is the entry of an issue that regressed.
func regression(next *issue.State, now time.Time) issue.Activity {
	at := now
	if next.RegressedAt != nil {
		at = *next.RegressedAt
	}
	return issue.Activity{
		At: at, Kind: issue.ActivityRegression, From: string(issue.Resolved), To: string(issue.Regressed), Release: next.RegressedInRelease,
	}
}

// onComment adds a comment and returns its entry.
func (i *issueActor) onComment(now time.Time, m commentIssue) (grain.Outcome[issue.Activity], error) {
	if problem := issue.CheckComment(m.Text); problem != nil {
		return grain.Outcome[issue.Activity]{}, domain.Invalid(*problem)
	}
	for _, entry := range i.activities {
		if m.Call != "" && entry.Call == m.Call {
			return grain.Again(entry), nil
		}
	}
	writes, err := i.note(issue.Activity{At: now, Kind: issue.ActivityComment, Author: m.By, Text: m.Text, Call: m.Call})
	if err != nil {
		return grain.Outcome[issue.Activity]{}, err
	}
	return grain.Answer(i.activities[len(i.activities)-1], writes...), nil
}

// onActivity returns a page of the activity.
func (i *issueActor) onActivity(_ time.Time, m activityPage) (grain.Outcome[activityAnswer], error) {
	page, more := i.activities.Page(m.Before, m.Limit)
	return grain.Answer(activityAnswer{Page: page, More: more}), nil
}

// Comment adds a comment to an issue and returns its entry. It fails with conflict if the issue has
// issue.MaxIssueActivity comments.
func (i *Issues) Comment(ctx context.Context, environment, number uint64, text string, by issue.Author) (issue.Activity, error) {
	call := domain.DrawID(ctx, "", func(string) string { return "" })
	return issueComment.Ask(ctx, i.Actors, issueIdentity(environment, number), commentIssue{Text: text, By: by, Call: call})
}

// Activity returns entries of an issue below a number, 0 for all, the newest first, and whether more follow.
func (i *Issues) Activity(ctx context.Context, environment, number, before uint64, limit int) (page []issue.Activity, more bool, err error) {
	answer, err := issueActivity.Ask(ctx, i.Actors, issueIdentity(environment, number), activityPage{Before: before, Limit: limit})
	return answer.Page, answer.More, err
}
