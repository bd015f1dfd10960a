package people

import (
	"encoding/json"

	"svc/http/route"
)

// value is the value of a trait or of a field: any JSON.
type value struct{ json.RawMessage }

// TakesNull implements route.TakesNull: null removes a member.
func (value) TakesNull() {}

// Schema describes any value.
func (value) Schema() route.Schema { return route.Schema{} }

// valuesOf returns members for an answer.
func valuesOf(members map[string]json.RawMessage) map[string]value {
	values := make(map[string]value, len(members))
	for name, member := range members {
		values[name] = value{member}
	}
	return values
}

// membersOf is the inverse of valuesOf; nil stays nil.
func membersOf(values map[string]value) map[string]json.RawMessage {
	if values == nil {
		return nil
	}
	members := make(map[string]json.RawMessage, len(values))
	for name, one := range values {
		members[name] = one.RawMessage
	}
	return members
}
