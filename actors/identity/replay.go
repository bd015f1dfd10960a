package identity

import (
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/ingest"
)

// KindReplay is the kind of the replay actor.
//
//	identity   SHA-256 of the token's id and its idempotency key, in hex
//	rank       3
//	owns       the request for which the key was first used, and the answer to it
//	persists   entities claim and answer, for 24 hours
//	woken by   calls, and once when the day is over
//	limits     none of its own
//	stops      after five minutes without a message
const KindReplay = "replay"

// replayTime is how long an answer is stored (contract 11).
const replayTime = 24 * time.Hour

// beginTime is how long a request that never finished blocks its key.
const beginTime = 2 * time.Minute

type replay struct {
	identity string
	claim    *ingest.ReplayClaim
	answer   *replayRecord
	// begun is when this activation last let a request proceed that has not finished.
	begun time.Time
}

type replayRecord struct {
	Body   string    `json:"body"`
	Sealed []byte    `json:"sealed"`
	At     time.Time `json:"at"`
}

type (
	beginReplay struct {
		Body string `json:"body"`
		// Nonce becomes the nonce of a new claim.
		Nonce []byte `json:"nonce"`
	}
	finishReplay struct {
		Body   string `json:"body"`
		Sealed []byte `json:"sealed"`
	}
)

var replayKind = grain.NewKind[*replay](KindReplay, 3, 5*time.Minute)

// The methods of the replay actor.
var (
	replayBegin  = grain.On(replayKind, "begin", (*replay).onBegin)
	replayFinish = grain.On(replayKind, "finish", (*replay).onFinish)
	_            = grain.On(replayKind, "wake", (*replay).onWake, grain.Repeatable)
)

func (r *replay) Restore(entities []domain.Entity) error {
	// A failed save belonged to a request that is over, or never began.
	r.answer, r.claim, r.begun = nil, nil, time.Time{}
	for _, entity := range entities {
		if entity.Kind == kindClaim {
			claim, err := grain.Decode[ingest.ReplayClaim](entity)
			if err != nil {
				return err
			}
			r.claim = &claim
			continue
		}
		record, err := grain.Decode[replayRecord](entity)
		if err != nil {
			return err
		}
		r.answer = &record
	}
	if r.claim == nil && r.answer != nil { // of an earlier version
		r.claim = &ingest.ReplayClaim{Body: r.answer.Body, At: r.answer.At}
	}
	return nil
}

// kindClaim is the kind of the entity with the use of a key.
const kindClaim = "claim"

// onBegin returns the previous answer, or the claim under which the caller may proceed. For a day it is the same claim,
// also after an answer that was lost or that does not state the result. The same key with another body, or during the
// first request, is a conflict.
func (r *replay) onBegin(now time.Time, m beginReplay) (grain.Outcome[ingest.ReplayClaim], error) {
	if r.claim != nil && now.Sub(r.claim.At) >= replayTime {
		r.claim, r.answer = nil, nil
	}
	switch inProgress := r.answer == nil && !r.begun.IsZero() && now.Sub(r.begun) < beginTime; {
	case r.claim == nil:
		r.claim, r.begun = &ingest.ReplayClaim{Body: m.Body, At: now, Nonce: m.Nonce}, now
		result := grain.Answer(*r.claim, grain.Put(kindClaim, kindClaim, *r.claim))
		result.Wakeups = []domain.Wakeup{{Kind: KindReplay, Identity: r.identity, Name: "forget", Due: now.Add(replayTime)}}
		return result, nil
	case r.claim.Body != m.Body:
		return grain.Outcome[ingest.ReplayClaim]{}, domain.Errorf(domain.CodeConflict, "The Idempotency-Key was used with another body.")
	case inProgress:
		return grain.Outcome[ingest.ReplayClaim]{}, domain.Errorf(domain.CodeConflict, "A request with this Idempotency-Key is still under way.")
	}
	claim := *r.claim
	claim.Repeated = true
	if r.answer != nil {
		claim.Sealed = r.answer.Sealed
	} else {
		r.begun = now
	}
	return grain.Answer(claim), nil
}

// onFinish stores the answer; an empty one lets the same request be made again.
func (r *replay) onFinish(now time.Time, m finishReplay) (grain.Outcome[grain.None], error) {
	r.begun = time.Time{}
	if len(m.Sealed) == 0 {
		return grain.Answer(grain.None{}), nil
	}
	record := replayRecord{Body: m.Body, Sealed: m.Sealed, At: now}
	r.answer = &record
	return grain.Answer(grain.None{}, grain.Put("answer", "answer", record)), nil
}

// onWake deletes a key after its day.
func (r *replay) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	if r.claim != nil && now.Sub(r.claim.At) < replayTime {
		return grain.Answer(grain.None{}), nil
	}
	r.claim, r.answer = nil, nil
	result := grain.Answer(grain.None{}, grain.Delete("answer", "answer"), grain.Delete(kindClaim, kindClaim))
	result.Wakeups = []domain.Wakeup{{Kind: KindReplay, Identity: r.identity, Name: "forget"}}
	return result, nil
}
