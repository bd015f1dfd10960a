package issue_test

import (
	"testing"
	"time"

	"svc/domain"
	"svc/domain/issue"
)

// TestActivityMakesRoomForTheNewest fills an issue's activity: the oldest entry that is not a comment is dropped first,
// and comments are never dropped.
func TestActivityMakesRoomForTheNewest(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	comment, status := issue.Activity{At: now, Kind: issue.ActivityComment, Text: "x"}, issue.Activity{At: now, Kind: issue.ActivityStatus}
	var log issue.Activities
	add := func(entry issue.Activity) (dropped uint64) {
		next, dropped, err := log.Add(entry)
		if err != nil {
			t.Fatal(err)
		}
		log = next
		return dropped
	}
	add(comment)
	for range issue.MaxIssueActivity - 1 {
		add(status)
	}
	if dropped := add(comment); dropped != 2 || len(log) != issue.MaxIssueActivity || log[len(log)-1].Number != issue.MaxIssueActivity+1 {
		t.Errorf("dropped %d of %d entries, the last is %d", dropped, len(log), log[len(log)-1].Number)
	}
	for range issue.MaxIssueActivity - 2 {
		add(comment)
	}
	last := log[len(log)-1].Number
	if add(status) != 0 || log[len(log)-1].Number != last {
		t.Error("a change of status took the place of a comment")
	}
	if _, _, err := log.Add(comment); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a comment too many: %v", err)
	}
	page, more := log.Page(0, 2)
	if len(page) != 2 || !more || page[0].Number != last {
		t.Errorf("the first page is %+v", page)
	}
	if page, more = log.Page(2, 2); len(page) != 1 || more || page[0].Number != 1 {
		t.Errorf("the last page is %+v", page)
	}
}
