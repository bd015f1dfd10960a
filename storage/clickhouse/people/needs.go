package people

import (
	"slices"
	"strings"
	"time"

	"svc/domain/filter"
	"svc/domain/segment"
	"svc/storage/clickhouse"
)

// need is a prefilter: a query for visitors that includes at least one visitor of each person that meets a condition.
// It judges each visitor by its own rows, and may include visitors of other persons. A person without a visitor in the
// result does not meet the condition.
type need struct {
	query string
	// rank is lower if fewer people are to be expected.
	rank int
}

// Ranks of prefilters.
const (
	rankEqual = iota
	rankNames
	rankTraits
	rankSeen
)

// needOf returns the prefilter of a segment, or nil. It also returns nil if the prefilter is too long for a statement
// that contains it twice.
func (q *rankQuery) needOf(parts clickhouse.Queries, s *segment.Segment, now time.Time) *need {
	if s.Kind == segment.Static {
		return nil
	}
	found := (&conditions{q, now}).needOfGroup(parts, s.Definition)
	if found == nil || len(found.query) > tallyBytes {
		return nil
	}
	return found
}

// needOfGroup returns the prefilter of a group of conditions. If all conditions must hold, the prefilter of any one
// suffices, and it takes the one of the lowest rank. If any condition may hold, it is the union of all prefilters.
func (c *conditions) needOfGroup(parts clickhouse.Queries, group *segment.Group) *need {
	of := func(node segment.Node) *need {
		if node.Group != nil {
			return c.needOfGroup(parts, node.Group)
		}
		return c.needOfOne(parts, node.Condition)
	}
	var least *need
	take := func(one *need) {
		if one != nil && (least == nil || one.rank < least.rank) {
			least = one
		}
	}
	for _, node := range group.All {
		take(of(node))
	}
	var queries []string
	either := &need{}
	for _, node := range group.Any {
		one := of(node)
		if one == nil {
			return least
		}
		queries, either.rank = append(queries, one.query), max(either.rank, one.rank)
	}
	if len(queries) > 0 {
		either.query = strings.Join(queries, " UNION ALL ")
		take(either)
	}
	return least
}

// needOfOne returns the prefilter of a condition. It returns nil if a person may meet the condition without any row.
func (c *conditions) needOfOne(parts clickhouse.Queries, one *segment.Condition) *need {
	switch kind, key := one.Key(); kind {
	case segment.Trait:
		if !needsText(one) {
			return nil
		}
		key = c.bind(key)
		told := func(column string) string {
			return c.text(one, plainText("substring(traits."+column+"["+key+"], 15)"))
		}
		rank := rankTraits
		if one.Op == segment.Eq || one.Op == segment.In {
			rank = rankEqual
		}
		return &need{strings.ReplaceAll(parts["needs.Traits"], "$(meets)", told("traits")+" OR "+told("once")), rank}
	case segment.Did:
		switch op, bound := often(one); {
		case op == segment.Gt && bound >= 0, (op == segment.Gte || op == segment.Eq) && bound > 0:
		default:
			return nil // a person without the event may meet the condition
		}
		since := c.value("Int64", didSince(one, c.now))
		return &need{strings.NewReplacer("$(name)", c.bind(one.Event.Name), "$(since)", since).Replace(parts["needs.Names"]), rankNames}
	case segment.FirstSeen, segment.LastSeen:
		// A visitor that was first seen after an instant was also last seen after it, even if an earlier person used
		// it.
		if !slices.Contains([]segment.Op{segment.WithinDays, segment.Gt, segment.Gte}, one.Op) {
			return nil
		}
		return &need{strings.ReplaceAll(parts["needs.Seen"], "$(meets)", c.instant(one, "toUnixTimestamp64Milli(last_seen)")), rankSeen}
	}
	return nil
}

// needsText reports whether the empty text fails a condition. The empty text stands for a trait that was never set.
func needsText(one *segment.Condition) bool {
	switch one.Op {
	case segment.Eq, segment.In, segment.Contains:
		return !slices.ContainsFunc(one.Operands(), func(operand filter.Operand) bool { return operand.Number == nil && operand.Text == "" })
	case segment.Exists:
		return one.Wants()
	case segment.Gt, segment.Lt, segment.Gte, segment.Lte, segment.WithinDays,
		segment.SemverEq, segment.SemverNeq, segment.SemverGt, segment.SemverGte, segment.SemverLt, segment.SemverLte:
		return true
	case segment.Neq, segment.NotWithinDays:
	}
	return false
}
