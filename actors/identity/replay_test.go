package identity

import (
	"fmt"
	"testing"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
)

func TestReplayLife(t *testing.T) {
	otherBody := svc.Errorf(svc.CodeConflict, "The Idempotency-Key was used with another body.")
	underWay := svc.Errorf(svc.CodeConflict, "A request with this Idempotency-Key is still under way.")
	begin := func(name string, after time.Duration, body string, sealed []byte, err error) actorstest.Step {
		s := actorstest.Step{Name: name, After: after, Method: "begin", Message: beginReplay{body}, Err: err}
		if err == nil {
			s.Want = grain.Answer[any](sealed)
		}
		return s
	}
	finish := func(name string, after time.Duration, body, sealed string) actorstest.Step {
		return actorstest.Step{Name: name, After: after, Method: "finish", Message: finishReplay{body, []byte(sealed)}, Want: grain.Outcome[any]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Put("answer", "answer", replayRecord{body, []byte(sealed), actorstest.At(after)})}, Wakeups: []svc.Wakeup{{Kind: "replay", Identity: "id", Name: "forget", Due: actorstest.At(after + 24*time.Hour)}}}}}
	}
	free := func(name string, after time.Duration) actorstest.Step {
		return actorstest.Step{Name: name, After: after, Method: "finish", Message: finishReplay{"a", nil}, Want: grain.Answer[any](grain.None{})}
	}
	wake := func(name string, after time.Duration, forgets bool) actorstest.Step {
		s := actorstest.Step{Name: name, After: after, Method: "wake", Message: "forget", Want: grain.Answer[any](grain.None{})}
		if forgets {
			s.Want.Writes = []grain.Write{grain.Delete("answer", "answer")}
			s.Want.Wakeups = []svc.Wakeup{{Kind: "replay", Identity: "id", Name: "forget"}}
		}
		return s
	}
	const day = 24 * time.Hour
	lives := map[string]struct {
		storesAll bool
		steps     []actorstest.Step
	}{
		"under way": {false, []actorstest.Step{
			begin("claim", 0, "a", nil, nil),
			begin("the same request", time.Second, "a", nil, underWay),
			begin("another body", time.Second, "b", nil, otherBody),
			begin("just before it is given up", 2*time.Minute-1, "a", nil, underWay),
			begin("given up", 2*time.Minute, "b", nil, nil),
			begin("claimed again", 2*time.Minute, "b", nil, underWay),
		}},
		"answered": {true, []actorstest.Step{
			finish("finish", time.Second, "a", "sealed"),
			begin("the same request", 2*time.Second, "a", []byte("sealed"), nil),
			begin("another body", 2*time.Second, "b", nil, otherBody),
			wake("woken too early", day, false),
			begin("at the last instant", day+time.Second-1, "a", []byte("sealed"), nil),
			wake("woken in time", day+time.Second, true),
			begin("on the next day", day+time.Second, "b", nil, nil),
		}},
		"answered and not woken": {true, []actorstest.Step{
			finish("finish", 0, "a", "sealed"),
			begin("on the next day", day, "a", nil, nil),
		}},
		"freed": {false, []actorstest.Step{
			begin("claim", 0, "a", nil, nil),
			free("free", time.Second),
			begin("again, with another body", time.Second, "b", nil, nil),
			finish("finish", 2*time.Second, "b", "sealed"),
			begin("repeat", 3*time.Second, "b", []byte("sealed"), nil),
			wake("woken", 2*day, true),
			wake("woken without reason", 2*day, true),
			{Name: "unknown method", Method: "nonsense", Message: grain.None{}, Err: fmt.Errorf(`unknown method "nonsense"`)},
		}},
	}
	for name, life := range lives {
		t.Run(name, func(t *testing.T) {
			actorstest.Play(t, replayKind, func() *replay { return &replay{identity: "id"} }, life.storesAll, life.steps)
		})
	}
}

// TestAClaimSurvivesAReload restores a replay while its request is under way, as
// after a failed save.
func TestAClaimSurvivesAReload(t *testing.T) {
	r := &replay{identity: "id"}
	actorstest.Restored(t, r, nil)
	if _, err := r.onBegin(actorstest.Epoch(), beginReplay{"a"}); err != nil {
		t.Fatal(err)
	}
	actorstest.Restored(t, r, nil)
	if _, err := r.onBegin(actorstest.At(time.Second), beginReplay{"a"}); svc.CodeOf(err) != svc.CodeConflict {
		t.Errorf("the same request got %v, want a conflict", err)
	}
}
