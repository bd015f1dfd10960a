package reads

import (
	"fmt"
	"slices"
	"strings"

	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// stepSum is the SQL sum of a funnel's steps. Part n is 1<<n if an event takes step n+1, otherwise 0. Its values are
// bound under names of their own.
type stepSum struct {
	parts []string
	args  clickhouse.Args
}

// stepsOf returns the sum of a funnel's steps.
func stepsOf(steps []funnel.Step) stepSum {
	c := stepSum{args: clickhouse.Args{}}
	for i, step := range steps {
		name := fmt.Sprintf("s%d", i)
		conditions := []string{c.matches(step.Matcher, name)}
		for j, filter := range step.Filters {
			conditions = append(conditions, c.passes(filter, fmt.Sprintf("%s_%d", name, j)))
		}
		c.parts = append(c.parts, fmt.Sprintf("toUInt16(%d) * (%s)", 1<<i, strings.Join(conditions, " AND ")))
	}
	return c
}

// bindSteps replaces the placeholders for the sum of steps in a query.
func bindSteps(query string, steps stepSum) string {
	return strings.ReplaceAll(query, "$(steps)", "("+strings.Join(steps.parts, " + ")+")")
}

// value binds a value and returns the reference to it.
func (c *stepSum) value(name, kind string, value any) string {
	c.args[name] = value
	return "{" + name + ":" + kind + "}"
}

// matches returns the SQL condition that an event matches.
func (c *stepSum) matches(m goal.Matcher, name string) string {
	const isView = "name IN ('page_view', '$pageview')"
	prefix, open := m.Prefix()
	switch {
	case m.Kind == goal.MatchEvent:
		return "name = " + c.value(name, "String", m.Match)
	case open:
		return isView + " AND startsWith(path, " + c.value(name, "String", prefix) + ")"
	}
	return isView + " AND path = " + c.value(name, "String", m.Match)
}

// passes returns the SQL condition that an event passes a valid filter. It agrees with filter.StepFilter.Passes.
func (c *stepSum) passes(f filter.StepFilter, name string) string {
	text := c.textOf(f, name)
	switch f.Op {
	case filter.OpEq, filter.OpIn:
		return c.equalsAny(f, text, name)
	case filter.OpNeq:
		return "NOT " + c.equalsAny(f, text, name)
	case filter.OpContains:
		return "position(" + text + ", " + c.value(name, "String", f.Operands()[0].Text) + ") > 0"
	case filter.OpNotContains:
		return "position(" + text + ", " + c.value(name, "String", f.Operands()[0].Text) + ") = 0"
	case filter.OpExists:
		return map[bool]string{true: text + " != ''", false: text + " = ''"}[f.Wants()]
	case filter.OpGt, filter.OpGte, filter.OpLt, filter.OpLte:
		sign := map[filter.Op]string{filter.OpGt: ">", filter.OpGte: ">=", filter.OpLt: "<", filter.OpLte: "<="}[f.Op]
		return "ifNull(" + c.numberOf(f, text, name) + " " + sign + " " + c.value(name, "Float64", *f.Operands()[0].Number) + ", false)"
	}
	return "false"
}

// equalsAny returns the SQL condition that a property has one of a filter's values.
func (c *stepSum) equalsAny(f filter.StepFilter, text, name string) string {
	texts, numbers := []string{}, []float64{}
	for _, operand := range f.Operands() {
		if operand.Number != nil {
			numbers = append(numbers, *operand.Number)
		} else {
			texts = append(texts, operand.Text)
		}
	}
	var either []string
	if len(texts) > 0 {
		either = append(either, text+" IN "+c.value(name, "Array(String)", texts))
	}
	if len(numbers) > 0 {
		either = append(either, "ifNull(has("+c.value(name+"_n", "Array(Float64)", numbers)+", "+c.numberOf(f, text, name)+"), false)")
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// numberOf returns the property of a filter as a number, or NULL if it is not a number.
func (c *stepSum) numberOf(f filter.StepFilter, text, name string) string {
	if f.Property == "value" {
		return "value"
	}
	return "if(match(" + text + ", " + c.value(name+"_p", "String", filter.NumberPattern) + "), toFloat64OrNull(" + text + "), NULL)"
}

// textOf returns the property of a filter as text, or an empty text if it is missing. Names of columns come only from
// the list of columns that steps may use.
func (c *stepSum) textOf(f filter.StepFilter, name string) string {
	if key, custom := f.Key(); custom {
		key := c.value(name+"_k", "String", key)
		raw := "JSONExtractRaw(properties, " + key + ")"
		return "multiIf(startsWith(" + raw + ", '\"'), JSONExtractString(properties, " + key + "), " + raw + " = 'null', '', " + raw + ")"
	}
	switch {
	case f.Property == "event":
		return "toString(name)"
	case f.Property == "value":
		return "ifNull(toString(value), '')"
	case slices.Contains(filter.StepProperties(), f.Property):
		return "toString(" + f.Property + ")"
	}
	return "''"
}
