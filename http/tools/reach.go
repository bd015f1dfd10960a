package tools

import (
	"context"
	"encoding/json"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
)

// place defines how the environment that a write reaches is determined.
type place int

const (
	// noEnvironment is for objects without an environment. The effect depends on the users of the object.
	noEnvironment place = iota
	// ofStored is for objects with an environment. A stored object has its own; a new object has the environment of the
	// parameter env.
	ofStored
	// ofParameter is for objects that are looked up within the environment of the parameter env.
	ofParameter
	// ofBody is for objects with a member environment that may be null. Null means all environments. A change reaches
	// the environments before and after it.
	ofBody
)

// reach describes the reach of a writing tool's calls.
type reach struct {
	place place
	// depends is true if something in production may depend on the object. It needs Dependents.
	depends bool
	// outbound is the member that holds addresses to which the service sends requests or messages. A call reaches the
	// outside if it has an address that no stored object of the same list has.
	outbound string
}

// reaches is the table of the writing tools. A write without an entry counts as a write to production, and
// TestEveryWriteStatesWhatItReaches reports it.
func reaches() map[string]reach {
	return map[string]reach{
		"alerts.put":        {place: ofStored},
		"annotations.put":   {place: ofBody},
		"apps.create":       {place: noEnvironment}, // A new application has no traffic.
		"errors.comment":    {place: ofStored},
		"errors.update":     {place: ofStored},
		"errors.updateMany": {place: ofParameter},
		"exports.create":    {place: ofParameter},
		"funnels.create":    {place: noEnvironment}, // Funnels answer questions, and nothing else uses them.
		"funnels.update":    {place: noEnvironment},
		"goals.create":      {place: noEnvironment, depends: true}, // Goals move people to stages.
		"goals.update":      {place: noEnvironment, depends: true},
		"monitors.put":      {place: noEnvironment, depends: true, outbound: "url"},
		"people.note":       {place: ofParameter},
		"people.update":     {place: ofParameter},
		"reports.put":       {place: ofParameter, outbound: "recipients"},
		"segments.put":      {place: noEnvironment, depends: true},
		"silences.put":      {place: ofBody},
	}
}

// Dependents looks up the users of objects that have no environment of their own.
type Dependents interface {
	// ProductionDepends reports whether something in production uses an object of an application. The noun is the word
	// in the object's operations (segment, monitor, goal). The id of a new object is empty.
	ProductionDepends(ctx context.Context, ref domain.AppRef, noun, id string) (bool, error)
}

// varies reports whether a call of a tool may reach further than the effect of the tool.
func (r *reach) varies() bool { return r.place != noEnvironment || r.depends || r.outbound != "" }

// environmentNamed returns the environment that an input names. It returns production if the input names none.
func environmentNamed(input map[string]json.RawMessage, member string) string {
	environment := conversation.Production
	if raw, named := input[member]; named && (json.Unmarshal(raw, &environment) != nil || environment == "") {
		return conversation.Production
	}
	return environment
}

// effectOf returns the effect of a call of a writing tool. shown is the stored state of its target, or nil for a new
// object.
func (r *Registry) effectOf(ctx context.Context, secret domain.Secret, ref domain.AppRef, called *entry, input map[string]json.RawMessage, shown json.RawMessage) (conversation.Effect, error) {
	if called.reach == nil {
		return conversation.EffectDestructive, nil
	}
	if outside, err := r.reachesOutside(ctx, secret, ref, called, input); err != nil || outside {
		return conversation.EffectExternal, err
	}
	production, err := r.reachesProduction(ctx, ref, called, input, shown)
	if production {
		return conversation.EffectDestructive, err
	}
	return conversation.EffectWrite, err
}

// reachesProduction reports whether a write reaches production.
func (r *Registry) reachesProduction(ctx context.Context, ref domain.AppRef, called *entry, input map[string]json.RawMessage, shown json.RawMessage) (bool, error) {
	var target struct {
		ID          string `json:"id"`
		Environment string `json:"environment"`
	}
	if shown != nil && json.Unmarshal(shown, &target) != nil {
		return true, nil //nolint:nilerr // an unreadable object may belong to production
	}
	before := shown != nil && (target.Environment == "" || target.Environment == conversation.Production)
	switch called.reach.place {
	case ofStored:
		return before || shown == nil && environmentNamed(input, memberEnv) == conversation.Production, nil
	case ofParameter:
		return environmentNamed(input, memberEnv) == conversation.Production, nil
	case ofBody:
		_, named := input[memberEnvironment]
		return before || (named || shown == nil) && environmentNamed(input, memberEnvironment) == conversation.Production, nil
	case noEnvironment:
	}
	if !called.reach.depends || r.dependents == nil {
		return called.reach.depends, nil
	}
	return r.dependents.ProductionDepends(ctx, ref, called.noun, target.ID)
}

// memberEnvironment is the member of a body that names the environment of an object. Null means all environments.
const memberEnvironment = "environment"

// reachesOutside reports whether an input has an address that no stored object of the list has.
func (r *Registry) reachesOutside(ctx context.Context, secret domain.Secret, ref domain.AppRef, called *entry, input map[string]json.RawMessage) (bool, error) {
	member := called.reach.outbound
	wanted := textsOf(input[member])
	if _, named := input[member]; member == "" || !named {
		return false, nil
	}
	path, err := fillPath(called.path, ref, input)
	if err != nil {
		return false, err
	}
	var known []string
	err = r.rows(ctx, secret, path, called.listed, func(_ json.RawMessage, row map[string]json.RawMessage) bool {
		known = append(known, textsOf(row[member])...)
		return true
	})
	return slices.ContainsFunc(wanted, func(address string) bool { return !slices.Contains(known, address) }), err
}
