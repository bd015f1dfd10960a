package flag

import (
	"strings"

	"svc/domain/person"
)

// Person holds a node's data of a person, by the fields of conditions. It never changes.
type Person struct {
	Values map[string]Value
	// NoSegments says that the segments of the person are unknown.
	NoSegments bool
}

// lacks reports whether a field of the person is unknown.
func (p *Person) lacks(field string) bool {
	return p == nil || p.NoSegments && field == fieldSegment
}

// value returns the known value of a field. A trait key with dots may name a member of a trait that is an object,
// unless a trait has exactly that key.
func (p *Person) value(field string) (value Value, known bool) {
	if value, known = p.Values[field]; known {
		return value, known
	}
	key, trait := strings.CutPrefix(field, traitPrefix)
	if first, rest, dotted := strings.Cut(key, "."); trait && dotted {
		value = p.Values[traitPrefix+first]
		value = value.member(rest)
	}
	return value, value.kind != valueAbsent
}

// stamp is a hash of the known values of some fields: FNV-1a over each of them in turn. It differs if they differ, and
// is the same on all nodes with the same data. It is zero if nothing is known.
func (p *Person) stamp(fields []string) (stamp uint64) {
	const offset, prime = 0xCBF29CE484222325, 0x100000001B3
	if p == nil {
		return 0
	}
	stamp = offset
	mix := func(b byte) { stamp = (stamp ^ uint64(b)) * prime }
	for _, field := range fields {
		for n := range len(field) {
			mix(field[n])
		}
		mix(0)
		value, known := p.value(field)
		if !known && p.lacks(field) {
			mix(0xFF) // not a kind of value
			continue
		}
		mix(byte(value.kind))
		for n := range len(value.text) {
			mix(value.text[n])
		}
		mix(0)
	}
	return stamp
}

// PersonOf returns the data of a person that conditions may read.
func PersonOf(p *person.Person) *Person {
	stage, _ := p.Stage()
	known := &Person{Values: map[string]Value{
		fieldStage: TextFlagValue(string(stage)), fieldTag: ListFlagValue(p.State.TagList()),
		"sessions": NumberFlagValue(float64(p.Sessions)), "events": NumberFlagValue(float64(p.Events)),
		"first_seen_at": NumberFlagValue(float64(p.FirstSeenAt.UnixMilli())), "last_seen_at": NumberFlagValue(float64(p.LastSeenAt.UnixMilli())),
	}}
	for field, text := range map[string]string{
		fieldCompany: p.Company, "first_source": p.First.Source, "country": p.Place.Country, "region": p.Place.Region, "city": p.Place.City,
		"device": p.Place.Device, "browser": p.Place.Browser, "os": p.Place.OS, traitPrefix + "email": p.Email, traitPrefix + "name": p.Name,
	} {
		if text != "" {
			known.Values[field] = TextFlagValue(text)
		}
	}
	for key, raw := range p.Traits {
		known.Values[traitPrefix+key] = JSONFlagValue(raw)
	}
	return known
}
