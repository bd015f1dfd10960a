package issues

import (
	"context"
	"encoding/json"
	"testing"

	"svc/domain"
	"svc/domain/issue"
)

// TestWatchLeavesOutWhatIsUnreadable loads the watched issues together with one that cannot be decoded.
func TestWatchLeavesOutWhatIsUnreadable(t *testing.T) {
	resolved, err := json.Marshal(issueRecord{Issue: 7, State: issue.State{Status: issue.Resolved}})
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	watch := &ResolvedSet{
		Store:      watchedList{{Owner: "issue/1", Kind: "issue", ID: "1", Payload: []byte("{")}, {Owner: "issue/7", Kind: "issue", ID: "7", Payload: resolved}},
		Partitions: 1, Skipped: func(entity domain.Entity, _ error) { skipped = append(skipped, entity.Owner) },
	}
	if err := watch.load(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	if !watch.has(7) || len(skipped) != 1 || skipped[0] != "issue/1" {
		t.Errorf("issue 7 watched: %t, skipped %v", watch.has(7), skipped)
	}
}

// watchedList is a store of watched issues.
type watchedList []domain.Entity

func (l watchedList) WatchedIssues(context.Context, int, []int) ([]domain.Entity, error) {
	return l, nil
}
