package reference

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Segment is a set of people: the people that meet a definition, or a list of people by their visitors.
type Segment struct {
	ID, Name   string
	Definition map[string]any
	// Members are the members of a static segment, by environment and visitor.
	Members []Place
	// Timeless says that time alone changes no membership soon.
	Timeless bool
}

// propertyDays is the number of past days that property conditions read, slotTime the unit at which counts of events
// begin.
const (
	propertyDays = 90
	slotTime     = 15 * time.Minute
)

// Has reports whether a person of an environment is in the segment at an instant.
func (s *Segment) Has(d *Data, environment string, p *Person, now time.Time) bool {
	if s.Definition == nil {
		is := d.identities(environment)
		return slices.ContainsFunc(s.Members, func(member Place) bool {
			return member.Environment == environment && !d.Gone[member] && is.now(member.Visitor) == p.Root
		})
	}
	return p.meets(s.Definition, now)
}

// Chosen returns the people of an environment for which chosen returns true.
func (d *Data) Chosen(environment string, chosen func(*Person) bool) (people []*Person) {
	for _, p := range d.People(environment) {
		if chosen(p) {
			people = append(people, p)
		}
	}
	return people
}

// inside returns a function that reports whether a row belongs to people of a query's segment.
func (d *Data) inside(q *Query) func(*Row) bool {
	if q.Segment == nil {
		return func(*Row) bool { return true }
	}
	is, roots := d.identities(q.Environment), people{}
	for _, p := range d.People(q.Environment) {
		roots[p.Root] = q.Segment.Has(d, q.Environment, p, q.Now)
	}
	return func(row *Row) bool { return row.Environment == q.Environment && roots[is.of(row)] }
}

// meets evaluates a group or a condition.
func (p *Person) meets(node map[string]any, now time.Time) bool {
	if _, isCondition := node["field"]; isCondition {
		return p.condition(node, now)
	}
	all, _ := node["all"].([]any)
	either, _ := node["any"].([]any)
	met := func(one any) bool { return p.meets(one.(map[string]any), now) }
	return !slices.ContainsFunc(all, func(one any) bool { return !met(one) }) && (len(either) == 0 || slices.ContainsFunc(either, met))
}

func (p *Person) condition(c map[string]any, now time.Time) bool {
	field, _ := c["field"].(string)
	last := p.facts.last
	if last == nil {
		last = &Row{}
	}
	if key, isTrait := strings.CutPrefix(field, "trait."); isTrait {
		return compare(plain(p.facts.traits[key]), c, now)
	}
	if key, isProperty := strings.CutPrefix(field, "property."); isProperty {
		return p.property(key, c, now)
	}
	stage, _ := p.stage()
	switch field {
	case "stage":
		return compare(stage, c, now)
	case "tag":
		return p.tag(c)
	case "first_source":
		if p.facts.first == nil {
			return compare("", c, now)
		}
		return compare(p.facts.first.came().source, c, now)
	case "country":
		return compare(last.Country, c, now)
	case "device":
		return compare(last.Device, c, now)
	case "first_seen_at":
		return compareTime(p.rows[0].Ts, c, now)
	case "last_seen_at":
		return compareTime(p.rows[len(p.rows)-1].Ts, c, now)
	case "sessions":
		return compare(strconv.Itoa(p.facts.sessions), c, now)
	case "events":
		return compare(strconv.Itoa(len(p.rows)), c, now)
	case "did_event":
		return p.did(c, now)
	case "not_did_event":
		return !p.did(c, now)
	}
	panic("reference: unknown field " + field)
}

// property looks for a row of the last days with such a value; a negative comparison requires that there is no such
// row.
func (p *Person) property(key string, c map[string]any, now time.Time) bool {
	positive, wanted := map[string]any{"op": c["op"], "value": c["value"]}, true
	switch {
	case c["op"] == "neq":
		positive["op"], wanted = "eq", false
	case c["op"] == "exists" && c["value"] == false:
		positive["value"], wanted = true, false
	}
	begin := now.AddDate(0, 0, -propertyDays)
	return wanted == slices.ContainsFunc(p.rows, func(row *Row) bool {
		return !row.Ts.Before(begin) && compare(plain(row.Properties[key]), positive, now)
	})
}

func (p *Person) tag(c map[string]any) bool {
	tags := p.Tags()
	switch c["op"] {
	case "neq":
		return !slices.Contains(tags, c["value"].(string))
	case "exists":
		return (len(tags) > 0) == (c["value"] != false)
	}
	return slices.ContainsFunc(tags, func(tag string) bool { return compare(tag, c, time.Time{}) })
}

// did reports whether the person caused an event often enough.
func (p *Person) did(c map[string]any, now time.Time) bool {
	event := c["event"].(map[string]any)
	begin := time.Time{}
	if c["op"] == "within_days" || c["op"] == "not_within_days" {
		begin = since(now, c["value"].(float64)).UTC().Truncate(slotTime)
	}
	times := 0
	for _, row := range p.rows {
		if row.Name == event["name"] && !row.Ts.Before(begin) {
			times++
		}
	}
	often, ok := event["count"].(float64)
	if !ok {
		often = 1
	}
	switch c["op"] {
	case "within_days":
		return float64(times) >= often
	case "not_within_days":
		return float64(times) < often
	case "exists":
		return (float64(times) >= often) == (c["value"] != false)
	}
	return ordered(float64(times), c["op"].(string), c["value"].(float64))
}

// compare evaluates a condition on a text; the empty text is absent.
func compare(value string, c map[string]any, now time.Time) bool {
	number, err := strconv.ParseFloat(value, 64)
	isNumber := err == nil
	equal := func(wanted any) bool {
		if wanted, ok := wanted.(float64); ok {
			return isNumber && number == wanted
		}
		return value == plain(wanted)
	}
	switch op, _ := c["op"].(string); op {
	case "eq":
		return equal(c["value"])
	case "neq":
		return !equal(c["value"])
	case "in":
		return slices.ContainsFunc(c["value"].([]any), equal)
	case "contains":
		return strings.Contains(value, c["value"].(string))
	case "exists":
		return (value != "") == (c["value"] != false)
	case "within_days", "not_within_days":
		at, err := time.Parse(time.RFC3339, value)
		within := err == nil && !at.Before(since(now, c["value"].(float64)).Truncate(time.Millisecond)) && !at.After(now)
		return within == (op == "within_days")
	default:
		return isNumber && ordered(number, op, c["value"].(float64))
	}
}

// compareTime evaluates a condition on an instant.
func compareTime(at time.Time, c map[string]any, now time.Time) bool {
	switch op, _ := c["op"].(string); op {
	case "exists":
		return c["value"] != false
	case "within_days":
		return !at.Before(since(now, c["value"].(float64)).Truncate(time.Millisecond))
	case "not_within_days":
		return at.Before(since(now, c["value"].(float64)).Truncate(time.Millisecond))
	default:
		other, err := time.Parse(time.RFC3339, c["value"].(string))
		return err == nil && ordered(float64(at.UnixMilli()), op, float64(other.UnixMilli()))
	}
}

func ordered(number float64, op string, other float64) bool {
	return map[string]bool{
		"eq": number == other, "neq": number != other, "gt": number > other, "gte": number >= other, "lt": number < other, "lte": number <= other,
	}[op]
}

// plain returns a value of a trait or a property in the form that conditions compare.
func plain(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// since returns the beginning of a number of days before an instant.
func since(now time.Time, days float64) time.Time {
	return now.Add(-time.Duration(days * 24 * float64(time.Hour)))
}
