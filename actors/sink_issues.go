package actors

import (
	"context"
	"time"

	"svc"
	"svc/actors/attempt"
)

// blockHits are the issues that occurred in a block, per issue and release.
type blockHits map[hitKey]blockHit

// blockHit is the moment of the latest occurrence, where the latest stands in the log, and how
// many there were.
type blockHit struct {
	moment      time.Time
	offset      int64
	occurrences uint64
}

type hitKey struct {
	environment, issue uint64
	// former is the issue that the former grouping would have made.
	former  uint64
	release string
	// kept says that clients kept them back.
	kept bool
}

// add adds an occurrence and returns its key.
func (h blockHits) add(row *svc.OccurrenceRow, offset int64) hitKey {
	key := hitKey{row.EnvironmentNumber, row.Issue, row.FormerIssue, row.Release, svc.KeptBack(row.Ts, row.ReceivedAt)}
	hit := h[key]
	hit.occurrences++
	hit.offset = max(hit.offset, offset)
	if moment := svc.HitMoment(row.Ts, row.ReceivedAt); moment.After(hit.moment) {
		hit.moment = moment
	}
	h[key] = hit
	return key
}

// remove takes an occurrence out. The moment of the latest one stays: it did occur.
func (h blockHits) remove(key hitKey) {
	hit := h[key]
	if hit.occurrences--; hit.occurrences == 0 {
		delete(h, key)
		return
	}
	h[key] = hit
}

// watched returns the hits of the issues that must be told: those that are watched, and
// those that just became part of others.
func (h blockHits) watched(watch *Watch, continued map[uint64]bool) []issueHits {
	places := map[uint64]int{}
	var out []issueHits
	for key, hit := range h {
		if !watch.has(key.issue) && !continued[key.issue] {
			continue
		}
		at, known := places[key.issue]
		if !known {
			at = len(out)
			places[key.issue] = at
			out = append(out, issueHits{environment: key.environment, issue: key.issue})
		}
		told := svc.IssueHit{Release: key.release, Moment: hit.moment}
		if !key.kept {
			told.Offset = &hit.offset
		}
		out[at].hits = append(out[at].hits, told)
	}
	return out
}

// settle has the watched issues that occurred in a stored block decide whether
// they came back, and alert rules hear of those that did. It stands between the insert and the commit: a crash before
// the commit brings the whole block again, and every issue is told again, so an
// occurrence that queries see is never overlooked; being told twice changes
// nothing. The watch is read after the insert, when every resolution that an
// occurrence of the block followed has long been put in; nil watches nothing.
//
// Each issue has tellPatience to answer. One that does not is told later, which is the same to it:
// it compares instants, and is told with the moment of its occurrence.
func (s *Sink) settle(ctx context.Context, block *openBlock, id uint64, watch *Watch) error {
	err := s.insist(ctx, block, "letting former issues go on", func() (err error) {
		block.continued, err = s.config.Continuation.goOn(ctx, block.hits)
		return err
	})
	if err != nil || watch == nil {
		return err
	}
	var now []issueHits
	var late []toldLater
	for _, hits := range block.hits.watched(watch, block.continued) {
		if told := laterOf(id, hits); s.config.Outbox.has(&told) {
			late = append(late, told)
		} else {
			now = append(now, hits)
		}
	}
	if len(now) > 0 {
		patient, cancel := context.WithTimeout(ctx, tellPatience)
		defer cancel()
		for _, missed := range s.settleHits(patient, id, now) {
			s.config.Logger.Warn("an issue will be told later that it occurred", "issue", svc.IssueID(missed.issue), "error", missed.err)
			late = append(late, laterOf(id, missed.issueHits))
		}
	}
	return s.later(ctx, block, late)
}

func laterOf(block uint64, hits issueHits) toldLater {
	return toldLater{Block: block, Environment: hits.environment, Issue: hits.issue, Hits: hits.hits}
}

// settleHits tells issues of a block and the rules of those that regressed, and returns the issues
// for which that failed. It may be repeated.
func (s *Sink) settleHits(ctx context.Context, id uint64, hits []issueHits) []untold {
	came, late := s.config.Issues.occurred(ctx, id, hits, s.config.Rules.waits)
	for environment, err := range s.tellRegressions(ctx, id, came) {
		for _, told := range hits {
			if told.environment == environment {
				late = append(late, untold{told, err})
			}
		}
	}
	return late
}

// later keeps what actors are told once the block is committed.
func (s *Sink) later(ctx context.Context, block *openBlock, late []toldLater) error {
	if len(late) == 0 {
		return nil
	}
	if s.over(block) {
		return errOver
	}
	return s.insist(ctx, block, "keeping what actors are to be told", func() error {
		return s.config.Outbox.put(ctx, block.generation, late)
	})
}

// insist repeats what must happen before a block is committed until it succeeds or the
// generation or ctx ends.
func (s *Sink) insist(ctx context.Context, block *openBlock, doing string, work func() error) error {
	return attempt.Until(ctx, s.config.Logger, doing, func() error {
		err := work()
		if err != nil && s.over(block) {
			return attempt.Final(errOver)
		}
		return err
	})
}
