package actors

import (
	"time"

	"svc"
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

func replayHandlers() map[string]handler[*replay] {
	return map[string]handler[*replay]{
		"begin":  on((*replay).onBegin),
		"finish": on((*replay).onFinish),
		"wake":   on((*replay).onWake),
	}
}

func (r *replay) apply(now time.Time, method string, payload []byte) (outcome, error) {
	return dispatch(replayHandlers(), r, now, method, payload)
}

func (r *replay) restore(entities []svc.Entity) error {
	r.answer = nil
	for _, entity := range entities {
		record, err := decode[replayRecord](entity)
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
func (r *replay) onBegin(now time.Time, m beginReplay) (outcome, error) {
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
		return outcome{}, svc.Errorf(svc.CodeConflict, "The Idempotency-Key was used with another body.")
	case inProgress:
		return outcome{}, svc.Errorf(svc.CodeConflict, "A request with this Idempotency-Key is still under way.")
	case r.answer != nil:
		return outcome{answer: r.answer.Sealed}, nil
	}
	r.begun, r.body = now, m.Body
	return outcome{answer: []byte(nil)}, nil
}

// onFinish keeps the answer; an empty one frees the key for another attempt.
func (r *replay) onFinish(now time.Time, m finishReplay) (outcome, error) {
	r.begun = time.Time{}
	if len(m.Sealed) == 0 {
		return outcome{answer: none{}}, nil
	}
	record := replayRecord{Body: m.Body, Sealed: m.Sealed, At: now}
	r.answer = &record
	return outcome{
		answer:  none{},
		writes:  []write{{"answer", "answer", record}},
		wakeups: []svc.Wakeup{{Kind: kindReplay, Identity: r.identity, Name: "forget", Due: now.Add(replayTime)}},
	}, nil
}

// onWake forgets an answer whose day is over.
func (r *replay) onWake(now time.Time, _ string) (outcome, error) {
	if r.answer != nil && now.Sub(r.answer.At) < replayTime {
		return outcome{answer: none{}}, nil
	}
	r.answer = nil
	return outcome{
		answer:  none{},
		writes:  []write{{"answer", "answer", nil}},
		wakeups: []svc.Wakeup{{Kind: kindReplay, Identity: r.identity, Name: "forget"}},
	}, nil
}
