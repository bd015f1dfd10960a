package issue

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"svc/domain"
)

// ActivityKind is the kind of an entry in an issue's activity.
type ActivityKind string

// The kinds of activity.
const (
	// ActivityComment is a member's text.
	ActivityComment ActivityKind = "comment"
	// ActivityStatus is a member's change of the status.
	ActivityStatus ActivityKind = "status"
	// ActivityAssignee is a change of the assignee.
	ActivityAssignee ActivityKind = "assignee"
	// ActivityRegression is a resolved issue that occurred again.
	ActivityRegression ActivityKind = "regression"
	// ActivityMerged is another issue that became part of this one, ActivityUnmerged one that is no longer part of it.
	ActivityMerged   ActivityKind = "merged"
	ActivityUnmerged ActivityKind = "unmerged"
)

// Values lists the kinds.
func (ActivityKind) Values() []ActivityKind {
	return []ActivityKind{ActivityComment, ActivityStatus, ActivityAssignee, ActivityRegression, ActivityMerged, ActivityUnmerged}
}

// Author is the member that changed or commented on an issue. The zero value is the service.
type Author struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Activity is one entry of an issue's history.
type Activity struct {
	// Number counts the entries of the issue from 1; the newest has the highest.
	Number uint64       `json:"number"`
	At     time.Time    `json:"at"`
	Kind   ActivityKind `json:"kind"`
	Author Author       `json:"author"`
	// Text is the text of a comment.
	Text string `json:"text,omitempty"`
	// From and To are the statuses or assignees before and after.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Release is the release that contains the fix, or in which the issue regressed.
	Release string `json:"release,omitempty"`
	// Issue is the id of the other issue of a merge.
	Issue string `json:"issue,omitempty"`
	// Call is the same for all repetitions of the call that added the entry; it is empty if the call cannot be
	// repeated.
	Call string `json:"call,omitempty"`
}

// ID returns the entry's id, which is unique within its issue.
func (a *Activity) ID() string { return "act_" + strconv.FormatUint(a.Number, 10) }

// Mask hides e-mail-like values.
func (a *Activity) Mask() {
	a.Text, a.Release = domain.MaskShapes(a.Text), domain.MaskShapes(a.Release)
}

// Limits of an issue's activity.
const (
	// MaxIssueActivity is the number of stored entries per issue. A new entry replaces the oldest entry that is not a
	// comment.
	MaxIssueActivity = 500
	// MaxCommentBytes limits a comment.
	MaxCommentBytes = 4096
)

// Activities are the entries of an issue, the oldest first.
type Activities []Activity

// Add returns the entries with a new, numbered one, and the number of the entry that it replaces, 0 if none. If all
// entries are comments, Add refuses another comment (conflict) and leaves out any other entry.
func (l Activities) Add(entry Activity) (next Activities, dropped uint64, err error) {
	next = l
	if len(l) >= MaxIssueActivity {
		at := slices.IndexFunc(l, func(a Activity) bool { return a.Kind != ActivityComment })
		switch {
		case at >= 0:
			dropped = l[at].Number
			next = slices.Delete(slices.Clone(l), at, at+1)
		case entry.Kind == ActivityComment:
			return l, 0, &domain.Error{Code: domain.CodeConflict, Reason: "too_many", Message: fmt.Sprintf("An issue has %d comments at most.", MaxIssueActivity)}
		default:
			return l, 0, nil
		}
	}
	entry.Number = 1
	if len(l) > 0 {
		entry.Number = l[len(l)-1].Number + 1
	}
	entry.At = entry.At.UTC().Truncate(time.Millisecond)
	return append(slices.Clip(next), entry), dropped, nil
}

// Page returns entries below a number, the newest first, and whether more follow. before is 0 for the first page.
func (l Activities) Page(before uint64, limit int) (page []Activity, more bool) {
	for _, entry := range slices.Backward(l) {
		if before != 0 && entry.Number >= before {
			continue
		}
		if len(page) == limit {
			return page, true
		}
		page = append(page, entry)
	}
	return page, false
}

// Changes returns the differences between a state and the next, as entries without numbers.
func (s *State) Changes(next *State, now time.Time, by Author) []Activity {
	var out []Activity
	before, after := s.At(now), next.At(now)
	if before != after || s.ResolvedInRelease != next.ResolvedInRelease {
		out = append(out, Activity{At: now, Kind: ActivityStatus, Author: by, From: string(before), To: string(after), Release: next.ResolvedInRelease})
	}
	if s.AssigneeID != next.AssigneeID {
		out = append(out, Activity{At: now, Kind: ActivityAssignee, Author: by, From: s.AssigneeID, To: next.AssigneeID})
	}
	return out
}

// CheckComment returns the problem of a comment's text, or nil.
func CheckComment(text string) *domain.FieldError {
	if text == "" || len(text) > MaxCommentBytes {
		return &domain.FieldError{Field: "text", Code: "invalid_value", Message: fmt.Sprintf("A comment has 1 to %d bytes.", MaxCommentBytes)}
	}
	return nil
}

// MaxIssueBatch limits the issues that one request may change.
const MaxIssueBatch = 200
