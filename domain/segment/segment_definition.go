package segment

import (
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/filter"
)

// Group is a definition, or a group of conditions within one: all of All are met and, if Any is not empty, at
// least one of Any.
type Group struct {
	All []Node `json:"all,omitempty"`
	Any []Node `json:"any,omitempty"`
}

// Node is a condition or a group; the other one is nil.
type Node struct {
	*Condition
	*Group
}

// Condition compares a field of a person with a value.
type Condition struct {
	Field string `json:"field"`
	Op    Op     `json:"op"`
	// Value is a text, a number or a boolean. For in it is a list of them. It is nil if the comparison needs none.
	Value any `json:"value,omitempty"`
	// Event is the event of did_event and not_did_event.
	Event *Event `json:"event,omitempty"`
}

// Event is an event that a person has caused at least a number of times.
type Event struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Op compares a field with a value.
type Op string

// The comparisons of the specification, and the order of versions.
const (
	Eq            Op = "eq"
	Neq           Op = "neq"
	Contains      Op = "contains"
	In            Op = "in"
	Gt            Op = "gt"
	Lt            Op = "lt"
	Gte           Op = "gte"
	Lte           Op = "lte"
	Exists        Op = "exists"
	WithinDays    Op = "within_days"
	NotWithinDays Op = "not_within_days"
	SemverEq      Op = "semver_eq"
	SemverNeq     Op = "semver_neq"
	SemverGt      Op = "semver_gt"
	SemverGte     Op = "semver_gte"
	SemverLt      Op = "semver_lt"
	SemverLte     Op = "semver_lte"
)

// Ops lists all comparisons.
func Ops() []Op {
	return []Op{
		Eq, Neq, Contains, In, Gt, Lt, Gte, Lte,
		Exists, WithinDays, NotWithinDays,
		SemverEq, SemverNeq, SemverGt, SemverGte, SemverLt, SemverLte,
	}
}

// The fields of conditions; a key follows the fields that end with a dot.
const (
	Trait       = "trait."
	Property    = "property."
	Stage       = "stage"
	Tag         = "tag"
	FirstSource = "first_source"
	Country     = "country"
	Device      = "device"
	LastSeen    = "last_seen_at"
	FirstSeen   = "first_seen_at"
	Sessions    = "sessions"
	Events      = "events"
	Did         = "did_event"
	DidNot      = "not_did_event"
	Revenue     = "revenue.status"
)

// Fields lists the fields of the specification.
func Fields() []string {
	return []string{
		Trait + "<k>", Property + "<k>", Stage, Tag, FirstSource, Country, Device,
		LastSeen, FirstSeen, Sessions, Events, Did, DidNot, Revenue,
	}
}

// RevenueStatuses lists the values of revenue.status. A person without a subscription has none.
func RevenueStatuses() []string {
	return []string{"none", "trialing", "active", "past_due", "canceled"}
}

// FieldOps returns the comparisons of a field, nil for an unknown one.
func FieldOps(field string) []Op {
	switch kind, _ := segmentKey(field); kind {
	case Trait, Property:
		return Ops()
	case Stage, Revenue:
		return []Op{Eq, Neq, In, Exists}
	case Tag, FirstSource, Country, Device:
		return []Op{Eq, Neq, Contains, In, Exists}
	case LastSeen, FirstSeen:
		return []Op{Gt, Lt, Gte, Lte, Exists, WithinDays, NotWithinDays}
	case Sessions, Events:
		return []Op{Eq, Neq, In, Gt, Lt, Gte, Lte, Exists}
	case Did, DidNot:
		return []Op{
			Eq, Neq, Gt, Lt, Gte, Lte, Exists, WithinDays, NotWithinDays,
		}
	}
	return nil
}

// segmentKey splits a field into its kind and its key.
func segmentKey(field string) (kind, key string) {
	for _, prefix := range []string{Trait, Property} {
		if len(field) >= len(prefix) && field[:len(prefix)] == prefix {
			return prefix, field[len(prefix):]
		}
	}
	return field, ""
}

// Key splits the field of a condition into its kind, one of the constants, and the key of a trait or a property.
func (c *Condition) Key() (kind, key string) { return segmentKey(c.Field) }

// Wants reports, for exists, whether the field must be present.
func (c *Condition) Wants() bool { return c.Value != false }

// Operands returns the values that the field is compared with.
func (c *Condition) Operands() []filter.Operand {
	list, isList := c.Value.([]any)
	if !isList {
		list = []any{c.Value}
	}
	var out []filter.Operand
	for _, value := range list {
		if operand, ok := filter.OperandOf(value); ok {
			out = append(out, operand)
		}
	}
	return out
}

// Time returns the instant that the field is compared with, if the value is one.
func (c *Condition) Time() (time.Time, bool) {
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
func (c *Condition) Since(now time.Time) time.Time {
	days, _ := c.Value.(float64)
	return now.Add(-time.Duration(days * 24 * float64(time.Hour)))
}

// conditions calls visit for every condition of a group.
func (g *Group) conditions(visit func(*Condition)) {
	for _, nodes := range [][]Node{g.All, g.Any} {
		for _, node := range nodes {
			if node.Condition != nil {
				visit(node.Condition)
			} else if node.Group != nil {
				node.Group.conditions(visit)
			}
		}
	}
}

// Personal reports whether the members of the group reveal data that is masked for callers without people.pii.read. A
// condition does if it compares a trait or property that names or locates a person, searches for a part of a text, or
// contains an e-mail address.
func (g *Group) Personal() (personal bool) {
	g.conditions(func(c *Condition) {
		kind, _ := c.Key()
		chosen := kind == Trait || kind == Property || kind == Tag || kind == FirstSource
		masked := c.masked()
		personal = personal || c.Op != Exists && (masked.Personal || chosen && (masked.Changed || c.Op == Contains))
	})
	return personal
}

// maskedCondition is a condition as callers without people.pii.read see it.
type maskedCondition struct {
	Condition
	// Personal says that the field names or locates a person, Changed that a value is hidden.
	Personal, Changed bool
}

func (c *Condition) masked() maskedCondition {
	out := maskedCondition{Condition: *c}
	_, key := c.Key()
	out.Personal = key != "" && domain.IsPersonal(key)
	hide := func(value any) any {
		text, isText := value.(string)
		if number, isNumber := value.(float64); isNumber && out.Personal {
			text, isText = strconv.FormatFloat(number, 'f', -1, 64), true
		}
		if !isText {
			return value
		}
		hidden := domain.MaskShapes(text)
		if out.Personal {
			hidden = domain.MaskText(text)
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
func (g *Group) masked() Group {
	mask := func(nodes []Node) (out []Node) {
		for _, node := range nodes {
			if node.Condition != nil {
				hidden := node.Condition.masked().Condition
				out = append(out, Node{Condition: &hidden})
			} else if node.Group != nil {
				hidden := node.Group.masked()
				out = append(out, Node{Group: &hidden})
			}
		}
		return out
	}
	return Group{All: mask(g.All), Any: mask(g.Any)}
}
