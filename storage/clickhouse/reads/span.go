package reads

import (
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/storage/clickhouse"
)

// slot is the granularity of the aggregates. Midnights and full hours of all time zones in use lie on its boundaries.
const slot = 15 * time.Minute

// span divides a window into whole slots and the partial slots at its two ends. Raw events count in [from, headTo) and
// [tailFrom, to), slots in [wholeFrom, wholeTo). Any of the three ranges may be empty.
type span struct {
	from, headTo       time.Time
	wholeFrom, wholeTo time.Time
	tailFrom, to       time.Time
}

func spanOf(from, to time.Time) span {
	s := span{from: from, to: to, wholeFrom: from.Truncate(slot), wholeTo: to.Truncate(slot)}
	if s.wholeFrom.Before(from) {
		s.wholeFrom = s.wholeFrom.Add(slot)
	}
	s.headTo, s.tailFrom = s.wholeFrom, s.wholeTo
	if s.wholeFrom.After(s.wholeTo) { // the window lies within one slot
		s.headTo, s.tailFrom, s.wholeFrom = to, to, s.wholeTo
	}
	return s
}

// scopeArguments returns the values that most analytics queries take. The window may be a part of the scope's window.
func scopeArguments(scope analytics.Scope, window domain.Window) clickhouse.Args {
	s := spanOf(window.From, window.To)
	return environmentArguments(scope).With(clickhouse.Args{
		"from": s.from, "head_to": s.headTo, "tail_from": s.tailFrom, "to": s.to,
		"whole_from": s.wholeFrom.Unix(), "whole_to": s.wholeTo.Unix(),
	})
}

// environmentArguments returns the values that select the events of the scope's environment.
func environmentArguments(scope analytics.Scope) clickhouse.Args {
	bots := uint8(0)
	if scope.IncludeBots {
		bots = 1
	}
	return clickhouse.Args{"environment": scope.Environment.Number, "bots": bots}
}

// localDays returns the starts of the local days that a window touches.
func localDays(w domain.Window) []time.Time { return w.Buckets(domain.Day) }
