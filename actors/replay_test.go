package actors

import (
	"fmt"
	"testing"
	"time"

	"svc"
)

func TestReplayLife(t *testing.T) {
	otherBody := svc.Errorf(svc.CodeConflict, "The Idempotency-Key was used with another body.")
	underWay := svc.Errorf(svc.CodeConflict, "A request with this Idempotency-Key is still under way.")
	begin := func(name string, after time.Duration, body string, sealed []byte, err error) step {
		s := step{name: name, after: after, method: "begin", message: beginReplay{body}, err: err}
		if err == nil {
			s.want = outcome{answer: sealed}
		}
		return s
	}
	finish := func(name string, after time.Duration, body, sealed string) step {
		return step{name: name, after: after, method: "finish", message: finishReplay{body, []byte(sealed)}, want: outcome{
			answer:  none{},
			writes:  []write{{"answer", "answer", replayRecord{body, []byte(sealed), at(after)}}},
			wakeups: []svc.Wakeup{{Kind: "replay", Identity: "id", Name: "forget", Due: at(after + 24*time.Hour)}},
		}}
	}
	free := func(name string, after time.Duration) step {
		return step{name: name, after: after, method: "finish", message: finishReplay{"a", nil}, want: outcome{answer: none{}}}
	}
	wake := func(name string, after time.Duration, forgets bool) step {
		s := step{name: name, after: after, method: "wake", message: "forget", want: outcome{answer: none{}}}
		if forgets {
			s.want.writes = []write{{"answer", "answer", nil}}
			s.want.wakeups = []svc.Wakeup{{Kind: "replay", Identity: "id", Name: "forget"}}
		}
		return s
	}
	const day = 24 * time.Hour
	lives := map[string]struct {
		storesAll bool
		steps     []step
	}{
		"under way": {false, []step{
			begin("claim", 0, "a", nil, nil),
			begin("the same request", time.Second, "a", nil, underWay),
			begin("another body", time.Second, "b", nil, otherBody),
			begin("just before it is given up", 2*time.Minute-1, "a", nil, underWay),
			begin("given up", 2*time.Minute, "b", nil, nil),
			begin("claimed anew", 2*time.Minute, "b", nil, underWay),
		}},
		"answered": {true, []step{
			finish("finish", time.Second, "a", "sealed"),
			begin("the same request", 2*time.Second, "a", []byte("sealed"), nil),
			begin("another body", 2*time.Second, "b", nil, otherBody),
			wake("woken too early", day, false),
			begin("at the last instant", day+time.Second-1, "a", []byte("sealed"), nil),
			wake("woken in time", day+time.Second, true),
			begin("on the next day", day+time.Second, "b", nil, nil),
		}},
		"answered and not woken": {true, []step{
			finish("finish", 0, "a", "sealed"),
			begin("on the next day", day, "a", nil, nil),
		}},
		"freed": {false, []step{
			begin("claim", 0, "a", nil, nil),
			free("free", time.Second),
			begin("again, with another body", time.Second, "b", nil, nil),
			finish("finish", 2*time.Second, "b", "sealed"),
			begin("repeat", 3*time.Second, "b", []byte("sealed"), nil),
			wake("woken", 2*day, true),
			wake("woken without reason", 2*day, true),
			{name: "unknown method", method: "nonsense", message: none{}, err: fmt.Errorf(`unknown method "nonsense"`)},
		}},
	}
	for name, life := range lives {
		t.Run(name, func(t *testing.T) {
			play(t, func() core { return &replay{identity: "id"} }, life.storesAll, life.steps)
		})
	}
}

// TestAClaimSurvivesAReload restores a replay while its request is under way, as
// after a failed save.
func TestAClaimSurvivesAReload(t *testing.T) {
	r := &replay{identity: "id"}
	mustRestore(t, r, nil)
	if _, err := r.onBegin(coreEpoch(), beginReplay{"a"}); err != nil {
		t.Fatal(err)
	}
	mustRestore(t, r, nil)
	if _, err := r.onBegin(at(time.Second), beginReplay{"a"}); svc.CodeOf(err) != svc.CodeConflict {
		t.Errorf("the same request got %v, want a conflict", err)
	}
}
