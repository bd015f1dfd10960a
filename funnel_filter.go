package svc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FilterOp is a comparison of an event's property with a value.
type FilterOp string

// The comparisons (contract 42). A missing property is the empty text and not a number: it is neq every other value and
// contains nothing.
const (
	OpEq          FilterOp = "eq"
	OpNeq         FilterOp = "neq"
	OpContains    FilterOp = "contains"
	OpNotContains FilterOp = "not_contains"
	OpIn          FilterOp = "in"
	OpGt          FilterOp = "gt"
	OpGte         FilterOp = "gte"
	OpLt          FilterOp = "lt"
	OpLte         FilterOp = "lte"
	OpExists      FilterOp = "exists"
)

// FilterOps lists all comparisons.
func FilterOps() []FilterOp {
	return []FilterOp{OpEq, OpNeq, OpContains, OpNotContains, OpIn, OpGt, OpGte, OpLt, OpLte, OpExists}
}

// StepFilter selects events by comparing one of their properties with a value.
type StepFilter struct {
	// Property is one of StepProperties, or property.<key> for properties that clients sent.
	Property string   `json:"property" required:"true" doc:"A column such as source or country, or property.<key>."`
	Op       FilterOp `json:"op" required:"true" enum:"eq,neq,contains,not_contains,in,gt,gte,lt,lte,exists"`
	// Value is a text, a number, true or false. For in it is a list of them. For exists it is true, false or absent,
	// which means true.
	Value any `json:"value"`
}

// customProperty is the prefix of a property that clients sent.
const customProperty = "property."

// StepProperties lists the columns that a step may filter on.
func StepProperties() []string {
	return []string{
		"name", "event", "url", "path", "title", "referrer", "referrer_domain", "source", "medium",
		"utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "country", "region", "city",
		"device", "browser", "browser_version", "os", "os_version", "screen", "locale", "value", "currency", "release", "library",
	}
}

// Key returns the key of a property that clients sent; ok is false for a column.
func (f StepFilter) Key() (key string, ok bool) { return strings.CutPrefix(f.Property, customProperty) }

// Operand is a value of a filter, prepared for a comparison.
type Operand struct {
	// Text is the value as text; booleans are "true" and "false".
	Text string
	// Number is set if the value is a number. Then eq, neq and in compare numbers.
	Number *float64
}

// Operands returns the values of the filter: one, the list of in, or none for exists. The operands of a valid filter
// suit its comparison.
func (f StepFilter) Operands() []Operand {
	list, isList := f.Value.([]any)
	if !isList {
		list = []any{f.Value}
	}
	var out []Operand
	for _, value := range list {
		if operand, ok := operandOf(value); ok && f.Op != OpExists {
			out = append(out, operand)
		}
	}
	return out
}

// Wants reports, for exists, whether the property must be present.
func (f StepFilter) Wants() bool { return f.Value != false }

// operandOf returns a value of JSON as operand. It returns false for a list, an object and null.
func operandOf(value any) (Operand, bool) {
	switch value := value.(type) {
	case string:
		return Operand{Text: value}, true
	case float64:
		return Operand{Text: strconv.FormatFloat(value, 'g', -1, 64), Number: &value}, true
	case bool:
		return Operand{Text: strconv.FormatBool(value)}, true
	}
	return Operand{}, false
}

// validate returns every problem; prefix precedes the names of fields.
func (f StepFilter) validate(prefix string) []FieldError {
	var problems []FieldError
	key, custom := f.Key()
	switch {
	case custom && (key == "" || len(key) > MaxNameBytes):
		problems = append(problems, FieldError{
			Field: prefix + "property", Code: "invalid_value", Message: fmt.Sprintf("The key of a custom property is 1 to %d bytes.", MaxNameBytes),
		})
	case !custom && !slices.Contains(StepProperties(), f.Property):
		problems = append(problems, FieldError{
			Field: prefix + "property", Code: "unknown_value", Message: fmt.Sprintf("Unknown property %q.", f.Property),
			Allowed: append(StepProperties(), customProperty+"<key>"),
		})
	}
	if !slices.Contains(FilterOps(), f.Op) {
		return append(problems, FieldError{
			Field: prefix + "op", Code: "unknown_value", Message: fmt.Sprintf("Unknown op %q.", f.Op), Allowed: words(FilterOps()),
		})
	}
	if message := f.valueProblem(); message != "" {
		problems = append(problems, FieldError{Field: prefix + "value", Code: "invalid_value", Message: message})
	}
	return problems
}

// valueProblem returns why a value does not suit the comparison, "" if it does.
func (f StepFilter) valueProblem() string {
	list, isList := f.Value.([]any)
	operands := f.Operands()
	for _, operand := range operands {
		if len(operand.Text) > MaxFilterValueBytes {
			return fmt.Sprintf("A value is longer than %d bytes.", MaxFilterValueBytes)
		}
	}
	switch f.Op {
	case OpExists:
		if _, isBool := f.Value.(bool); f.Value != nil && !isBool {
			return "The value of exists is true, false or absent."
		}
	case OpIn:
		if !isList || len(list) == 0 || len(list) > MaxFilterValues || len(operands) != len(list) {
			return fmt.Sprintf("The value of in is a list of 1 to %d texts, numbers or booleans.", MaxFilterValues)
		}
	case OpGt, OpGte, OpLt, OpLte:
		if isList || len(operands) != 1 || operands[0].Number == nil {
			return fmt.Sprintf("The value of %s is a number.", f.Op)
		}
	case OpContains, OpNotContains:
		if text, isText := f.Value.(string); !isText || text == "" {
			return fmt.Sprintf("The value of %s is a text that is not empty.", f.Op)
		}
	case OpEq, OpNeq:
		if isList || len(operands) != 1 {
			return fmt.Sprintf("The value of %s is a text, a number, true or false.", f.Op)
		}
	}
	return ""
}

// Personal reports whether a list of the people of the funnel would reveal data that is masked for callers without
// people.pii.read, as a definition of a segment would.
func (f *Funnel) Personal() bool {
	for _, step := range f.Steps {
		if slices.ContainsFunc(step.Filters, StepFilter.personal) {
			return true
		}
	}
	return false
}

// personal reports whether the filter would confirm masked values.
func (f StepFilter) personal() bool {
	if f.Op == OpExists {
		return false
	}
	if key, custom := f.Key(); custom && (IsPersonal(key) || f.Op == OpContains || f.Op == OpNotContains) {
		return true
	}
	return slices.ContainsFunc(f.Operands(), func(o Operand) bool { return MaskShapes(o.Text) != o.Text })
}
