package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"svc/bench/harness"
)

func TestLedgerRemembersFates(t *testing.T) {
	l := newLedger(7)
	numbers := l.take(4, time.UnixMilli(1_763_640_000_123))
	l.sent(numbers[:3])
	l.ack(numbers[:2])
	l.sent(numbers[:1]) // sending again does not change the fate
	if got, want := l.counts(), [...]int{unsent: 1, unknown: 1, acknowledged: 2}; got != want {
		t.Errorf("fates %v, want %v", got, want)
	}
	for _, n := range l.again(nil, 10, rand.New(rand.NewPCG(1, 1))) {
		if n > 1 {
			t.Errorf("event %d is sent again before it was acknowledged", n)
		}
	}
	for n := range numbers {
		if got, err := l.find(string(l.id(n))); err != nil || got != n {
			t.Errorf("%s is found as %d, %v", l.id(n), got, err)
		}
	}
	for _, id := range []string{"crash-8-1", l.prefix + "4", l.prefix + "-1", l.prefix} {
		if _, err := l.find(id); err == nil {
			t.Errorf("%q was found", id)
		}
	}
}

func TestLedgerRendersAnEventAlwaysAlike(t *testing.T) {
	l := newLedger(7)
	l.take(3, time.UnixMilli(1_763_640_000_123))
	if a, b := l.body(nil, []int{2}), l.body(nil, []int{2}); string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
	var batch struct {
		Items []struct {
			Type, ID, DistinctID, Ts string
		}
	}
	if err := json.Unmarshal(l.body(nil, []int{0, 2, 0}), &batch); err != nil || len(batch.Items) != 3 {
		t.Fatalf("%+v, %v", batch, err)
	}
	item := batch.Items[1]
	if item.Type != "event" || item.ID != "crash-7-2" || item.DistinctID != fmt.Sprintf("user-%08d", userOf(2)) || item.Ts != "2025-11-20T12:00:00.123Z" {
		t.Errorf("%+v", item)
	}
}

func TestLoadJudgesAnswers(t *testing.T) {
	for _, test := range []struct {
		name     string
		reply    harness.Reply
		err      error
		acked    bool
		problems int
	}{
		{"all accepted", harness.Reply{Status: http.StatusAccepted, Body: []byte(`{"accepted":2,"rejected":[]}`)}, nil, true, 0},
		{"one rejected", harness.Reply{Status: http.StatusAccepted, Body: []byte(`{"accepted":1,"rejected":[{}]}`)}, nil, false, 1},
		{"come again", harness.Reply{Status: http.StatusServiceUnavailable, RetryAfter: "1"}, nil, false, 0},
		{"come again without a time", harness.Reply{Status: http.StatusServiceUnavailable}, nil, false, 1},
		{"internal", harness.Reply{Status: http.StatusInternalServerError}, nil, false, 1},
		{"no connection", harness.Reply{}, harness.ErrNotSent, false, 0},
	} {
		l := newLoad(newLedger(1), nil)
		if got := l.judge(test.reply, test.err, 2); got != test.acked || len(l.problems) != test.problems {
			t.Errorf("%s: acknowledged %v, problems %q", test.name, got, l.problems)
		}
	}
}

func TestFindingsTellTheFirstOfEachKind(t *testing.T) {
	found := &findings{counts: map[string]int{}}
	for n := range 50 {
		found.violate(lost, "%d", n)
	}
	found.violate(twice, "one")
	if len(found.violations) != 11 || found.counts[lost] != 50 || found.counts[twice] != 1 {
		t.Errorf("%q, %v", found.violations, found.counts)
	}
}

func TestRunIsDeterministicInItsMoments(t *testing.T) {
	moments := func(only string) string {
		o := &options{kills: 9, seed: 3, only: only}
		return fmt.Sprint(newRun(o, nil, time.Second).kinds)
	}
	if first, second := moments(""), moments(""); first != second {
		t.Error("one seed gives two orders")
	}
	if got := moments("ack"); got != "[ack ack ack ack ack ack ack ack ack]" {
		t.Error(got)
	}
}
