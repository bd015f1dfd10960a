package people

import (
	"slices"
	"strings"
	"time"

	"svc"
	"svc/storage/clickhouse"
)

// need is a query for visitors among whom there is one of each person who meets a condition, as the rows of these visitors tell. It may have others as
// well. Whose rows are none of those visitors does not meet the condition.
type need struct {
	query string
	// rank is lower where fewer people are to be expected.
	rank int
}

// Ranks of needs.
const (
	rankEqual = iota
	rankNames
	rankTraits
	rankSeen
)

// needOf returns what is needed to be in a segment, nil where nothing is that a query finds, or only one too long for a statement that
// names it twice.
func (q *rankQuery) needOf(parts clickhouse.Queries, segment *svc.Segment, now time.Time) *need {
	if segment.Kind == svc.SegmentStatic {
		return nil
	}
	found := (&conditions{q, now}).needOfGroup(parts, segment.Definition)
	if found == nil || len(found.query) > tallyBytes {
		return nil
	}
	return found
}

// needOfGroup returns what is needed to meet a group: what any one of the conditions needs all of which must be met, or what is needed for one or
// another of those of which one must be.
func (c *conditions) needOfGroup(parts clickhouse.Queries, group *svc.SegmentGroup) *need {
	of := func(node svc.SegmentNode) *need {
		if node.SegmentGroup != nil {
			return c.needOfGroup(parts, node.SegmentGroup)
		}
		return c.needOfOne(parts, node.SegmentCondition)
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

// needOfOne returns what a condition needs. It returns nil where a person may meet the condition without a row that says so.
func (c *conditions) needOfOne(parts clickhouse.Queries, one *svc.SegmentCondition) *need {
	switch kind, key := one.Key(); kind {
	case svc.SegmentTrait:
		if !needsText(one) {
			return nil
		}
		key = c.bind(key)
		told := func(column string) string {
			return c.text(one, plainText("substring(traits."+column+"["+key+"], 15)"))
		}
		rank := rankTraits
		if one.Op == svc.SegmentEq || one.Op == svc.SegmentIn {
			rank = rankEqual
		}
		return &need{strings.ReplaceAll(parts["needs.Traits"], "$(meets)", told("traits")+" OR "+told("once")), rank}
	case svc.SegmentDid:
		switch op, bound := often(one); {
		case op == svc.SegmentGt && bound >= 0, (op == svc.SegmentGte || op == svc.SegmentEq) && bound > 0:
		default:
			return nil // who did it never may meet it
		}
		since := c.value("Int64", didSince(one, c.now))
		return &need{strings.NewReplacer("$(name)", c.bind(one.Event.Name), "$(since)", since).Replace(parts["needs.Names"]), rankNames}
	case svc.SegmentFirstSeen, svc.SegmentLastSeen:
		// Who was first seen after an instant was last seen after it as well, also where an earlier person used the visitor.
		if !slices.Contains([]svc.SegmentOp{svc.SegmentWithinDays, svc.SegmentGt, svc.SegmentGte}, one.Op) {
			return nil
		}
		return &need{strings.ReplaceAll(parts["needs.Seen"], "$(meets)", c.instant(one, "toUnixTimestamp64Milli(last_seen)")), rankSeen}
	}
	return nil
}

// needsText reports whether the empty text, which stands for a trait that nobody told, does not meet a condition.
func needsText(one *svc.SegmentCondition) bool {
	switch one.Op {
	case svc.SegmentEq, svc.SegmentIn, svc.SegmentContains:
		return !slices.ContainsFunc(one.Operands(), func(operand svc.Operand) bool { return operand.Number == nil && operand.Text == "" })
	case svc.SegmentExists:
		return one.Wants()
	case svc.SegmentGt, svc.SegmentLt, svc.SegmentGte, svc.SegmentLte, svc.SegmentWithinDays:
		return true
	case svc.SegmentNeq, svc.SegmentNotWithinDays:
	}
	return false
}
