package clickhouse

import (
	"strings"

	"svc"
)

// Clause is a condition that is composed of fixed parts. Its values are bound under names of their
// own. The zero value is true.
type Clause struct {
	parts []string
	args  Args
}

// Text returns the condition.
func (c *Clause) Text() string {
	if len(c.parts) == 0 {
		return "true"
	}
	return strings.Join(c.parts, " AND ")
}

// Args returns the values that the condition refers to.
func (c *Clause) Args() Args { return c.args }

// Add appends a part that refers to a value by its name.
func (c *Clause) Add(part, name string, value any) {
	if c.args == nil {
		c.args = Args{}
	}
	c.parts = append(c.parts, part)
	c.args[name] = value
}

// AddAll appends a part that refers to values by their names.
func (c *Clause) AddAll(part string, values Args) {
	c.parts, c.args = append(c.parts, part), c.args.With(values)
}

// Equals appends the condition that a column has a value.
func (c *Clause) Equals(column, value string) {
	c.Add(column+" = {f_"+column+":String}", "f_"+column, value)
}

// Bind puts a condition in the place $(where) of a query.
func Bind(query string, c Clause) string {
	return strings.ReplaceAll(query, "$(where)", c.Text())
}

// EmailPattern matches at least the texts that svc.MaskEmails hides: a local part, an @ plain or
// percent-encoded any number of times, and a domain of two labels.
const EmailPattern = `[\p{L}\p{N}.!#$%*+^_{|}~'-]*(@|%(25)*40)[\p{L}\p{N}-][\p{L}\p{N}.-]*\.[\p{L}\p{N}.-]*`

// PersonalPattern matches the names of members whose values svc.IsPersonal has hidden, in any case and
// spelling.
func PersonalPattern() string {
	keys := svc.PersonalKeys()
	for i, key := range keys {
		keys[i] = strings.Join(strings.Split(key, ""), "[_ -]*")
	}
	return `(?i)\$?[_ -]*(` + strings.Join(keys, "|") + ")[_ -]*"
}
