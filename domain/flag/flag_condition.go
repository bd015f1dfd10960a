package flag

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain/release"
)

// Op compares a field with the value of a condition.
type Op string

// The operators of conditions: the operators of segments, their opposites, prefixes and suffixes of texts, and the
// order of versions.
const (
	flagEq            Op = "eq"
	flagNeq           Op = "neq"
	flagContains      Op = "contains"
	flagNotContains   Op = "not_contains"
	flagStartsWith    Op = "starts_with"
	flagEndsWith      Op = "ends_with"
	flagIn            Op = "in"
	flagNotIn         Op = "not_in"
	flagGt            Op = "gt"
	flagLt            Op = "lt"
	flagGte           Op = "gte"
	flagLte           Op = "lte"
	flagExists        Op = "exists"
	flagWithinDays    Op = "within_days"
	flagNotWithinDays Op = "not_within_days"
	flagSemverEq      Op = "semver_eq"
	flagSemverNeq     Op = "semver_neq"
	flagSemverGt      Op = "semver_gt"
	flagSemverGte     Op = "semver_gte"
	flagSemverLt      Op = "semver_lt"
	flagSemverLte     Op = "semver_lte"
)

// Values lists the operators.
func (Op) Values() []Op {
	return []Op{
		flagEq, flagNeq, flagContains, flagNotContains, flagStartsWith, flagEndsWith, flagIn, flagNotIn, flagGt, flagLt, flagGte, flagLte,
		flagExists, flagWithinDays, flagNotWithinDays, flagSemverEq, flagSemverNeq, flagSemverGt, flagSemverGte, flagSemverLt, flagSemverLte,
	}
}

// Fields of conditions.
const (
	traitPrefix      = "trait."
	propertyPrefix   = "property."
	fieldDistinctID  = "distinctId"
	fieldAnonymousID = "anonymousId"
	fieldCompany     = "company"
	fieldStage       = "stage"
	fieldTag         = "tag"
	fieldSegment     = "segment"
	// maxFieldKey limits the key of a trait or a property.
	maxFieldKey = 128
)

// Fields lists the fields of conditions that have a fixed name.
func Fields() []string {
	return []string{
		fieldDistinctID, fieldAnonymousID, fieldCompany, fieldStage, fieldTag, fieldSegment, "first_source", "country", "region", "city", "device", "browser", "os",
		"locale", "last_seen_at", "first_seen_at", "sessions", "events", "revenue.status",
	}
}

// contextName returns the name of a field in a context: traits and properties appear under their keys.
func contextName(field string) string {
	if key, trait := strings.CutPrefix(field, traitPrefix); trait {
		return key
	}
	if key, property := strings.CutPrefix(field, propertyPrefix); property {
		return key
	}
	return field
}

// storedField reports whether a field may be stored for a person if the context does not contain it.
func storedField(field string) bool {
	switch field {
	case fieldDistinctID, fieldAnonymousID, "locale":
		return false
	}
	return !strings.HasPrefix(field, propertyPrefix)
}

func knownField(field string) bool {
	key := contextName(field)
	if key != field {
		return key != "" && len(key) <= maxFieldKey
	}
	return slices.Contains(Fields(), field)
}

// numberOf returns the number in a text; a time counts in milliseconds.
func numberOf(text string) (float64, bool) {
	if text == "" || text[0] > '9' && text[0] != 'I' && text[0] != 'N' {
		return 0, false
	}
	if number, err := strconv.ParseFloat(text, 64); err == nil && number-number == 0 { // finite
		return number, true
	}
	if len(text) < len("2006-01-02") || text[4] != '-' {
		return 0, false
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return float64(at.UnixMilli()), true
		}
	}
	return 0, false
}

// compiledCondition is a condition prepared for many comparisons.
type compiledCondition struct {
	// slot is the place of the field in contexts; stored is the field's name if it may be stored for a person.
	slot   int
	stored string
	op     Op
	text   string
	number float64
	isNum  bool
	// version is the value of an operator that compares versions.
	version release.Semver
	want    bool
	list    map[string]struct{}
}

// compileCondition compiles a valid condition; names have the place of its field.
func compileCondition(c *Condition, names *Names) *compiledCondition {
	compiled := &compiledCondition{slot: names.index[contextName(c.Field)], op: c.Op, want: true}
	if storedField(c.Field) {
		compiled.stored = c.Field
	}
	switch value := c.Value.(type) {
	case bool:
		compiled.want = value
	case []any:
		compiled.list = make(map[string]struct{}, len(value))
		for _, one := range value {
			compiled.list[plainText(one)] = struct{}{}
		}
	}
	compiled.text = plainText(c.Value)
	compiled.number, compiled.isNum = numberOf(compiled.text)
	compiled.version, _ = release.ParseSemver(compiled.text)
	return compiled
}

// plainText returns a value as text: numbers in their shortest form.
func plainText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		return v.String()
	}
	return ""
}

// Verdicts of conditions.
type verdict uint8

const (
	unjudged verdict = iota
	fails
	holds
	unknown
)

