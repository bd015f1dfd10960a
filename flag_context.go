package svc

import (
	"time"
	"unsafe"
)

// MaxContextMembers bounds the members of a context that are looked at.
const MaxContextMembers = 500

// FlagNames gives the names that the flags of an application look at their places in contexts. A place, once given,
// stays.
type FlagNames struct{ index map[string]int }

// contextAliases are other names under which contexts carry a field.
func contextAliases(name string) []string {
	switch name {
	case fieldTag:
		return []string{"tags"}
	case fieldStage:
		return []string{"lifecycleStage"}
	case "first_source":
		return []string{"firstSource"}
	case "last_seen_at":
		return []string{"lastSeenAt"}
	case "first_seen_at":
		return []string{"firstSeenAt"}
	}
	return nil
}

// Grown returns the names with those of further flags, which is itself where there is nothing to add.
func (n *FlagNames) Grown(flags []Flag) *FlagNames {
	next := &FlagNames{index: map[string]int{}}
	if n != nil {
		for name, slot := range n.index {
			next.index[name] = slot
		}
	}
	places := 0
	for _, slot := range next.index {
		places = max(places, slot+1)
	}
	add := func(name string) {
		if _, known := next.index[name]; known {
			return
		}
		next.index[name] = places
		for _, alias := range contextAliases(name) {
			if _, taken := next.index[alias]; !taken {
				next.index[alias] = places
			}
		}
		places++
	}
	for f := range flags {
		for _, field := range flags[f].fields() {
			add(contextName(field))
		}
	}
	if n != nil && len(next.index) == len(n.index) {
		return n
	}
	return next
}

// fields lists the fields of callers that a flag looks at.
func (s *FlagSpec) fields() (fields []string) {
	if field, _ := bucketFieldOf(s.BucketBy); field != "" {
		fields = append(fields, field)
	}
	for r := range s.Rules {
		for _, condition := range s.Rules[r].Conditions {
			fields = append(fields, condition.Field)
		}
	}
	return fields
}

// places returns how many places the names have.
func (n *FlagNames) places() (places int) {
	for _, slot := range n.index {
		places = max(places, slot+1)
	}
	return places
}

// FlagContext describes the subject of an evaluation: the ids, the attributes that the caller sent, the stored fields of
// the person. Its texts may alias the request. It may be used again after Reset.
type FlagContext struct {
	DistinctID  string
	AnonymousID string

	names  *FlagNames
	slots  []FlagValue
	person *FlagPerson
	nowMs  int64
}

// Reset empties the context for an evaluation of a set at an instant.
func (c *FlagContext) Reset(set *FlagSet, now time.Time) {
	clear(c.slots)
	if cap(c.slots) < set.places {
		c.slots = make([]FlagValue, set.places)
	}
	c.slots = c.slots[:set.places]
	c.DistinctID, c.AnonymousID, c.names, c.person, c.nowMs = "", "", set.names, nil, now.UnixMilli()
}

// Set tells one member of the context. A member that no flag looks at is dropped.
func (c *FlagContext) Set(name string, value FlagValue) {
	if slot, known := c.names.index[name]; known {
		c.slots[slot] = value
	}
}

// Know tells what is known of the person; nil where nothing can be said.
func (c *FlagContext) Know(person *FlagPerson) { c.person = person }

// Identify tells the ids of the caller; they stand for the members of their names.
func (c *FlagContext) Identify(distinctID, anonymousID string) {
	c.DistinctID, c.AnonymousID = distinctID, anonymousID
	if distinctID != "" {
		c.Set(fieldDistinctID, TextFlagValue(distinctID))
	}
	if anonymousID != "" {
		c.Set(fieldAnonymousID, TextFlagValue(anonymousID))
	}
}

// ReadObject reads a body that is one JSON object. It returns the name of the member that was refused, and ok false
// where the body is no object.
func ReadObject(body []byte, member func(name string, value FlagValue) bool) (refused string, ok bool) {
	s := flagScanner{data: body}
	bad := false
	ok = s.object(0, func(name string, value FlagValue) bool {
		if !member(name, value) {
			refused, bad = name, true
			return false
		}
		return true
	})
	if bad {
		return refused, false
	}
	s.space()
	return "", ok && s.at == len(s.data)
}

// Members hands on the members of an object value; ok is false where the value is no object. An absent one and null
// have no members.
func (v *FlagValue) Members(member func(name string, value FlagValue)) (ok bool) {
	if v.Null() {
		return true
	}
	if v.kind != valueObject {
		return false
	}
	s := flagScanner{data: unsafe.Slice(unsafe.StringData(v.text), len(v.text))}
	count := 0
	return s.object(0, func(name string, value FlagValue) bool {
		if count++; count <= MaxContextMembers {
			member(name, value)
		}
		return true
	})
}

// Elements hands on the elements of a list value; ok is false where the value is no list.
func (v *FlagValue) Elements(element func(value FlagValue)) (ok bool) {
	if v.kind != valueList {
		return false
	}
	scanList(v.text, func(value FlagValue) bool {
		element(value)
		return true
	})
	return true
}
