package people

import (
	"slices"
	"strings"
	"time"

	"svc/domain/filter"
	"svc/domain/segment"
	"svc/storage/clickhouse"
)

// inSegment returns the condition that a person is in a segment.
func (q *rankQuery) inSegment(s *segment.Segment, now time.Time) string {
	if s.Kind == segment.Static {
		members := q.value("Array(UInt64)", s.Members)
		return q.fold(q.over("max", q.add(fact{sourceIDs, "toUInt8(visitor IN " + members + ")", "", "toUInt8(0)", ""}))) + " = 1"
	}
	return (&conditions{q, now}).group(s.Definition)
}

// conditions compiles a valid definition. The fields of conditions choose among fixed texts; keys and values are
// bound.
type conditions struct {
	*rankQuery
	now time.Time
}

// group returns the condition that a person meets a group.
func (c *conditions) group(group *segment.Group) string {
	list := func(nodes []segment.Node) []string {
		parts := make([]string, len(nodes))
		for i, node := range nodes {
			parts[i] = c.node(node)
		}
		return parts
	}
	parts := list(group.All)
	if len(group.Any) > 0 {
		parts = append(parts, "("+strings.Join(list(group.Any), " OR ")+")")
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

// node returns the condition that a person meets a node of a definition. If the query reads materialized profiles and
// they contain all facts of the node, the condition is evaluated on the profiles, before facts of visitors join them.
func (c *conditions) node(node segment.Node) string {
	of := func(c *conditions) string {
		if node.Group != nil {
			return c.group(node.Group)
		}
		return c.condition(node.Condition)
	}
	if !c.whole || c.apart {
		return of(c)
	}
	kept := &rankQuery{args: c.args, prefix: c.prefix, whole: true, apart: true}
	condition := of(&conditions{kept, c.now})
	if len(kept.others) > 0 {
		return of(c)
	}
	c.decided = c.decided || kept.decided
	return c.found(condition)
}

// condition returns the condition that a person meets one of a definition.
func (c *conditions) condition(one *segment.Condition) string {
	switch kind, key := one.Key(); kind {
	case segment.Trait:
		return c.text(one, c.trait(key))
	case segment.Property:
		return c.property(one, key)
	case segment.Stage:
		return c.text(one, c.fold(c.stage()))
	case segment.Tag:
		return c.tag(one)
	case segment.FirstSource:
		source, _ := c.touch()
		return c.text(one, c.fold(source))
	case segment.Country:
		country, _ := c.place("country")
		return c.text(one, c.fold(country))
	case segment.Device:
		device, _ := c.place("device")
		return c.text(one, c.fold(device))
	case segment.LastSeen:
		return c.instant(one, c.fold(c.over("max", c.lastSeen())))
	case segment.FirstSeen:
		return c.instant(one, "began")
	case segment.Sessions:
		return c.number(one, c.fold(c.sessions()))
	case segment.Events:
		return c.number(one, "seen")
	case segment.Did:
		return c.did(one)
	case segment.DidNot:
		return "NOT " + c.did(one)
	case segment.Revenue:
		return c.text(one, "arrayElement(['none', 'canceled', 'trialing', 'past_due', 'active'], "+c.fold(c.subscribed())+" + 1)")
	}
	return "false"
}

// sessions returns the fold of how many sessions a person had.
func (q *rankQuery) sessions() string {
	return q.over("sum", q.add(fact{sourceArrivals, "uniqExactMerge(sessions)", "uniqExactIf(session, guest = 0 AND session_deeds < 16)", "toUInt64(0)", "sessions"}))
}

// trait returns the text of a trait: the value that was set last, else the set-once value that was set first. It is
// empty if the trait is not set.
func (c *conditions) trait(key string) string {
	return c.fold(plainText("substring(" + c.latestTrait(key) + ", 15)"))
}

// latestTrait returns the JSON of a trait after the time of its event. It is empty if the trait is not set.
func (q *rankQuery) latestTrait(key string) string {
	if q.whole && key == groupTrait {
		return "told_group"
	}
	key = q.bind(key)
	told := q.over("max", q.add(fact{sourceTraits, "max(traits.traits[" + key + "])", "max(told_traits[" + key + "])", "''", "traits[" + key + "]"}))
	// A value begins with the time of its event, so the empty text means that it is absent. Checking whether the map
	// has the key would read all keys.
	once := q.add(fact{sourceTraits, "minIf(traits.once[" + key + "], traits.once[" + key + "] != '')", "minIf(told_once[" + key + "], told_once[" + key + "] != '')", "''", "once[" + key + "]"})
	if !q.whole {
		once = "minIf(" + once + ", " + once + " != '')"
	}
	return "if(" + told + " != '', " + told + ", " + once + ")"
}

// groupTrait holds the name of a person's group. It is their company if no trait sets another one.
const groupTrait = "$group"

// plainText returns a JSON value as text: a string without its quotes, and null as the empty text. For a string without
// an escape it takes the substring between the quotes, which costs a fraction of parsing.
func plainText(raw string) string {
	return "multiIf(NOT startsWith(" + raw + ", '\"'), if(" + raw + " = 'null', '', " + raw + "), position(" + raw + ", '\\\\') = 0, substring(" + raw + ", 2, length(" + raw + ") - 2), JSONExtractString(" + raw + "))"
}

// touch returns the source of a person's first visit and its time, which is 0 if there was none.
func (q *rankQuery) touch() (source, at string) {
	first := q.add(fact{
		sourceEntries, "argMin((e.source, e.ms, e.tie), (e.ms, e.tie))", "argMinIf((if(mine, e.source, toString(source)), ms, tie), (ms, tie), NOT tells)",
		"('', toInt64(0), toUInt64(0))", "(first_source, first_at)",
	})
	if q.whole {
		return first + ".1", first + ".2"
	}
	return "argMinIf(" + first + ".1, (" + first + ".2, " + first + ".3), " + first + ".2 != 0)", "minIf(" + first + ".2, " + first + ".2 != 0)"
}

// place returns the country or the device of a person's last visit and its time, which is 0 if there was none.
func (q *rankQuery) place(column string) (value, at string) {
	entry := "(e." + column + ", e.ms, e.tie)"
	last := q.add(fact{
		sourceEntries, "argMax(" + entry + ", (e.ms, e.tie))", "argMaxIf(" + entry + ", (ms, tie), enters)",
		"('', toInt64(0), toUInt64(0))", "(" + column + ", placed_at)",
	})
	if q.whole {
		return last + ".1", last + ".2"
	}
	return "argMaxIf(" + last + ".1, (" + last + ".2, " + last + ".3), " + last + ".2 != 0)", "max(" + last + ".2)"
}

// property returns the condition that any event of the last days has a property that compares as wanted. For neq and
// for operators of absence, it is the condition that no event has one. semver_neq needs a version and the
// absence of the given one.
func (c *conditions) property(one *segment.Condition, key string) string {
	if one.Op == segment.SemverNeq {
		same := *one
		same.Op = segment.SemverEq
		return "(" + c.sent(one, key) + " = 1 AND " + c.sent(&same, key) + " = 0)"
	}
	wanted, none := *one, false
	switch {
	case one.Op == segment.Neq:
		wanted.Op, none = segment.Eq, true
	case one.Op == segment.NotWithinDays:
		wanted.Op, none = segment.WithinDays, true
	case one.Op == segment.Exists && !one.Wants():
		wanted.Value, none = true, true
	}
	found := c.sent(&wanted, key)
	if none {
		return found + " = 0"
	}
	return found + " = 1"
}

// sent is 1 if any event of the last days has a property that meets a condition, else 0.
func (c *conditions) sent(wanted *segment.Condition, key string) string {
	raw := "JSONExtractRaw(events.properties, " + c.bind(key) + ")"
	since := c.now.AddDate(0, 0, -segment.PropertyDays).UnixMilli()
	c.args["sent_since"] = since
	meets := "toUInt8(" + c.text(wanted, plainText(raw)) + ")"
	shared := "maxIf(" + meets + ", ts >= fromUnixTimestamp64Milli({sent_since:Int64}, 'UTC'))"
	return c.fold(c.over("max", c.add(fact{sourceProperties, "max(" + meets + ")", shared, "toUInt8(0)", ""})))
}

// tag returns the condition that a person has, or does not have, some tags.
func (c *conditions) tag(one *segment.Condition) string {
	tags := c.tags()
	texts := []string{}
	for _, operand := range one.Operands() {
		texts = append(texts, operand.Text)
	}
	switch one.Op {
	case segment.Eq, segment.In:
		return "hasAny(" + tags + ", " + c.value("Array(String)", texts) + ")"
	case segment.Neq:
		return "NOT hasAny(" + tags + ", " + c.value("Array(String)", texts) + ")"
	case segment.Contains:
		return "arrayExists(tag -> position(tag, " + c.bind(texts[0]) + ") > 0, " + tags + ")"
	default: // exists
		return map[bool]string{true: "notEmpty(", false: "empty("}[one.Wants()] + tags + ")"
	}
}

// quarter is the width of the slots of names, in seconds.
const quarter = 15 * 60

// did returns the condition that a person did something often enough. Profiles contain the time at which each person
// last did each thing, which suffices for whether they did it at all since an instant.
func (c *conditions) did(one *segment.Condition) string {
	op, bound := often(one)
	if c.whole && bound == 1 && (op == segment.Gte || op == segment.Lt) {
		atAll := "done[" + c.bind(one.Event.Name) + "] >= " + c.value("Int64", max(didSince(one, c.now), 1))
		if op == segment.Lt {
			return "NOT (" + atAll + ")"
		}
		return "(" + atAll + ")"
	}
	since := didSince(one, c.now)
	if len(c.names) == 0 || since < c.since {
		c.since = since
	}
	if !slices.Contains(c.names, one.Event.Name) {
		c.names = append(c.names, one.Event.Name)
	}
	name, from := c.bind(one.Event.Name), c.value("Int64", since)
	times := c.fold(c.over("sum", c.add(fact{
		sourceNames, "sumIf(names.events, name = " + name + " AND toUnixTimestamp(slot) >= " + from + ")",
		"countIf(name = " + name + " AND toUnixTimestamp(ts) >= " + from + ")", "toUInt64(0)", "",
	})))
	return "(" + times + " " + sign(op) + " " + c.value("Float64", bound) + ")"
}

// didSince returns the instant from which on events count for a condition, in seconds since the epoch. A window begins
// with a quarter of an hour.
func didSince(one *segment.Condition, now time.Time) int64 {
	if one.Op == segment.WithinDays || one.Op == segment.NotWithinDays {
		return one.Since(now).Unix() / quarter * quarter
	}
	return 0
}

// often returns how a condition compares the number of events.
func often(one *segment.Condition) (op segment.Op, bound float64) {
	wants, isBool := one.Value.(bool)
	number, isNumber := one.Value.(float64)
	count := float64(one.Event.Count)
	switch {
	case one.Op == segment.WithinDays:
		return segment.Gte, count
	case one.Op == segment.NotWithinDays, one.Op == segment.Exists && !one.Wants(),
		isBool && one.Op == segment.Eq && !wants, isBool && one.Op == segment.Neq && wants:
		return segment.Lt, count
	case isBool, one.Op == segment.Exists:
		return segment.Gte, count
	case isNumber:
		return one.Op, number
	}
	return one.Op, count
}

// sign returns the operator of a comparison of numbers.
func sign(op segment.Op) string {
	return map[segment.Op]string{
		segment.Eq: "=", segment.Neq: "!=", segment.Gt: ">", segment.Gte: ">=", segment.Lt: "<", segment.Lte: "<=",
		segment.SemverGt: ">", segment.SemverGte: ">=", segment.SemverLt: "<", segment.SemverLte: "<=",
	}[op]
}

// number compares a number that every person has.
func (c *conditions) number(one *segment.Condition, number string) string {
	numbers := []float64{}
	for _, operand := range one.Operands() {
		if operand.Number != nil {
			numbers = append(numbers, *operand.Number)
		}
	}
	switch one.Op {
	case segment.Exists:
		return map[bool]string{true: "true", false: "false"}[one.Wants()]
	case segment.In:
		return "has(" + c.value("Array(Float64)", numbers) + ", toFloat64(" + number + "))"
	default:
		return "(" + number + " " + sign(one.Op) + " " + c.value("Float64", numbers[0]) + ")"
	}
}

// instant compares milliseconds since the epoch, which every person has.
func (c *conditions) instant(one *segment.Condition, ms string) string {
	switch one.Op {
	case segment.Exists:
		return map[bool]string{true: "true", false: "false"}[one.Wants()]
	case segment.WithinDays:
		return "(" + ms + " >= " + c.value("Int64", one.Since(c.now).UnixMilli()) + ")"
	case segment.NotWithinDays:
		return "(" + ms + " < " + c.value("Int64", one.Since(c.now).UnixMilli()) + ")"
	default:
		at, _ := one.Time()
		return "(" + ms + " " + sign(one.Op) + " " + c.value("Int64", at.UnixMilli()) + ")"
	}
}

// text compares a text. The empty text means that the value is absent.
func (c *conditions) text(one *segment.Condition, text string) string {
	switch one.Op {
	case segment.Eq, segment.In:
		return c.equalsAny(one, text)
	case segment.Neq:
		return "NOT " + c.equalsAny(one, text)
	case segment.Contains:
		return "(position(" + text + ", " + c.bind(one.Operands()[0].Text) + ") > 0)"
	case segment.Exists:
		return map[bool]string{true: "(" + text + " != '')", false: "(" + text + " = '')"}[one.Wants()]
	case segment.WithinDays, segment.NotWithinDays:
		since, now := c.value("Int64", one.Since(c.now).UnixMilli()), c.value("Int64", c.now.UnixMilli())
		within := "ifNull(" + instantOf(text) + " BETWEEN " + since + " AND " + now + ", false)"
		if one.Op == segment.NotWithinDays {
			return "NOT " + within
		}
		return within
	case segment.SemverEq, segment.SemverNeq, segment.SemverGt, segment.SemverGte, segment.SemverLt, segment.SemverLte:
		return c.version(one, text)
	default: // ordering operators
	}
	if at, isTime := one.Time(); isTime {
		return "ifNull(" + instantOf(text) + " " + sign(one.Op) + " " + c.value("Int64", at.UnixMilli()) + ", false)"
	}
	return "ifNull(" + c.numberOf(text) + " " + sign(one.Op) + " " + c.value("Float64", *one.Operands()[0].Number) + ", false)"
}

// equalsAny returns the condition that a text is one of the values of a condition. A text that parses as a number
// equals that number.
func (c *conditions) equalsAny(one *segment.Condition, text string) string {
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

// numberOf returns a text as a number, or NULL if it does not parse as one.
func (c *conditions) numberOf(text string) string {
	return "if(match(" + text + ", " + c.bind(filter.NumberPattern) + "), toFloat64OrNull(" + text + "), NULL)"
}

// instantOf returns a text as milliseconds since the epoch, or NULL if it does not parse as a time. It accepts an ISO
// 8601 day or timestamp, and seconds or milliseconds since the epoch.
func instantOf(text string) string {
	return "multiIf(match(" + text + ", '^[0-9]{4}-[0-9]{2}-[0-9]{2}'), toUnixTimestamp64Milli(parseDateTime64BestEffortOrNull(" + text + ", 3, 'UTC')), " +
		"match(" + text + ", '^[0-9]{9,10}$'), toInt64OrNull(" + text + ") * 1000, match(" + text + ", '^[0-9]{12,13}$'), toInt64OrNull(" + text + "), NULL)"
}

// newConditions returns a query without conditions. Its parameters have the prefix.
func newConditions(prefix string) *rankQuery {
	return &rankQuery{args: clickhouse.Args{}, prefix: prefix}
}
