package svc

import (
	"strconv"
	"time"
)

// SegmentGroup is a definition, or a group of conditions within one: all of All are met and, if Any is not empty, at
// least one of Any.
type SegmentGroup struct {
	All []SegmentNode `json:"all,omitempty"`
	Any []SegmentNode `json:"any,omitempty"`
}

// SegmentNode is a condition or a group; the other one is nil.
type SegmentNode struct {
	*SegmentCondition
	*SegmentGroup
}

// SegmentCondition compares a field of a person with a value.
type SegmentCondition struct {
	Field string    `json:"field"`
	Op    SegmentOp `json:"op"`
	// Value is a text, a number or a boolean. For in it is a list of them. It is nil if the comparison needs none.
	Value any `json:"value,omitempty"`
	// Event is the event of did_event and not_did_event.
	Event *SegmentEvent `json:"event,omitempty"`
}

// SegmentEvent is an event that a person has caused at least a number of times.
type SegmentEvent struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// SegmentOp compares a field with a value.
type SegmentOp string

// The comparisons of the specification, and the order of versions.
const (
	SegmentEq            SegmentOp = "eq"
	SegmentNeq           SegmentOp = "neq"
	SegmentContains      SegmentOp = "contains"
	SegmentIn            SegmentOp = "in"
	SegmentGt            SegmentOp = "gt"
	SegmentLt            SegmentOp = "lt"
	SegmentGte           SegmentOp = "gte"
	SegmentLte           SegmentOp = "lte"
	SegmentExists        SegmentOp = "exists"
	SegmentWithinDays    SegmentOp = "within_days"
	SegmentNotWithinDays SegmentOp = "not_within_days"
	SegmentSemverEq      SegmentOp = "semver_eq"
	SegmentSemverNeq     SegmentOp = "semver_neq"
	SegmentSemverGt      SegmentOp = "semver_gt"
	SegmentSemverGte     SegmentOp = "semver_gte"
	SegmentSemverLt      SegmentOp = "semver_lt"
	SegmentSemverLte     SegmentOp = "semver_lte"
)

// SegmentOps lists all comparisons.
func SegmentOps() []SegmentOp {
	return []SegmentOp{
		SegmentEq, SegmentNeq, SegmentContains, SegmentIn, SegmentGt, SegmentLt, SegmentGte, SegmentLte,
		SegmentExists, SegmentWithinDays, SegmentNotWithinDays,
		SegmentSemverEq, SegmentSemverNeq, SegmentSemverGt, SegmentSemverGte, SegmentSemverLt, SegmentSemverLte,
	}
}

// The fields of conditions; a key follows the fields that end with a dot.
const (
	SegmentTrait       = "trait."
	SegmentProperty    = "property."
	SegmentStage       = "stage"
	SegmentTag         = "tag"
	SegmentFirstSource = "first_source"
	SegmentCountry     = "country"
	SegmentDevice      = "device"
	SegmentLastSeen    = "last_seen_at"
	SegmentFirstSeen   = "first_seen_at"
	SegmentSessions    = "sessions"
	SegmentEvents      = "events"
	SegmentDid         = "did_event"
	SegmentDidNot      = "not_did_event"
	SegmentRevenue     = "revenue.status"
)

// SegmentFields lists the fields of the specification.
func SegmentFields() []string {
	return []string{
		SegmentTrait + "<k>", SegmentProperty + "<k>", SegmentStage, SegmentTag, SegmentFirstSource, SegmentCountry, SegmentDevice,
		SegmentLastSeen, SegmentFirstSeen, SegmentSessions, SegmentEvents, SegmentDid, SegmentDidNot, SegmentRevenue,
	}
}

// RevenueStatuses lists the values of revenue.status. A person without a subscription has none.
func RevenueStatuses() []string {
	return []string{"none", "trialing", "active", "past_due", "canceled"}
}

// SegmentFieldOps returns the comparisons of a field, nil for an unknown one.
func SegmentFieldOps(field string) []SegmentOp {
	switch kind, _ := segmentKey(field); kind {
	case SegmentTrait, SegmentProperty:
		return SegmentOps()
	case SegmentStage, SegmentRevenue:
		return []SegmentOp{SegmentEq, SegmentNeq, SegmentIn, SegmentExists}
	case SegmentTag, SegmentFirstSource, SegmentCountry, SegmentDevice:
		return []SegmentOp{SegmentEq, SegmentNeq, SegmentContains, SegmentIn, SegmentExists}
	case SegmentLastSeen, SegmentFirstSeen:
		return []SegmentOp{SegmentGt, SegmentLt, SegmentGte, SegmentLte, SegmentExists, SegmentWithinDays, SegmentNotWithinDays}
	case SegmentSessions, SegmentEvents:
		return []SegmentOp{SegmentEq, SegmentNeq, SegmentIn, SegmentGt, SegmentLt, SegmentGte, SegmentLte, SegmentExists}
	case SegmentDid, SegmentDidNot:
		return []SegmentOp{
			SegmentEq, SegmentNeq, SegmentGt, SegmentLt, SegmentGte, SegmentLte, SegmentExists, SegmentWithinDays, SegmentNotWithinDays,
		}
	}
	return nil
}

