package segment

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/release"
)

// ParseSegmentDefinition parses a definition and returns it, or all its problems: each problem names its field by a
// path such as definition.all[0].op. Numbers, texts and members are taken literally. A member that no condition has is
// a problem, because a misspelt one would change the membership of the segment.
func ParseSegmentDefinition(raw json.RawMessage) (*Group, []domain.FieldError) {
	const path = "definition"
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, []domain.FieldError{{Field: path, Code: invalidDefinition, Message: "The definition is no JSON."}}
	}
	p := &segmentParser{}
	members, isObject := document.(map[string]any)
	if !isObject {
		p.problem(path, "The definition is an object {all: […], any: […]}.", nil)
		return nil, p.problems
	}
	group := p.group(path, members, 1)
	if p.conditions > MaxSegmentConditions {
		p.problem(path, fmt.Sprintf("A definition has at most %d conditions.", MaxSegmentConditions), nil)
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return &group, nil
}

// invalidDefinition is the code of every problem of a definition (contract 2).
const invalidDefinition = "invalid_definition"

// segmentParser collects the problems of a definition.
type segmentParser struct {
	problems   []domain.FieldError
	conditions int
}

func (p *segmentParser) problem(path, message string, allowed []string) {
	p.problems = append(p.problems, domain.FieldError{Field: path, Code: invalidDefinition, Message: message, Allowed: allowed})
}

// unknown reports the members of an object with names that are not allowed.
func (p *segmentParser) unknown(path string, members map[string]any, allowed ...string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(allowed, name) {
			p.problem(path+"."+name, fmt.Sprintf("Unknown member %q.", name), allowed)
		}
	}
}

// group reads a group.
func (p *segmentParser) group(path string, members map[string]any, depth int) Group {
	p.unknown(path, members, "all", "any")
	if depth > MaxSegmentDepth {
		p.problem(path, fmt.Sprintf("Groups stand within each other at most %d deep.", MaxSegmentDepth), nil)
		return Group{}
	}
	group := Group{All: p.nodes(path+".all", members["all"], depth), Any: p.nodes(path+".any", members["any"], depth)}
	if len(p.problems) == 0 && len(group.All)+len(group.Any) == 0 {
		p.problem(path, "A group has at least one condition in all or any.", nil)
	}
	return group
}

// nodes reads the list of a group; an absent list or null is empty.
func (p *segmentParser) nodes(path string, value any, depth int) []Node {
	if value == nil {
		return nil
	}
	list, isList := value.([]any)
	if !isList {
		p.problem(path, "This is a list of conditions and groups.", nil)
		return nil
	}
	var nodes []Node
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		members, isObject := item.(map[string]any)
		if !isObject {
			p.problem(path, "This is a condition {field, op, value, event} or a group {all, any}.", nil)
			continue
		}
		if _, isCondition := members["field"]; !isCondition && (members["all"] != nil || members["any"] != nil) {
			group := p.group(path, members, depth+1)
			nodes = append(nodes, Node{Group: &group})
			continue
		}
		if p.conditions++; p.conditions <= MaxSegmentConditions {
			condition := p.condition(path, members)
			nodes = append(nodes, Node{Condition: &condition})
		}
	}
	return nodes
}

// condition reads a condition.
func (p *segmentParser) condition(path string, members map[string]any) Condition {
	p.unknown(path, members, "field", "op", "value", "event")
	field, _ := members["field"].(string)
	word, _ := members["op"].(string)
	c := Condition{Field: field, Op: Op(word), Value: members["value"]}
	kind, key := c.Key()
	ops := FieldOps(field)
	switch {
	case ops == nil:
		p.problem(path+".field", fmt.Sprintf("Unknown field %q.", field), Fields())
		return c
	case strings.HasSuffix(kind, ".") && (key == "" || len(key) > event.MaxNameBytes):
		p.problem(path+".field", fmt.Sprintf("The key after %q has 1 to %d bytes.", kind, event.MaxNameBytes), nil)
		return c
	case !slices.Contains(ops, c.Op):
		p.problem(path+".op", fmt.Sprintf("%q does not suit the field %q.", word, field), domain.Texts(ops))
		return c
	}
	if kind == Did || kind == DidNot {
		c.Event = p.event(path+".event", members["event"])
	} else if members["event"] != nil {
		p.problem(path+".event", "Only did_event and not_did_event have an event.", nil)
	}
	if message, allowed := c.valueProblem(kind); message != "" {
		p.problem(path+".value", message, allowed)
	}
	return c
}

