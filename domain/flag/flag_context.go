package flag

import (
	"maps"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// MaxContextMembers limits the members of a context that are read.
const MaxContextMembers = 500

// Names assigns places in contexts: to the names of members that the flags of an application read, to the
// conditions, which many flags share, and to the flags themselves. A place never changes, so unchanged flags retain
// their compiled form. When most conditions belong to former definitions, all places are assigned again.
type Names struct {
	index map[string]int
	// others are the places of fields under their other names in contexts. The field's own name takes precedence.
	others map[string]int
	// parents are the objects of contexts with members of interest: user for the name user.plan.
	parents map[string]struct{}
	// slots is the number of places of the names.
	slots int

	conditions []*compiledCondition
	places     map[conditionKey]int32
	// flags are the places of flags by their keys.
	flags map[string]int32
	// lineage is the same while places are unchanged.
	lineage *flagLineage
}

// flagLineage identifies one assignment of places. It has a size, so that two of them have different addresses.
type flagLineage struct{ _ byte }

// conditionKey identifies equal conditions.
type conditionKey struct {
	field string
	op    Op
	kind  valueKind
	value string
}

func (c *Condition) key() conditionKey {
	key := conditionKey{field: c.Field, op: c.Op, kind: valueString, value: plainText(c.Value)}
	switch value := c.Value.(type) {
	case nil:
		key.kind = valueNull
	case bool:
		key.kind = valueBool
	case []any:
		var list strings.Builder
		for _, one := range value {
			text := plainText(one)
			list.WriteString(strconv.Itoa(len(text)))
			list.WriteByte(':')
			list.WriteString(text)
		}
		key.kind, key.value = valueList, list.String()
	}
	return key
}

// contextAliases returns the other names of a field in contexts.
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

// keptConditions is the number of former conditions that always retain their places.
const keptConditions = 256

// Grown returns the names extended for further flags; it returns n itself if nothing is missing.
func (n *Names) Grown(flags []Flag) *Names {
	used := map[conditionKey]*Condition{}
	for f := range flags {
		for r := range flags[f].Rules {
			for c := range flags[f].Rules[r].Conditions {
				condition := &flags[f].Rules[r].Conditions[c]
				used[condition.key()] = condition
			}
		}
	}
	next := &Names{index: map[string]int{}, others: map[string]int{}, parents: map[string]struct{}{}, places: map[conditionKey]int32{}, flags: map[string]int32{}}
	if n != nil && len(n.conditions) <= 2*len(used)+keptConditions {
		next.take(n)
	} else {
		next.lineage = new(flagLineage)
	}
	for f := range flags {
		if _, known := next.flags[flags[f].Key]; !known {
			next.flags[flags[f].Key] = int32(len(next.flags))
		}
		for _, field := range flags[f].fields() {
			next.add(contextName(field))
		}
	}
	for key, condition := range used {
		if _, known := next.places[key]; !known {
			next.places[key] = int32(len(next.conditions))
			next.conditions = append(next.conditions, compileCondition(condition, next))
		}
	}
	if n != nil && next.lineage == n.lineage && len(next.index) == len(n.index) && len(next.conditions) == len(n.conditions) && len(next.flags) == len(n.flags) {
		return n
	}
	return next
}

// take copies the places of former names.
func (n *Names) take(former *Names) {
	n.lineage, n.slots = former.lineage, former.slots
	n.index, n.others, n.parents = maps.Clone(former.index), maps.Clone(former.others), maps.Clone(former.parents)
	n.places, n.flags = maps.Clone(former.places), maps.Clone(former.flags)
	n.conditions = append(n.conditions, former.conditions...)
}

// add assigns a place to a name of the context.
func (n *Names) add(name string) {
	if _, known := n.index[name]; known {
		return
	}
	n.index[name] = n.slots
	for _, alias := range contextAliases(name) {
		n.others[alias] = n.slots
	}
	for at := range len(name) {
		if name[at] == '.' {
			n.parents[name[:at]] = struct{}{}
		}
	}
	n.slots++
}

// Serve reports whether a compiled flag has its places from these names.
func (n *Names) Serve(flag *CompiledFlag) bool { return flag.lineage == n.lineage }

// fields lists the fields of callers that a flag reads.
func (s *Spec) fields() (fields []string) {
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

// Context describes the subject of an evaluation: the ids, the caller's attributes, the stored fields of the
// person. Its texts may alias the request. It may be reused after Reset.
type Context struct {
	DistinctID  string
	AnonymousID string

	names  *Names
	slots  []Value
	person *Person
	nowMs  int64
	// verdicts caches the verdicts of conditions by their places; judged says that there are any.
	verdicts []verdict
	judged   bool
	// text is a scratch buffer for draws.
	text []byte
}

// Reset empties the context for an evaluation of a set at an instant.
func (c *Context) Reset(set *Set, now time.Time) {
	clear(c.slots)
	if cap(c.slots) < set.names.slots {
		c.slots = make([]Value, set.names.slots)
	}
	c.slots = c.slots[:set.names.slots]
	clear(c.verdicts)
	if cap(c.verdicts) < len(set.names.conditions) {
		c.verdicts = make([]verdict, len(set.names.conditions))
	}
	c.verdicts, c.judged = c.verdicts[:len(set.names.conditions)], false
	c.DistinctID, c.AnonymousID, c.names, c.person, c.nowMs = "", "", set.names, nil, now.UnixMilli()
}

// Set adds one member to the context. A member that no flag reads is dropped. The members of an object have names with
// dots, one dot per object, unless the context has a member of exactly that name.
func (c *Context) Set(name string, value Value) {
	if slot, known := c.names.index[name]; known {
		c.slots[slot] = value
		c.forget()
	}
	if slot, known := c.names.others[name]; known && c.slots[slot].kind == valueAbsent {
		c.slots[slot] = value
		c.forget()
	}
	if _, parent := c.names.parents[name]; parent && value.kind == valueObject && !strings.Contains(name, ".") {
		var room [maxFieldKey]byte
		c.setMembers(append(room[:0], name...), &value)
	}
}

// setMembers adds the members of an object; path is its name.
func (c *Context) setMembers(path []byte, object *Value) {
	object.Members(func(name string, value Value) {
		if strings.Contains(name, ".") {
			return // such a name would make the path ambiguous
		}
		full := append(append(path, '.'), name...)
		if slot, known := c.names.index[string(full)]; known && c.slots[slot].kind == valueAbsent {
			c.slots[slot] = value
			c.forget()
		}
		if _, parent := c.names.parents[string(full)]; parent && value.kind == valueObject {
			c.setMembers(full, &value)
		}
	})
}

// Know sets the stored data of the person; nil if it is unknown.
func (c *Context) Know(person *Person) {
	c.person = person
	c.forget()
}

// forget drops the verdicts, because their inputs have changed.
func (c *Context) forget() {
	if c.judged {
		clear(c.verdicts)
		c.judged = false
	}
}

// judge returns the verdict of the condition at a place. It is computed once, however many flags use it.
func (c *Context) judge(place int32) verdict {
	if known := c.verdicts[place]; known != unjudged {
		return known
	}
	c.judged = true
	c.verdicts[place] = c.names.conditions[place].judge(c)
	return c.verdicts[place]
}

// Identify sets the ids of the caller; they replace the members of their names.
func (c *Context) Identify(distinctID, anonymousID string) {
	c.DistinctID, c.AnonymousID = distinctID, anonymousID
	if distinctID != "" {
		c.Set(fieldDistinctID, TextFlagValue(distinctID))
	}
	if anonymousID != "" {
		c.Set(fieldAnonymousID, TextFlagValue(anonymousID))
	}
}

// ReadObject reads a body that is one JSON object. It returns the name of the refused member, and ok is false if the
// body is not an object.
func ReadObject(body []byte, member func(name string, value Value) bool) (refused string, ok bool) {
	s := flagScanner{data: body}
	bad := false
	ok = s.object(0, func(name string, value Value) bool {
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

// Members calls member for the members of an object value; ok is false if the value is not an object. An absent value
// and null have no members.
func (v *Value) Members(member func(name string, value Value)) (ok bool) {
	if v.Null() {
		return true
	}
	if v.kind != valueObject {
		return false
	}
	s := flagScanner{data: unsafe.Slice(unsafe.StringData(v.text), len(v.text))}
	count := 0
	return s.object(0, func(name string, value Value) bool {
		if count++; count <= MaxContextMembers {
			member(name, value)
		}
		return true
	})
}

// member returns the member of an object by its path, in which dots separate the names; absent if it is missing.
func (v *Value) member(path string) (found Value) {
	if v.kind != valueObject {
		return Value{}
	}
	first, rest, deeper := strings.Cut(path, ".")
	v.Members(func(name string, value Value) {
		if name == first {
			found = value
		}
	})
	if deeper {
		return found.member(rest)
	}
	return found
}

// Elements calls element for the elements of a list value; ok is false if the value is not a list.
func (v *Value) Elements(element func(value Value)) (ok bool) {
	if v.kind != valueList {
		return false
	}
	scanList(v.text, func(value Value) bool {
		element(value)
		return true
	})
	return true
}
