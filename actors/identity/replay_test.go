package identity

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/ingest"
)

func TestReplayLife(t *testing.T) {
	otherBody := domain.Errorf(domain.CodeConflict, "The Idempotency-Key was used with another body.")
	underWay := domain.Errorf(domain.CodeConflict, "A request with this Idempotency-Key is still under way.")
	nonce := []byte("nonce")
	claimed := func(at time.Duration, body string) ingest.ReplayClaim {
		return ingest.ReplayClaim{Body: body, At: actorstest.At(at), Nonce: nonce}
	}
	forget := func(due time.Time) []domain.Wakeup {
		return []domain.Wakeup{{Kind: "replay", Identity: "id", Name: "forget", Due: due}}
	}
	first := func(name string, after time.Duration, body string) actorstest.Step {
		claim := claimed(after, body)
		want := grain.Outcome[any]{Answer: claim, Effects: grain.Effects{Writes: []grain.Write{grain.Put("claim", "claim", claim)}, Wakeups: forget(actorstest.At(after + 24*time.Hour))}}
		return actorstest.Step{Name: name, After: after, Method: "begin", Message: beginReplay{body, nonce}, Want: want}
	}
	again := func(name string, after time.Duration, body, sealed string, err error) actorstest.Step {
		s := actorstest.Step{Name: name, After: after, Method: "begin", Message: beginReplay{body, []byte("other")}, Err: err}
		if err == nil {
			claim := claimed(0, body)
			claim.Repeated = true
			if sealed != "" {
				claim.Sealed = []byte(sealed)
			}
			s.Want = grain.Answer[any](claim)
		}
		return s
	}
	finish := func(name string, after time.Duration, body, sealed string) actorstest.Step {
		want := grain.Answer[any](grain.None{})
		if sealed != "" {
			want.Writes = []grain.Write{grain.Put("answer", "answer", replayRecord{body, []byte(sealed), actorstest.At(after)})}
		}
		return actorstest.Step{Name: name, After: after, Method: "finish", Message: finishReplay{body, []byte(sealed)}, Want: want}
	}
	wake := func(name string, after time.Duration, forgets bool) actorstest.Step {
		s := actorstest.Step{Name: name, After: after, Method: "wake", Message: "forget", Want: grain.Answer[any](grain.None{})}
		if forgets {
			s.Want.Writes = []grain.Write{grain.Delete("answer", "answer"), grain.Delete("claim", "claim")}
			s.Want.Wakeups = forget(time.Time{})
		}
		return s
	}
	const day = 24 * time.Hour
	lives := map[string]struct {
		storesAll bool
		steps     []actorstest.Step
	}{
		"under way": {false, []actorstest.Step{
			first("claim", 0, "a"),
			again("the same request", time.Second, "a", "", underWay),
			again("another body", time.Second, "b", "", otherBody),
			again("just before it is given up", 2*time.Minute-1, "a", "", underWay),
			again("given up", 2*time.Minute, "a", "", nil),
			again("claimed again", 2*time.Minute, "a", "", underWay),
		}},
		"answered": {true, []actorstest.Step{
			first("claim", 0, "a"),
			finish("finish", time.Second, "a", "sealed"),
			again("the same request", 2*time.Second, "a", "sealed", nil),
			again("another body", 2*time.Second, "b", "", otherBody),
			wake("woken too early", day-1, false),
			again("at the last instant", day-1, "a", "sealed", nil),
			wake("woken in time", day, true),
			first("on the next day", day, "b"),
		}},
		"answered and not woken": {true, []actorstest.Step{
			first("claim", 0, "a"),
			finish("finish", 0, "a", "sealed"),
			first("on the next day", day, "b"),
		}},
		"an unknown end": {false, []actorstest.Step{
			first("claim", 0, "a"),
			finish("no answer is kept", time.Second, "a", ""),
			again("another body", time.Second, "b", "", otherBody),
			again("the same request, as it was first made", 2*time.Second, "a", "", nil),
			finish("finish", 3*time.Second, "a", "sealed"),
			again("repeat", 3*time.Second, "a", "sealed", nil),
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

// TestAClaimSurvivesAMove restores the claim of a request that did not finish.
func TestAClaimSurvivesAMove(t *testing.T) {
	r := &replay{identity: "id"}
	actorstest.Restored(t, r, nil)
	claim, err := r.onBegin(actorstest.Epoch(), beginReplay{"a", []byte("nonce")})
	if err != nil {
		t.Fatal(err)
	}
	moved := &replay{identity: "id"}
	payload, err := json.Marshal(claim.Answer)
	if err != nil {
		t.Fatal(err)
	}
	actorstest.Restored(t, moved, map[string]domain.Entity{"claim": {Kind: kindClaim, ID: kindClaim, Payload: payload}})
	if again, err := moved.onBegin(actorstest.At(time.Second), beginReplay{"a", []byte("other")}); err != nil || string(again.Answer.Nonce) != "nonce" || !again.Answer.At.Equal(actorstest.Epoch()) {
		t.Errorf("the same request got %+v, %v", again.Answer, err)
	}
	if _, err := moved.onBegin(actorstest.At(time.Second), beginReplay{"b", nil}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("another body got %v", err)
	}
}
