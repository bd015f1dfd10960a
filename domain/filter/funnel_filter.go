package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/event"
)

// Op is a comparison of an event's property with a value.
type Op string

// The comparisons (contract 42). A missing property is the empty text and not a number: it is neq every other value and
// contains nothing.
const (
	OpEq          Op = "eq"
	OpNeq         Op = "neq"
	OpContains    Op = "contains"
	OpNotContains Op = "not_contains"
	OpIn          Op = "in"
	OpGt          Op = "gt"
	OpGte         Op = "gte"
	OpLt          Op = "lt"
	OpLte         Op = "lte"
	OpExists      Op = "exists"
)

// Ops lists all comparisons.
func Ops() []Op {
	return []Op{OpEq, OpNeq, OpContains, OpNotContains, OpIn, OpGt, OpGte, OpLt, OpLte, OpExists}
}

// StepFilter selects events by comparing one of their properties with a value.
type StepFilter struct {
	// Property is one of StepProperties, or property.<key> for properties that clients sent.
	Property string `json:"property" required:"true" doc:"A column such as source or country, or property.<key>."`
	Op       Op     `json:"op" required:"true" enum:"eq,neq,contains,not_contains,in,gt,gte,lt,lte,exists"`
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
		if operand, ok := OperandOf(value); ok && f.Op != OpExists {
			out = append(out, operand)
		}
	}
	return out
}

// Wants reports, for exists, whether the property must be present.
func (f StepFilter) Wants() bool { return f.Value != false }

// OperandOf returns a value of JSON as operand. It returns false for a list, an object and null.
func OperandOf(value any) (Operand, bool) {
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

// ValidateIn returns every problem; prefix precedes the names of fields.
func (f StepFilter) ValidateIn(prefix string) []domain.FieldError {
	var problems []domain.FieldError
	key, custom := f.Key()
	switch {
	case custom && (key == "" || len(key) > event.MaxNameBytes):
		problems = append(problems, domain.FieldError{
			Field: prefix + "property", Code: "invalid_value", Message: fmt.Sprintf("The key of a custom property is 1 to %d bytes.", event.MaxNameBytes),
		})
	case !custom && !slices.Contains(StepProperties(), f.Property):
		problems = append(problems, domain.FieldError{
			Field: prefix + "property", Code: "unknown_value", Message: fmt.Sprintf("Unknown property %q.", f.Property),
			Allowed: append(StepProperties(), customProperty+"<key>"),
		})
	}
	if !slices.Contains(Ops(), f.Op) {
		return append(problems, domain.FieldError{
			Field: prefix + "op", Code: "unknown_value", Message: fmt.Sprintf("Unknown op %q.", f.Op), Allowed: domain.Texts(Ops()),
		})
	}
	if message := f.valueProblem(); message != "" {
		problems = append(problems, domain.FieldError{Field: prefix + "value", Code: "invalid_value", Message: message})
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

// Personal reports whether the filter would confirm masked values.
func (f StepFilter) Personal() bool {
	if f.Op == OpExists {
		return false
	}
	if key, custom := f.Key(); custom && (domain.IsPersonal(key) || f.Op == OpContains || f.Op == OpNotContains) {
		return true
	}
	return slices.ContainsFunc(f.Operands(), func(o Operand) bool { return domain.MaskShapes(o.Text) != o.Text })
}

// MaxFilterValues limits the list of an in filter.
const MaxFilterValues = 100

// MaxFilterValueBytes limits each value of a filter.
const MaxFilterValueBytes = 1024
