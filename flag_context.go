package svc

import (
	"maps"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// MaxContextMembers bounds the members of a context that are looked at.
const MaxContextMembers = 500

// FlagNames gives what the flags of an application look at its places in contexts: the names of members, the conditions, which
// many flags share, and the flags themselves. A place, once given, stays, so flags that stayed keep their compiled form; when most conditions are of
// former definitions, all places are given anew.
type FlagNames struct {
	index map[string]int
	// others are the places of fields by other names under which contexts carry them. The field's own name wins.
	others map[string]int
	// parents are the objects of contexts in which members are looked for: user for the name user.plan.
	parents map[string]struct{}
	// slots is how many places the names have.
	slots int

	conditions []*compiledCondition
	places     map[conditionKey]int32
	// flags are the places of flags by their keys.
	flags map[string]int32
	// lineage is the same as long as places stay.
	lineage *flagLineage
}

// flagLineage is one giving of places. It has a size, so that two of them differ.
type flagLineage struct{ _ byte }

// conditionKey is what makes two conditions the same.
type conditionKey struct {
	field string
	op    FlagOp
	kind  valueKind
	value string
}

func (c *FlagCondition) key() conditionKey {
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

// keptConditions is how many conditions of former definitions keep their places in any case.
const keptConditions = 256

// Grown returns the names with those of further flags, which is itself where there is nothing to add.
func (n *FlagNames) Grown(flags []Flag) *FlagNames {
	used := map[conditionKey]*FlagCondition{}
	for f := range flags {
		for r := range flags[f].Rules {
			for c := range flags[f].Rules[r].Conditions {
				condition := &flags[f].Rules[r].Conditions[c]
				used[condition.key()] = condition
			}
		}
	}
	next := &FlagNames{index: map[string]int{}, others: map[string]int{}, parents: map[string]struct{}{}, places: map[conditionKey]int32{}, flags: map[string]int32{}}
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

// take takes the places of former names over.
func (n *FlagNames) take(former *FlagNames) {
	n.lineage, n.slots = former.lineage, former.slots
	n.index, n.others, n.parents = maps.Clone(former.index), maps.Clone(former.others), maps.Clone(former.parents)
	n.places, n.flags = maps.Clone(former.places), maps.Clone(former.flags)
	n.conditions = append(n.conditions, former.conditions...)
}

// add gives a name of the context a place.
func (n *FlagNames) add(name string) {
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
func (n *FlagNames) Serve(flag *CompiledFlag) bool { return flag.lineage == n.lineage }

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

// FlagContext describes the subject of an evaluation: the ids, the attributes that the caller sent, the stored fields of
// the person. Its texts may alias the request. It may be used again after Reset.
type FlagContext struct {
	DistinctID  string
	AnonymousID string

	names  *FlagNames
	slots  []FlagValue
	person *FlagPerson
	nowMs  int64
	// verdicts are those of the conditions that were judged already, by their places; judged says that there are any.
	verdicts []verdict
	judged   bool
	// text is the working memory of draws.
	text []byte
}

// Reset empties the context for an evaluation of a set at an instant.
func (c *FlagContext) Reset(set *FlagSet, now time.Time) {
	clear(c.slots)
	if cap(c.slots) < set.names.slots {
		c.slots = make([]FlagValue, set.names.slots)
	}
	c.slots = c.slots[:set.names.slots]
	clear(c.verdicts)
	if cap(c.verdicts) < len(set.names.conditions) {
		c.verdicts = make([]verdict, len(set.names.conditions))
	}
	c.verdicts, c.judged = c.verdicts[:len(set.names.conditions)], false
	c.DistinctID, c.AnonymousID, c.names, c.person, c.nowMs = "", "", set.names, nil, now.UnixMilli()
}

// Set tells one member of the context. A member that no flag looks at is dropped. The members of an object stand for names with dots, one
// dot for each object, unless the context has a member of exactly that name.
func (c *FlagContext) Set(name string, value FlagValue) {
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

// setMembers tells the members of an object; path is its name.
func (c *FlagContext) setMembers(path []byte, object *FlagValue) {
	object.Members(func(name string, value FlagValue) {
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

// Know tells what is known of the person; nil where nothing can be said.
func (c *FlagContext) Know(person *FlagPerson) {
	c.person = person
	c.forget()
}

// forget drops the verdicts, since what they were made of has changed.
func (c *FlagContext) forget() {
	if c.judged {
		clear(c.verdicts)
		c.judged = false
	}
}

// judge returns the verdict of the condition of a place. It is made once, however many flags ask for it.
func (c *FlagContext) judge(place int32) verdict {
	if known := c.verdicts[place]; known != unjudged {
		return known
	}
	c.judged = true
	c.verdicts[place] = c.names.conditions[place].judge(c)
	return c.verdicts[place]
}

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

// member returns the member of an object by its path, in which dots separate the names; absent if there is none.
func (v *FlagValue) member(path string) (found FlagValue) {
	if v.kind != valueObject {
		return FlagValue{}
	}
	first, rest, deeper := strings.Cut(path, ".")
	v.Members(func(name string, value FlagValue) {
		if name == first {
			found = value
		}
	})
	if deeper {
		return found.member(rest)
	}
	return found
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
