package people

import (
	"slices"
	"strings"
	"time"

	"svc"
	"svc/storage/clickhouse"
)

// inSegment returns the condition that a person is in a segment.
func (q *rankQuery) inSegment(segment *svc.Segment, now time.Time) string {
	if segment.Kind == svc.SegmentStatic {
		members := q.value("Array(UInt64)", segment.Members)
		return q.fold("max("+q.add(fact{sourceIDs, "toUInt8(visitor IN " + members + ")", "", "toUInt8(0)"})+")") + " = 1"
	}
	return (&conditions{q, now}).group(segment.Definition)
}

// conditions compiles a valid definition. The fields of conditions choose among fixed texts; keys and values are
// bound.
type conditions struct {
	*rankQuery
	now time.Time
}

// group returns the condition that a person meets a group.
func (c *conditions) group(group *svc.SegmentGroup) string {
	list := func(nodes []svc.SegmentNode) []string {
		parts := make([]string, len(nodes))
		for i, node := range nodes {
			if node.SegmentGroup != nil {
				parts[i] = c.group(node.SegmentGroup)
			} else {
				parts[i] = c.condition(node.SegmentCondition)
			}
		}
		return parts
	}
	parts := list(group.All)
	if len(group.Any) > 0 {
		parts = append(parts, "("+strings.Join(list(group.Any), " OR ")+")")
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

// condition returns the condition that a person meets one of a definition.
func (c *conditions) condition(one *svc.SegmentCondition) string {
	switch kind, key := one.Key(); kind {
	case svc.SegmentTrait:
		return c.text(one, c.trait(key))
	case svc.SegmentProperty:
		return c.property(one, key)
	case svc.SegmentStage:
		return c.text(one, c.fold(c.stage()))
	case svc.SegmentTag:
		return c.tag(one)
	case svc.SegmentFirstSource:
		return c.text(one, c.touch())
	case svc.SegmentCountry:
		return c.text(one, c.place("1", "country"))
	case svc.SegmentDevice:
		return c.text(one, c.place("4", "device"))
	case svc.SegmentLastSeen:
		return c.instant(one, c.fold("max("+c.lastSeen()+")"))
	case svc.SegmentFirstSeen:
		return c.instant(one, "began")
	case svc.SegmentSessions:
		sessions := c.add(fact{sourceArrivals, "uniqExactMerge(sessions)", "uniqExact(session)", "toUInt64(0)"})
		return c.number(one, c.fold("sum("+sessions+")"))
	case svc.SegmentEvents:
		return c.number(one, "seen")
	case svc.SegmentDid:
		return c.did(one)
	case svc.SegmentDidNot:
		return "NOT " + c.did(one)
	case svc.SegmentRevenue:
		return c.text(one, "arrayElement(['none', 'canceled', 'trialing', 'past_due', 'active'], "+c.fold(c.subscribed())+" + 1)")
	}
	return "false"
}

// trait is the text of a trait, empty where there is none: the value told last, else the one that was kept
// first.
func (c *conditions) trait(key string) string {
	key = c.bind(key)
	told := "max(" + c.add(fact{sourceTraits, "max(traits.traits[" + key + "])", "", "''"}) + ")"
	// A value begins with the time of its event, so the empty text is one that is not there; to ask the map whether it has the key would read all keys.
	once := c.add(fact{sourceTraits, "minIf(traits.once[" + key + "], traits.once[" + key + "] != '')", "", "''"})
	return c.fold(plainText("substring(if(" + told + " != '', " + told + ", minIf(" + once + ", " + once + " != '')), 15)"))
}

// plainText is a JSON value as text: a string without quotes, null as the empty text.
func plainText(raw string) string {
	return "multiIf(startsWith(" + raw + ", '\"'), JSONExtractString(" + raw + "), " + raw + " = 'null', '', " + raw + ")"
}

// touch is the source of a person's first visit.
func (c *conditions) touch() string {
	first := c.add(fact{
		sourceArrivals, "(argMinIfMerge(first_touch).1, argMinIfMerge(first_touch).6)",
		"(argMinIf(toString(source), (ts, events.id), name NOT IN ('$identify', '$alias')), toUnixTimestamp64Milli(minIf(ts, name NOT IN ('$identify', '$alias'))))",
		"('', toInt64(0))",
	})
	return c.fold("argMinIf(" + first + ".1, " + first + ".2, " + first + ".2 != 0)")
}

// place is an element of the place of a person's last visit.
func (c *conditions) place(element, column string) string {
	const visit = "name NOT IN ('$identify', '$alias') AND toUnixTimestamp64Milli(ts) = toUnixTimestamp64Milli(session_started) - session_before"
	last := c.add(fact{
		sourceArrivals, "(argMaxIfMerge(place)." + element + ", argMaxIfMerge(place).7)",
		"(argMaxIf(toString(" + column + "), (ts, events.id), " + visit + "), toUnixTimestamp64Milli(maxIf(ts, " + visit + ")))",
		"('', toInt64(0))",
	})
	return c.fold("argMaxIf(" + last + ".1, " + last + ".2, " + last + ".2 != 0)")
}

// property is whether any event of the last days has a property that compares as the condition wants; neq, and what asks
// for absence, whether none has.
func (c *conditions) property(one *svc.SegmentCondition, key string) string {
	key = c.bind(key)
	wanted, none := *one, false
	switch {
	case one.Op == svc.SegmentNeq:
		wanted.Op, none = svc.SegmentEq, true
	case one.Op == svc.SegmentNotWithinDays:
		wanted.Op, none = svc.SegmentWithinDays, true
	case one.Op == svc.SegmentExists && !one.Wants():
		wanted.Value, none = true, true
	}
	raw := "JSONExtractRaw(events.properties, " + key + ")"
	since := c.now.AddDate(0, 0, -svc.SegmentPropertyDays).UnixMilli()
	c.args["sent_since"] = since
	meets := "toUInt8(" + c.text(&wanted, plainText(raw)) + ")"
	shared := "maxIf(" + meets + ", ts >= fromUnixTimestamp64Milli({sent_since:Int64}, 'UTC'))"
	found := c.fold("max(" + c.add(fact{sourceProperties, "max(" + meets + ")", shared, "toUInt8(0)"}) + ")")
	if none {
		return found + " = 0"
	}
	return found + " = 1"
}

// tag is whether a person has tags.
func (c *conditions) tag(one *svc.SegmentCondition) string {
	tags := c.tags()
	texts := []string{}
	for _, operand := range one.Operands() {
		texts = append(texts, operand.Text)
	}
	switch one.Op {
	case svc.SegmentEq, svc.SegmentIn:
		return "hasAny(" + tags + ", " + c.value("Array(String)", texts) + ")"
	case svc.SegmentNeq:
		return "NOT hasAny(" + tags + ", " + c.value("Array(String)", texts) + ")"
	case svc.SegmentContains:
		return "arrayExists(tag -> position(tag, " + c.bind(texts[0]) + ") > 0, " + tags + ")"
	default: // exists
		return map[bool]string{true: "notEmpty(", false: "empty("}[one.Wants()] + tags + ")"
	}
}

// quarter is the width of the slots of names, in seconds.
const quarter = 15 * 60

// did is whether a person did something often enough.
func (c *conditions) did(one *svc.SegmentCondition) string {
	since := didSince(one, c.now)
	if len(c.names) == 0 || since < c.since {
		c.since = since
	}
	if !slices.Contains(c.names, one.Event.Name) {
		c.names = append(c.names, one.Event.Name)
	}
	name, from := c.bind(one.Event.Name), c.value("Int64", since)
	times := c.fold("sum(" + c.add(fact{
		sourceNames, "sumIf(names.events, name = " + name + " AND toUnixTimestamp(slot) >= " + from + ")",
		"countIf(name = " + name + " AND toUnixTimestamp(ts) >= " + from + ")", "toUInt64(0)",
	}) + ")")
	op, bound := often(one)
	return "(" + times + " " + sign(op) + " " + c.value("Float64", bound) + ")"
}

// didSince is since when events count for a condition, in seconds since the epoch. A window begins with a quarter of an hour.
func didSince(one *svc.SegmentCondition, now time.Time) int64 {
	if one.Op == svc.SegmentWithinDays || one.Op == svc.SegmentNotWithinDays {
		return one.Since(now).Unix() / quarter * quarter
	}
	return 0
}

// often is how the number of events compares that a condition asks for.
func often(one *svc.SegmentCondition) (op svc.SegmentOp, bound float64) {
	wants, isBool := one.Value.(bool)
	number, isNumber := one.Value.(float64)
	count := float64(one.Event.Count)
	switch {
	case one.Op == svc.SegmentWithinDays:
		return svc.SegmentGte, count
	case one.Op == svc.SegmentNotWithinDays, one.Op == svc.SegmentExists && !one.Wants(),
		isBool && one.Op == svc.SegmentEq && !wants, isBool && one.Op == svc.SegmentNeq && wants:
		return svc.SegmentLt, count
	case isBool, one.Op == svc.SegmentExists:
		return svc.SegmentGte, count
	case isNumber:
		return one.Op, number
	}
	return one.Op, count
}

// sign is the operator of a comparison of numbers.
func sign(op svc.SegmentOp) string {
	return map[svc.SegmentOp]string{
		svc.SegmentEq: "=", svc.SegmentNeq: "!=", svc.SegmentGt: ">", svc.SegmentGte: ">=", svc.SegmentLt: "<", svc.SegmentLte: "<=",
	}[op]
}

// number compares a number that everybody has.
func (c *conditions) number(one *svc.SegmentCondition, number string) string {
	numbers := []float64{}
	for _, operand := range one.Operands() {
		if operand.Number != nil {
			numbers = append(numbers, *operand.Number)
		}
	}
	switch one.Op {
	case svc.SegmentExists:
		return map[bool]string{true: "true", false: "false"}[one.Wants()]
	case svc.SegmentIn:
		return "has(" + c.value("Array(Float64)", numbers) + ", toFloat64(" + number + "))"
	default:
		return "(" + number + " " + sign(one.Op) + " " + c.value("Float64", numbers[0]) + ")"
	}
}

// instant compares milliseconds since the epoch, which everybody has.
func (c *conditions) instant(one *svc.SegmentCondition, ms string) string {
	switch one.Op {
	case svc.SegmentExists:
		return map[bool]string{true: "true", false: "false"}[one.Wants()]
	case svc.SegmentWithinDays:
		return "(" + ms + " >= " + c.value("Int64", one.Since(c.now).UnixMilli()) + ")"
	case svc.SegmentNotWithinDays:
		return "(" + ms + " < " + c.value("Int64", one.Since(c.now).UnixMilli()) + ")"
	default:
		at, _ := one.Time()
		return "(" + ms + " " + sign(one.Op) + " " + c.value("Int64", at.UnixMilli()) + ")"
	}
}

// text compares a text; the empty one is a value that is not there.
func (c *conditions) text(one *svc.SegmentCondition, text string) string {
	switch one.Op {
	case svc.SegmentEq, svc.SegmentIn:
		return c.equalsAny(one, text)
	case svc.SegmentNeq:
		return "NOT " + c.equalsAny(one, text)
	case svc.SegmentContains:
		return "(position(" + text + ", " + c.bind(one.Operands()[0].Text) + ") > 0)"
	case svc.SegmentExists:
		return map[bool]string{true: "(" + text + " != '')", false: "(" + text + " = '')"}[one.Wants()]
	case svc.SegmentWithinDays, svc.SegmentNotWithinDays:
		since, now := c.value("Int64", one.Since(c.now).UnixMilli()), c.value("Int64", c.now.UnixMilli())
		within := "ifNull(" + instantOf(text) + " BETWEEN " + since + " AND " + now + ", false)"
		if one.Op == svc.SegmentNotWithinDays {
			return "NOT " + within
		}
		return within
	default: // an order
	}
	if at, isTime := one.Time(); isTime {
		return "ifNull(" + instantOf(text) + " " + sign(one.Op) + " " + c.value("Int64", at.UnixMilli()) + ", false)"
	}
	return "ifNull(" + c.numberOf(text) + " " + sign(one.Op) + " " + c.value("Float64", *one.Operands()[0].Number) + ", false)"
}

// equalsAny is whether a text is one of the values of a condition; texts that read as numbers equal numbers.
func (c *conditions) equalsAny(one *svc.SegmentCondition, text string) string {
	texts, numbers := []string{}, []float64{}
	for _, operand := range one.Operands() {
		if operand.Number != nil {
			numbers = append(numbers, *operand.Number)
		} else {
			texts = append(texts, operand.Text)
		}
	}
	var either []string
	if len(texts) > 0 {
		either = append(either, "has("+c.value("Array(String)", texts)+", "+text+")")
	}
	if len(numbers) > 0 {
		either = append(either, "ifNull(has("+c.value("Array(Float64)", numbers)+", "+c.numberOf(text)+"), false)")
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// numberOf is a text as a number, NULL where it reads as none.
func (c *conditions) numberOf(text string) string {
	return "if(match(" + text + ", " + c.bind(svc.NumberPattern) + "), toFloat64OrNull(" + text + "), NULL)"
}

// instantOf is a text as milliseconds since the epoch, NULL where it reads as no time: an ISO 8601 day or timestamp, or
// seconds or milliseconds since the epoch.
func instantOf(text string) string {
	return "multiIf(match(" + text + ", '^[0-9]{4}-[0-9]{2}-[0-9]{2}'), toUnixTimestamp64Milli(parseDateTime64BestEffortOrNull(" + text + ", 3, 'UTC')), " +
		"match(" + text + ", '^[0-9]{9,10}$'), toInt64OrNull(" + text + ") * 1000, match(" + text + ", '^[0-9]{12,13}$'), toInt64OrNull(" + text + "), NULL)"
}

// newConditions returns a query without any condition yet, whose values have a prefix.
func newConditions(prefix string) *rankQuery {
	return &rankQuery{args: clickhouse.Args{}, prefix: prefix}
}
