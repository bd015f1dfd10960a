package actors

import (
	"context"
	"time"

	"svc"
)

// blockHits are the issues that occurred in a block: per issue and release the
// moment of the latest occurrence.
type blockHits map[hitKey]time.Time

type hitKey struct {
	environment, issue uint64
	release            string
}

func (h blockHits) add(row *svc.OccurrenceRow) {
	key := hitKey{row.EnvironmentNumber, row.Issue, row.Release}
	if moment := svc.HitMoment(row.Ts, row.ReceivedAt); moment.After(h[key]) {
		h[key] = moment
	}
}

// watched returns the hits of the issues that must be told.
func (h blockHits) watched(watch *Watch) []issueHits {
	places := map[uint64]int{}
	var out []issueHits
	for key, moment := range h {
		if !watch.has(key.issue) {
			continue
		}
		at, known := places[key.issue]
		if !known {
			at = len(out)
			places[key.issue] = at
			out = append(out, issueHits{environment: key.environment, issue: key.issue})
		}
		out[at].hits = append(out[at].hits, svc.IssueHit{Release: key.release, Moment: moment})
	}
	return out
}

// settle has the watched issues that occurred in a stored block decide whether
// they came back. It stands between the insert and the commit: a crash before
// the commit brings the whole block again, and every issue is told again, so an
// occurrence that queries see is never overlooked; being told twice changes
// nothing. The watch is read after the insert, when every resolution that an
// occurrence of the block followed has long been put in; nil watches nothing.
func (s *Sink) settle(ctx context.Context, block *openBlock, watch *Watch) error {
	if watch == nil {
		return nil
	}
	hits := block.hits.watched(watch)
	if len(hits) == 0 {
		return nil
	}
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := s.config.Issues.occurred(ctx, hits)
		if err == nil {
			return nil
		}
		if s.over(block) {
			return errOver
		}
		s.config.Logger.Warn("telling issues that they occurred failed", "issues", len(hits), "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
