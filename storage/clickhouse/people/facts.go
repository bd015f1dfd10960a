package people

import (
	"fmt"
	"strings"

	"svc/storage/clickhouse"
)

// fact is a value that a condition needs of persons. Each visitor has a value, and the value of a person is the fold of
// the values of their visitors.
type fact struct {
	source string
	// value is the aggregate over a visitor's rows in the source. For split sources, shared is the same aggregate over
	// events.
	value, shared string
	// zero is the value of a visitor without a row. It changes no fold.
	zero string
	// kept is the person's value in person_folds. It is empty if the fact is not materialized.
	kept string
}

// Sources of facts. Rows of split sources come from events, so the rows of shared visitors are divided among persons.
const (
	sourceSeen       = "profiles"
	sourceArrivals   = "arrivals"
	sourceEntries    = "entries"
	sourceIDs        = "ids"
	sourceWords      = "words"
	sourceTraits     = "traits"
	sourceGoals      = "activations"
	sourceStates     = "states"
	sourceNames      = "names"
	sourceDone       = "done"
	sourceProperties = "events"
	sourceBilling    = "billing"
)

func sources() []string {
	return []string{sourceSeen, sourceArrivals, sourceEntries, sourceIDs, sourceWords, sourceTraits, sourceGoals, sourceStates, sourceNames, sourceDone, sourceProperties, sourceBilling}
}

// source returns the query and the table of a source, and whether its rows are split.
func source(name string) (query, table string, split bool) {
	switch name {
	case sourceEntries:
		return "facts.Entries", name, true
	case sourceSeen, sourceArrivals, sourceTraits:
		return "facts.Own", name, true
	case sourceNames:
		return "facts.Names", name, true
	case sourceDone: // of all names, for materialized profiles
		return "facts.Done", "", true
	case sourceProperties:
		return "facts.Properties", name, true
	case sourceIDs:
		return "facts.Own", sourceArrivals, false
	case sourceWords: // rows of shared visitors come with the read of sourceSeen
		return "facts.Own", sourceArrivals, true
	case sourceStates:
		return "facts.States", "", false
	case sourceBilling:
		return "facts.Billing", name, false
	}
	return "facts.Own", name, false
}

// began returns the fold of when a person was first seen.
func (q *rankQuery) began() string {
	return q.over("min", q.add(fact{sourceSeen, "toUnixTimestamp64Milli(min(first_seen))", "toUnixTimestamp64Milli(min(events.ts))", "toInt64(9223372036854775807)", "began"}))
}

// lastSeen returns the fact of when a visitor was last seen.
func (q *rankQuery) lastSeen() string {
	return q.add(fact{sourceSeen, "toUnixTimestamp64Milli(max(last_seen))", "toUnixTimestamp64Milli(max(events.ts))", "toInt64(0)", "last"})
}

// seen returns the fold of how many events a person has.
func (q *rankQuery) seen() string {
	return q.over("sum", q.add(fact{sourceSeen, "sum(events)", "count()", "toUInt64(0)", "seen"}))
}

// latest returns the fold of a text that the latest identify sets, after the time of that event: email, name or
// company.
func (q *rankQuery) latest(column string) string {
	return q.over("max", q.add(fact{sourceTraits, "max(traits." + column + ")", "max($(told." + strings.ToUpper(column[:1]) + column[1:] + "))", "''", "told_" + column}))
}

// told returns a text that the latest identify sets: email, name or company.
func (q *rankQuery) told(column string) string {
	return "substring(" + q.latest(column) + ", 15)"
}

// flag returns whether any visitor of a person has a flag, such as identified.
func (q *rankQuery) flag(column string) string {
	return q.over("max", q.add(fact{sourceTraits, "max(traits." + column + ")", "max($(told." + strings.ToUpper(column[:1]) + column[1:] + "))", "toUInt8(0)", column}))
}

// reached returns whether a person reached a goal.
func (q *rankQuery) reached() string {
	return q.over("max", q.add(fact{sourceGoals, "toUInt8(1)", "", "toUInt8(0)", "activated"}))
}

