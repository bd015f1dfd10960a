package identity

import (
	"time"

	"svc"
	"svc/actors/grain"
)

// The replay actor.
//
//	identity   SHA-256 of the token's id and its idempotency key, in hex
//	rank       3
//	owns       the answer that was given under the key
//	persists   entity answer, sealed by the vault, for 24 hours
//	woken by   calls, and once when the day is over
//	limits     none of its own
//	stops      after five minutes without a message
const kindReplay = "replay"

// replayTime is how long an answer is kept (contract 11).
const replayTime = 24 * time.Hour

// beginTime is how long a request that never finished blocks its key.
const beginTime = 2 * time.Minute

type replay struct {
	identity string
	answer   *replayRecord
	begun    time.Time
	body     string
}

type replayRecord struct {
	Body   string    `json:"body"`
	Sealed []byte    `json:"sealed"`
	At     time.Time `json:"at"`
}

type (
	beginReplay struct {
		Body string `json:"body"`
	}
	finishReplay struct {
		Body   string `json:"body"`
		Sealed []byte `json:"sealed"`
	}
)

var replayKind = grain.NewKind[*replay](kindReplay, 3, 5*time.Minute)

// The methods of the replay actor.
var (
	replayBegin  = grain.On(replayKind, "begin", (*replay).onBegin)
	replayFinish = grain.On(replayKind, "finish", (*replay).onFinish)
	_            = grain.On(replayKind, "wake", (*replay).onWake, grain.Repeatable)
)

func (r *replay) Restore(entities []svc.Entity) error {
	r.answer = nil
	for _, entity := range entities {
		record, err := grain.Decode[replayRecord](entity)
		if err != nil {
			return err
		}
		r.answer = &record
	}
	return nil
}

// onBegin answers what was answered before, or nothing where the caller may go
// ahead. The same key with another body, or while the first request is still
// under way, is a conflict.
func (r *replay) onBegin(now time.Time, m beginReplay) (grain.Outcome[[]byte], error) {
	if r.answer != nil && now.Sub(r.answer.At) >= replayTime {
		r.answer = nil
	}
	body := r.body
	if r.answer != nil {
		body = r.answer.Body
	}
	inProgress := r.answer == nil && !r.begun.IsZero() && now.Sub(r.begun) < beginTime
	switch {
	case (r.answer != nil || inProgress) && body != m.Body:
		return grain.Outcome[[]byte]{}, svc.Errorf(svc.CodeConflict, "The Idempotency-Key was used with another body.")
	case inProgress:
		return grain.Outcome[[]byte]{}, svc.Errorf(svc.CodeConflict, "A request with this Idempotency-Key is still under way.")
	case r.answer != nil:
		return grain.Answer(r.answer.Sealed), nil
	}
	r.begun, r.body = now, m.Body
	return grain.Answer([]byte(nil)), nil
}

// onFinish keeps the answer; an empty one frees the key for another attempt.
func (r *replay) onFinish(now time.Time, m finishReplay) (grain.Outcome[grain.None], error) {
	r.begun = time.Time{}
	if len(m.Sealed) == 0 {
		return grain.Answer(grain.None{}), nil
	}
	record := replayRecord{Body: m.Body, Sealed: m.Sealed, At: now}
	r.answer = &record
	return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Put("answer", "answer", record)}, Wakeups: []svc.Wakeup{{Kind: kindReplay, Identity: r.identity, Name: "forget", Due: now.Add(replayTime)}}}}, nil
}

// onWake forgets an answer whose day is over.
func (r *replay) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	if r.answer != nil && now.Sub(r.answer.At) < replayTime {
		return grain.Answer(grain.None{}), nil
	}
	r.answer = nil
	return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete("answer", "answer")}, Wakeups: []svc.Wakeup{{Kind: kindReplay, Identity: r.identity, Name: "forget"}}}}, nil
}