func verdictOf(ok bool) verdict {
	if ok {
		return holds
	}
	return fails
}

// relative reports whether the condition compares the age of a time.
func (c *compiledCondition) relative() bool {
	return c.op == flagWithinDays || c.op == flagNotWithinDays
}

// judge compares the caller's known data with the condition. The verdict is unknown if only the person's stored data
// could decide, and it is not known.
func (c *compiledCondition) judge(context *Context) verdict {
	value := &context.slots[c.slot]
	if value.kind == valueAbsent && c.stored != "" {
		if context.person.lacks(c.stored) {
			return unknown
		}
		if stored, found := context.person.value(c.stored); found {
			return verdictOf(c.meets(&stored, context.nowMs))
		}
	}
	return verdictOf(c.meets(value, context.nowMs))
}

// meets reports whether a value meets the condition. A list meets it if one of its elements does. Negated operators are
// the exact opposite.
func (c *compiledCondition) meets(value *Value, nowMs int64) bool {
	switch c.op {
	case flagExists:
		return (value.kind != valueAbsent && value.kind != valueNull) == c.want
	case flagNeq:
		return !c.any(value, flagEq, nowMs)
	case flagNotIn:
		return !c.any(value, flagIn, nowMs)
	case flagNotContains:
		return !c.any(value, flagContains, nowMs)
	case flagNotWithinDays:
		return !c.any(value, flagWithinDays, nowMs)
	case flagSemverNeq: // an invalid version is not another version
		return c.any(value, flagSemverNeq, nowMs) && !c.any(value, flagSemverEq, nowMs)
	default:
		return c.any(value, c.op, nowMs)
	}
}

func (c *compiledCondition) any(value *Value, op Op, nowMs int64) bool {
	switch value.kind {
	case valueAbsent, valueNull, valueObject:
		return false
	case valueList:
		found := false
		scanList(value.text, func(element Value) bool {
			found = element.kind != valueList && c.any(&element, op, nowMs)
			return !found
		})
		return found
	default:
		return c.one(value, op, nowMs)
	}
}

// one compares one plain value.
func (c *compiledCondition) one(value *Value, op Op, nowMs int64) bool {
	switch op {
	case flagEq:
		return value.text == c.text || c.isNum && value.kind == valueNumber && value.number() == c.number
	case flagIn:
		if _, listed := c.list[value.text]; listed || value.kind != valueNumber {
			return listed
		}
		_, listed := c.list[strconv.FormatFloat(value.number(), 'f', -1, 64)]
		return listed
	case flagContains:
		return strings.Contains(value.text, c.text)
	case flagStartsWith:
		return strings.HasPrefix(value.text, c.text)
	case flagEndsWith:
		return strings.HasSuffix(value.text, c.text)
	case flagSemverEq, flagSemverNeq, flagSemverGt, flagSemverGte, flagSemverLt, flagSemverLte:
		found, ok := release.ParseSemver(value.text)
		return ok && ordered(op, found.Compare(&c.version))
	default:
		return c.compare(value, op, nowMs)
	}
}

// compare compares a value that is a number or a time.
func (c *compiledCondition) compare(value *Value, op Op, nowMs int64) bool {
	number, ok := numberOf(value.text)
	if !ok {
		return false
	}
	if op == flagWithinDays {
		const day = 24 * 60 * 60 * 1000
		return float64(nowMs)-number <= c.number*day && number <= float64(nowMs)
	}
	return ordered(op, cmp.Compare(number, c.number))
}

// ordered reports whether an operator accepts the order of a value: negative if it is less than the value of the
// condition.
func ordered(op Op, order int) bool {
	switch op {
	case flagSemverEq:
		return order == 0
	case flagSemverNeq:
		return order != 0
	case flagGt, flagSemverGt:
		return order > 0
	case flagGte, flagSemverGte:
		return order >= 0
	case flagLt, flagSemverLt:
		return order < 0
	case flagLte, flagSemverLte:
		return order <= 0
	default:
		return false
	}
}

// UsesSegment reports whether the evaluation of the flag checks the membership in a segment.
func (f *Flag) UsesSegment(id string) bool {
	return f.asks(func(c *Condition) bool { return c.Field == fieldSegment && names(c.Value, id) })
}

// UsesStages reports whether the evaluation of the flag in an environment reads lifecycle stages.
func (f *Flag) UsesStages(environment string) bool {
	return f.Environments[environment].Enabled && f.asks(func(c *Condition) bool { return c.Field == fieldStage })
}

// asks reports whether one returns true for a condition of the flag; an archived flag has none.
func (f *Flag) asks(one func(c *Condition) bool) bool {
	if f.Archived {
		return false
	}
	for _, rule := range f.Rules {
		for n := range rule.Conditions {
			if one(&rule.Conditions[n]) {
				return true
			}
		}
	}
	return false
}

// names reports whether the value of a condition equals a word or lists it.
func names(value any, word string) bool {
	switch value := value.(type) {
	case string:
		return value == word
	case []any:
		for _, one := range value {
			if one == word {
				return true
			}
		}
	}
	return false
}