// segmentKey splits a field into its kind and its key.
func segmentKey(field string) (kind, key string) {
	for _, prefix := range []string{SegmentTrait, SegmentProperty} {
		if len(field) >= len(prefix) && field[:len(prefix)] == prefix {
			return prefix, field[len(prefix):]
		}
	}
	return field, ""
}

// Key splits the field of a condition into its kind, one of the constants, and the key of a trait or a property.
func (c *SegmentCondition) Key() (kind, key string) { return segmentKey(c.Field) }

// Wants reports, for exists, whether the field must be present.
func (c *SegmentCondition) Wants() bool { return c.Value != false }

// Operands returns the values that the field is compared with.
func (c *SegmentCondition) Operands() []Operand {
	list, isList := c.Value.([]any)
	if !isList {
		list = []any{c.Value}
	}
	var out []Operand
	for _, value := range list {
		if operand, ok := operandOf(value); ok {
			out = append(out, operand)
		}
	}
	return out
}

// Time returns the instant that the field is compared with, if the value is one.
func (c *SegmentCondition) Time() (time.Time, bool) {
	text, isText := c.Value.(string)
	if !isText {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// Since returns the beginning of the window of within_days or not_within_days.
func (c *SegmentCondition) Since(now time.Time) time.Time {
	days, _ := c.Value.(float64)
	return now.Add(-time.Duration(days * 24 * float64(time.Hour)))
}

// conditions calls visit for every condition of a group.
func (g *SegmentGroup) conditions(visit func(*SegmentCondition)) {
	for _, nodes := range [][]SegmentNode{g.All, g.Any} {
		for _, node := range nodes {
			if node.SegmentCondition != nil {
				visit(node.SegmentCondition)
			} else if node.SegmentGroup != nil {
				node.SegmentGroup.conditions(visit)
			}
		}
	}
}

// Personal reports whether the members of the group reveal data that is masked for callers without people.pii.read. A
// condition does if it compares a trait or property that names or locates a person, searches for a part of a text, or
// contains an e-mail address.
func (g *SegmentGroup) Personal() (personal bool) {
	g.conditions(func(c *SegmentCondition) {
		kind, _ := c.Key()
		chosen := kind == SegmentTrait || kind == SegmentProperty || kind == SegmentTag || kind == SegmentFirstSource
		masked := c.masked()
		personal = personal || c.Op != SegmentExists && (masked.Personal || chosen && (masked.Changed || c.Op == SegmentContains))
	})
	return personal
}

// maskedCondition is a condition as callers without people.pii.read see it.
type maskedCondition struct {
	SegmentCondition
	// Personal says that the field names or locates a person, Changed that a value is hidden.
	Personal, Changed bool
}

func (c *SegmentCondition) masked() maskedCondition {
	out := maskedCondition{SegmentCondition: *c}
	_, key := c.Key()
	out.Personal = key != "" && IsPersonal(key)
	hide := func(value any) any {
		text, isText := value.(string)
		if number, isNumber := value.(float64); isNumber && out.Personal {
			text, isText = strconv.FormatFloat(number, 'f', -1, 64), true
		}
		if !isText {
			return value
		}
		hidden := MaskShapes(text)
		if out.Personal {
			hidden = MaskText(text)
		}
		out.Changed = out.Changed || hidden != text
		return hidden
	}
	if list, isList := c.Value.([]any); isList {
		hidden := make([]any, len(list))
		for i := range list {
			hidden[i] = hide(list[i])
		}
		out.Value = hidden
	} else {
		out.Value = hide(c.Value)
	}
	return out
}

// masked returns the group with personal values hidden.
func (g *SegmentGroup) masked() SegmentGroup {
	mask := func(nodes []SegmentNode) (out []SegmentNode) {
		for _, node := range nodes {
			if node.SegmentCondition != nil {
				hidden := node.SegmentCondition.masked().SegmentCondition
				out = append(out, SegmentNode{SegmentCondition: &hidden})
			} else if node.SegmentGroup != nil {
				hidden := node.SegmentGroup.masked()
				out = append(out, SegmentNode{SegmentGroup: &hidden})
			}
		}
		return out
	}
	return SegmentGroup{All: mask(g.All), Any: mask(g.Any)}
}