// stage returns the stage of a person: the decision of a member, or else the result of the rules.
func (q *rankQuery) stage() string {
	stage := q.add(fact{sourceStates, "any(JSONExtractString(payload, 'stage'))", "", "''", ""})
	at := q.add(fact{sourceStates, "any(JSONExtractInt(payload, 'stageAt'))", "", "toInt64(-1)", ""})
	manual := stage
	if !q.whole {
		manual = fmt.Sprintf("argMax(%s, (%s, %s))", stage, at, stage)
	}
	paid := q.over("max", q.add(fact{sourceBilling, "max(paid)", "", "toUInt8(0)", ""}))
	return fmt.Sprintf("if(%s != '', %s, multiIf(%s >= 3, 'paying', %s = 1, 'churned', %s = 1, 'activated', %s + %s > 0, 'signup', %s = 1, 'lead', 'visitor'))",
		manual, manual, q.subscribed(), paid, q.reached(), q.signedUp(), q.flag("identified"), q.flag("mailed"))
}

// signedUp returns whether a person signed up. A sign-up on a shared visitor counts for the person of that event.
func (q *rankQuery) signedUp() string {
	return q.over("max", q.add(fact{sourceTraits, "max(traits.signed_up)", "toUInt8(max(name = 'signup' AND NOT is_bot))", "toUInt8(0)", "signed_up"}))
}

// subscribed returns the highest state of the subscriptions of a person, or 0 without a subscription.
func (q *rankQuery) subscribed() string {
	return q.over("max", q.add(fact{sourceBilling, "max(state)", "", "toUInt8(0)", ""}))
}

// tags returns the tags of a person.
func (q *rankQuery) tags() string {
	marks := q.fold(q.over("groupArrayArray", q.add(fact{sourceStates, "any(" + tagMarks + ")", "", "CAST([], 'Array(Tuple(String, Int64, Bool))')", ""})))
	return "arrayMap(mark -> mark.1, arrayFilter(mark -> mark.3 AND NOT arrayExists(other -> other.1 = mark.1 AND (other.2, other.3) > (mark.2, mark.3), " + marks + "), " + marks + "))"
}

// tagMarks are the tag decisions of members: the tag, the time, and whether it is set.
const tagMarks = "CAST(arrayMap(pair -> (pair.1, JSONExtractInt(pair.2, 'at'), JSONExtractBool(pair.2, 'on')), JSONExtractKeysAndValuesRaw(payload, 'tags')), 'Array(Tuple(String, Int64, Bool))')"

// search adds the condition of a search.
func (q *rankQuery) search(text string, masked bool) {
	word := q.bind(text)
	has := func(text string) string { return "positionCaseInsensitiveUTF8(" + text + ", " + word + ") > 0" }
	if q.whole && !masked {
		q.keep(has("words"))
		return
	}
	sees := func(raw string) string {
		if masked && !strings.Contains(text, " ") { // masking puts spaces in place of addresses, so a search without a space cannot match text that masking created
			return "(" + has(raw) + " AND " + has(q.visible(raw, true)) + ")"
		}
		return has(q.visible(raw, masked))
	}
	matches := []string{
		q.over("max", q.add(fact{sourceWords, sees("any(arrivals.id)"), "", "false", sees("ids")})),
		// Every user of a shared visitor has its id.
		q.over("max", q.add(fact{sourceSeen, "false", sees("any(" + sharedID + ")"), "false", "false"})),
		sees(q.told("company")),
	}
	if !masked {
		for _, column := range []string{"email", "name"} {
			matches = append(matches, has(q.told(column)))
		}
	}
	q.keep(q.fold("(" + strings.Join(matches, " OR ") + ")"))
}

// sharedID is the id of the visitor of an event.
const sharedID = "if(distinct_id != '', distinct_id, anonymous_id)"

// visible returns a text, without e-mail addresses if masked is set.
func (q *rankQuery) visible(text string, masked bool) string {
	if !masked {
		return text
	}
	return "replaceRegexpAll(" + text + ", " + q.bind(clickhouse.ShapePattern) + ", ' ')"
}