// event reads the event of did_event.
func (p *segmentParser) event(path string, value any) *Event {
	members, isObject := value.(map[string]any)
	if !isObject {
		p.problem(path, "This is an object {name, count}.", nil)
		return nil
	}
	p.unknown(path, members, "name", "count")
	name, _ := members["name"].(string)
	if name == "" || len(name) > event.MaxNameBytes {
		p.problem(path+".name", fmt.Sprintf("The name of the event has 1 to %d bytes.", event.MaxNameBytes), nil)
	}
	count := 1.0
	if members["count"] != nil {
		const most = 1_000_000
		var isNumber bool
		if count, isNumber = members["count"].(float64); !isNumber || count != math.Trunc(count) || count < 1 || count > most {
			p.problem(path+".count", fmt.Sprintf("count is a whole number from 1 to %d.", most), nil)
			count = 1
		}
	}
	return &Event{Name: name, Count: int(count)}
}

// valueProblem returns why the value does not suit the field and the comparison, "" if it does.
func (c *Condition) valueProblem(kind string) (message string, allowed []string) {
	switch c.Op {
	case Exists:
		if _, isBool := c.Value.(bool); c.Value != nil && !isBool {
			return "The value of exists is true, false or absent.", nil
		}
		return "", nil
	case WithinDays, NotWithinDays:
		if days, isNumber := c.Value.(float64); !isNumber || days <= 0 || days > MaxSegmentDays {
			return fmt.Sprintf("The value of %s is a number of days above 0, at most %d.", c.Op, MaxSegmentDays), nil
		}
		return "", nil
	case SemverEq, SemverNeq, SemverGt, SemverGte, SemverLt, SemverLte:
		if !release.IsVersion(c.Value) {
			return fmt.Sprintf("The value of %s is %s.", c.Op, release.AVersion), nil
		}
		return "", nil
	case Eq, Neq, Contains, In, Gt, Lt, Gte, Lte:
	}
	switch kind {
	case Did, DidNot:
		return c.countProblem(), nil
	case Stage:
		return c.wordProblem(domain.Texts(LifecycleStages()))
	case Revenue:
		return c.wordProblem(RevenueStatuses())
	case LastSeen, FirstSeen:
		if _, isTime := c.Time(); !isTime {
			return "The value is an ISO 8601 timestamp or day.", nil
		}
		return "", nil
	}
	return c.operandProblem(kind == Sessions || kind == Events), nil
}

// countProblem checks the value that a person's number of events is compared with.
func (c *Condition) countProblem() string {
	value, isNumber := c.Value.(float64)
	_, isBool := c.Value.(bool)
	switch {
	case isNumber && c.Event != nil && c.Event.Count > 1 && value != float64(c.Event.Count):
		return "value and event.count both name a number, and not the same one; leave one out."
	case isNumber && value >= 0, c.Value == nil && c.Event != nil, isBool && (c.Op == Eq || c.Op == Neq):
		return ""
	}
	return "The value is a number of events; true and false, for eq and neq, ask whether event.count was reached."
}

// wordProblem checks that the values are among the known words.
func (c *Condition) wordProblem(known []string) (message string, allowed []string) {
	if message := c.operandProblem(false); message != "" {
		return message, known
	}
	for _, operand := range c.Operands() {
		if !slices.Contains(known, operand.Text) {
			return fmt.Sprintf("Unknown value %q.", operand.Text), known
		}
	}
	return "", nil
}

// operandProblem checks the value of the comparisons that accept texts, numbers and booleans.
func (c *Condition) operandProblem(numeric bool) string {
	list, isList := c.Value.([]any)
	operands := c.Operands()
	for _, operand := range operands {
		if len(operand.Text) > filter.MaxFilterValueBytes {
			return fmt.Sprintf("A value is longer than %d bytes.", filter.MaxFilterValueBytes)
		}
		if numeric && operand.Number == nil {
			return "The value is a number."
		}
	}
	_, isTime := c.Time()
	switch c.Op {
	case In:
		if !isList || len(list) == 0 || len(list) > filter.MaxFilterValues || len(operands) != len(list) {
			return fmt.Sprintf("The value of in is a list of 1 to %d texts, numbers or booleans.", filter.MaxFilterValues)
		}
	case Gt, Gte, Lt, Lte:
		if isList || len(operands) != 1 || operands[0].Number == nil && !isTime {
			return fmt.Sprintf("The value of %s is a number or an ISO 8601 timestamp. To compare versions, use semver_%s.", c.Op, c.Op)
		}
	case Contains:
		if text, isText := c.Value.(string); !isText || text == "" {
			return "The value of contains is a text that is not empty."
		}
	default:
		if isList || len(operands) != 1 {
			return fmt.Sprintf("The value of %s is a text, a number, true or false.", c.Op)
		}
	}
	return ""
}
