package issues

import (
	"sync"
	"time"

	"svc/domain/issue"
	"svc/domain/occurrence"
)

// blockHits are the issues that occurred in a block, per issue and release.
type blockHits map[hitKey]blockHit

// blockHit holds the moment of the latest occurrence, the latest offset in the log, and the number of occurrences.
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
	// kept is set for occurrences that clients sent late.
	kept bool
}

// add adds an occurrence and returns its key.
func (h blockHits) add(row *occurrence.Row, offset int64) hitKey {
	key := hitKey{row.EnvironmentNumber, row.Issue, row.FormerIssue, row.Release, issue.KeptBack(row.Ts, row.ReceivedAt)}
	hit := h[key]
	hit.occurrences++
	hit.offset = max(hit.offset, offset)
	if moment := issue.HitMoment(row.Ts, row.ReceivedAt); moment.After(hit.moment) {
		hit.moment = moment
	}
	h[key] = hit
	return key
}

// remove removes an occurrence. The moment of the latest one stays, since it did occur.
func (h blockHits) remove(key hitKey) {
	hit := h[key]
	if hit.occurrences--; hit.occurrences == 0 {
		delete(h, key)
		return
	}
	h[key] = hit
}

// watched returns the hits of the issues that must decide on them: resolved and merged ones, and issues that were just
// merged.
func (h blockHits) watched(watch *ResolvedSet, continued map[uint64]bool) []issueHits {
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
		told := issue.Hit{Release: key.release, Moment: hit.moment}
		if !key.kept {
			told.Offset = &hit.offset
		}
		out[at].hits = append(out[at].hits, told)
	}
	return out
}

// issueSet remembers issues that are known not to be new.
type issueSet struct {
	mu     sync.RWMutex
	issues map[uint64]struct{}
}

// knownIssues bounds the set. A full set is dropped, which costs a query to the store for each issue that occurs again.
const knownIssues = 1 << 20

func (s *issueSet) has(issue uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, known := s.issues[issue]
	return known
}

func (s *issueSet) add(issues []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.issues == nil || len(s.issues)+len(issues) > knownIssues {
		s.issues = map[uint64]struct{}{}
	}
	for _, issue := range issues {
		s.issues[issue] = struct{}{}
	}
}
