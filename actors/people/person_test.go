package people

import (
	"fmt"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/domain/person"
)

// TestAMergeIsNotedOnce adds merges again, under the same id and under another one.
func TestAMergeIsNotedOnce(t *testing.T) {
	p := &personActor{activities: map[string]person.Activity{}}
	for _, one := range []struct {
		id, merged, want string
		writes           int
	}{{"crm_1", "per_1", "crm_1", 1}, {"crm_1", "per_1", "crm_1", 0}, {"crm_2", "per_1", "crm_1", 0}, {"crm_3", "per_2", "crm_3", 1}} {
		outcome, err := p.onNote(time.Now(), noteActivity{person.Activity{ID: one.id, Kind: person.ActivityMerge, Merged: one.merged}})
		if err != nil || outcome.Answer.ID != one.want || len(outcome.Writes) != one.writes || outcome.Repeated != (one.writes == 0) {
			t.Errorf("noting %s of %s: %+v, %v", one.id, one.merged, outcome, err)
		}
	}
}

// TestMergesOutliveOtherActivities adds more activities than the limit, with merges among the oldest.
func TestMergesOutliveOtherActivities(t *testing.T) {
	p := &personActor{activities: map[string]person.Activity{}}
	var deleted []grain.Write
	for n := range person.MaxActivities + 4 {
		activity := person.Activity{ID: fmt.Sprintf("crm_%04d", n), Kind: person.ActivityNote, At: time.UnixMilli(int64(n))}
		if n == 0 || n == 2 {
			activity.Kind, activity.Merged = person.ActivityMerge, fmt.Sprint("per_", n)
		}
		for _, write := range p.keep(activity) {
			if write.Value == nil {
				deleted = append(deleted, write)
			}
		}
	}
	want := fmt.Sprint([]grain.Write{grain.Delete("activity", "crm_0001"), grain.Delete("activity", "crm_0003"), grain.Delete("activity", "crm_0004"), grain.Delete("activity", "crm_0005")})
	if got := fmt.Sprint(deleted); got != want || len(p.activities) != person.MaxActivities {
		t.Errorf("given up are %s, want %s; %d stay", got, want, len(p.activities))
	}
}
