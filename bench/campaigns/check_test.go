package main

import (
	"reflect"
	"testing"
)

// TestEveryRecipientIsJudged gives the judge a sending with one recipient of each kind.
func TestEveryRecipientIsJudged(t *testing.T) {
	fates := map[string]string{address(0): "sent", address(1): "uncertain", address(2): "uncertain", address(3): "sent", address(4): "sent", address(5): "bounced"}
	taken := map[string]int{address(0): 1, address(1): 1, address(4): 2, "stranger@people.example": 1, address(2): 0, address(3): 0, address(5): 0, address(6): 0}
	got, violations := judge(7, taken, fates, true)
	if want := (&found{people: 7, taken: 4, repeated: 1, unnamed: 2, sent: 3, uncertain: 2, window: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, want %+v", got, want)
	}
	want := []string{
		"user-3@people.example was sent to, and got nothing",
		"user-4@people.example got 2 messages",
		`of user-5@people.example, who got 0 messages, the service says "bounced"`,
		`of user-6@people.example, who got 0 messages, the service says ""`,
		"1 addresses of nobody got messages",
	}
	if !reflect.DeepEqual(violations, want) {
		t.Errorf("violations %q, want %q", violations, want)
	}
	if _, violations := judge(2, map[string]int{address(0): 1}, fates, false); len(violations) != 1 {
		t.Errorf("without a kill, somebody is uncertain: %q", violations)
	}
}
