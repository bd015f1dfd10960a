package people

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"svc"
	"svc/storage/clickhouse"
)

// fact is something that a condition asks about persons. Each of its visitors has a value, and a
// person's value is the fold of these.
type fact struct {
	source string
	// value is the aggregate of a visitor's rows in the source; shared is the same of events, for
	// sources that are split.
	value, shared string
	// zero is the value of visitors without a row, which changes no fold.
	zero string
}

// Sources of facts. Rows of split ones belong to events, so those of shared visitors are divided
// among persons.
const (
	sourceSeen       = "profiles"
	sourceArrivals   = "arrivals"
	sourceIDs        = "ids"
	sourceWords      = "words"
	sourceTraits     = "traits"
	sourceGoals      = "activations"
	sourceStates     = "states"
	sourceNames      = "names"
	sourceProperties = "events"
	sourceBilling    = "billing"
)

func sources() []string {
	return []string{sourceSeen, sourceArrivals, sourceIDs, sourceWords, sourceTraits, sourceGoals, sourceStates, sourceNames, sourceProperties, sourceBilling}
}

// source returns the query and the table of a source, and whether its rows are split.
func source(name string) (query, table string, split bool) {
	switch name {
	case sourceArrivals, sourceSeen:
		return "facts.Own", name, true
	case sourceNames:
		return "facts.Names", name, true
	case sourceProperties:
		return "facts.Properties", name, true
	case sourceIDs:
		return "facts.Own", sourceArrivals, false
	case sourceWords: // those of shared visitors come with what sourceSeen reads of these
		return "facts.Own", sourceArrivals, true
	case sourceStates:
		return "facts.States", "", false
	case sourceBilling:
		return "facts.Billing", name, false
	}
	return "facts.Own", name, false
}

// rankQuery puts together a query about the persons of an environment.
type rankQuery struct {
	facts  []fact
	folds  []string
	having []string
	args   clickhouse.Args
	// prefix begins the names of the values, so that the query may be a part of another one.
	prefix string
	// names are the events that conditions ask for, and since the beginning of the earliest window, in seconds since
	// the epoch.
	names []string
	since int64
	// of asks for the persons of these visitors alone, which are {only}.
	of members
	// sharers are the visitors that several persons used; nil leaves them to the engine.
	sharers members
}

// add adds a fact and returns how a fold refers to it.
func (q *rankQuery) add(f fact) string {
	if i := slices.Index(q.facts, f); i >= 0 {
		return fmt.Sprintf("fact%d", i)
	}
	q.facts = append(q.facts, f)
	return fmt.Sprintf("fact%d", len(q.facts)-1)
}

// bind adds a text and returns the parameter that stands for it.
func (q *rankQuery) bind(value string) string { return q.value("String", value) }

// value adds a value, unless it is there, and returns the parameter that stands for it. Conditions that ask for the same
// read the same then.
func (q *rankQuery) value(kind string, value any) string {
	for name, other := range q.args {
		if reflect.DeepEqual(value, other) {
			return "{" + name + ":" + kind + "}"
		}
	}
	name := fmt.Sprintf("%sv%d", q.prefix, len(q.args))
	q.args[name] = value
	return "{" + name + ":" + kind + "}"
}

// fold adds a fold of facts and returns the name that conditions call it by.
func (q *rankQuery) fold(aggregate string) string {
	at := slices.Index(q.folds, aggregate)
	if at < 0 {
		at = len(q.folds)
		q.folds = append(q.folds, aggregate)
	}
	return fmt.Sprintf("fold%d", at)
}

// keep adds a condition on persons.
func (q *rankQuery) keep(condition string) { q.having = append(q.having, condition) }

// began is when a person was first seen.
func (q *rankQuery) began() string {
	return "min(" + q.add(fact{sourceSeen, "toUnixTimestamp64Milli(min(first_seen))", "toUnixTimestamp64Milli(min(events.ts))", "toInt64(9223372036854775807)"}) + ")"
}

// lastSeen is the fact of when a visitor was last seen.
func (q *rankQuery) lastSeen() string {
	return q.add(fact{sourceSeen, "toUnixTimestamp64Milli(max(last_seen))", "toUnixTimestamp64Milli(max(events.ts))", "toInt64(0)"})
}

// seen is how many events a person has.
func (q *rankQuery) seen() string {
	return "sum(" + q.add(fact{sourceSeen, "sum(events)", "count()", "toUInt64(0)"}) + ")"
}

// told is a text that the latest identify decides: email, name or company.
func (q *rankQuery) told(column string) string {
	return "substring(max(" + q.add(fact{sourceTraits, "max(traits." + column + ")", "", "''"}) + "), 15)"
}

// flag is whether any visitor of a person did something.
func (q *rankQuery) flag(column string) string {
	return "max(" + q.add(fact{sourceTraits, "max(traits." + column + ")", "", "toUInt8(0)"}) + ")"
}

// stage is the stage of a person: what a member decided, else what the rules give.
func (q *rankQuery) stage() string {
	stage := q.add(fact{sourceStates, "any(JSONExtractString(payload, 'stage'))", "", "''"})
	at := q.add(fact{sourceStates, "any(JSONExtractInt(payload, 'stageAt'))", "", "toInt64(-1)"})
	reached := "max(" + q.add(fact{sourceGoals, "toUInt8(1)", "", "toUInt8(0)"}) + ")"
	manual := fmt.Sprintf("argMax(%s, (%s, %s))", stage, at, stage)
	paid := "max(" + q.add(fact{sourceBilling, "max(paid)", "", "toUInt8(0)"}) + ")"
	return fmt.Sprintf("if(%s != '', %s, multiIf(%s >= 3, 'paying', %s = 1, 'churned', %s = 1, 'activated', %s + %s > 0, 'signup', %s = 1, 'lead', 'visitor'))",
		manual, manual, q.subscribed(), paid, reached, q.signedUp(), q.flag("identified"), q.flag("mailed"))
}

// signedUp is whether a person signed up; on a shared visitor that is whose event it was.
func (q *rankQuery) signedUp() string {
	told := q.add(fact{sourceTraits, "max(traits.signed_up)", "", "toUInt8(0)"})
	did := q.add(fact{sourceSeen, "toUInt8(0)", "toUInt8(max(name = 'signup' AND NOT is_bot))", "toUInt8(0)"})
	return fmt.Sprintf("max(if(alone, %s, %s))", told, did)
}

// subscribed is the highest state of the subscriptions of a person, 0 where there is none.
func (q *rankQuery) subscribed() string {
	return "max(" + q.add(fact{sourceBilling, "max(state)", "", "toUInt8(0)"}) + ")"
}

// tags are the tags that a person has.
func (q *rankQuery) tags() string {
	marks := q.fold("groupArrayArray(" + q.add(fact{sourceStates, "any(" + tagMarks + ")", "", "CAST([], 'Array(Tuple(String, Int64, Bool))')"}) + ")")
	return "arrayMap(mark -> mark.1, arrayFilter(mark -> mark.3 AND NOT arrayExists(other -> other.1 = mark.1 AND (other.2, other.3) > (mark.2, mark.3), " + marks + "), " + marks + "))"
}

// tagMarks are the marks of what members decided: tag, when, and whether it is on.
const tagMarks = "CAST(arrayMap(pair -> (pair.1, JSONExtractInt(pair.2, 'at'), JSONExtractBool(pair.2, 'on')), JSONExtractKeysAndValuesRaw(payload, 'tags')), 'Array(Tuple(String, Int64, Bool))')"

// search adds the condition of a search.
func (q *rankQuery) search(text string, masked bool) {
	word := q.bind(text)
	has := func(text string) string {
		return "positionCaseInsensitiveUTF8(" + q.visible(text, masked) + ", " + word + ") > 0"
	}
	company := q.visible(q.told("company"), masked)
	matches := []string{
		"max(" + q.add(fact{sourceWords, has("any(arrivals.id)"), "", "false"}) + ")",
		// Everybody who used a shared visitor has its id.
		"max(" + q.add(fact{sourceSeen, "false", has("any(if(distinct_id != '', distinct_id, anonymous_id))"), "false"}) + ")",
		"positionCaseInsensitiveUTF8(" + company + ", " + word + ") > 0",
	}
	if !masked {
		for _, column := range []string{"email", "name"} {
			matches = append(matches, "positionCaseInsensitiveUTF8("+q.told(column)+", "+word+") > 0")
		}
	}
	q.keep(q.fold("(" + strings.Join(matches, " OR ") + ")"))
}

// visible is a text without e-mail addresses where it is masked.
func (q *rankQuery) visible(text string, masked bool) string {
	if !masked {
		return text
	}
	return "replaceRegexpAll(" + text + ", " + q.bind(clickhouse.EmailPattern) + ", ' ')"
}

// rows returns the query of the facts: one row per visitor and source, and where visitors are shared,
// one per shared visitor and person.
func (q *rankQuery) rows(parts clickhouse.Queries, shared bool) string {
	only, owned := "true", "owner >= {owner_from:String} AND owner < {owner_to:String}"
	if q.of != nil {
		only, owned = "visitor IN {only:Array(UInt64)}", "owner IN ("+parts["facts.Owned"]+")"
	}
	var all []string
	for _, name := range sources() {
		if !slices.ContainsFunc(q.facts, func(f fact) bool { return f.source == name }) {
			continue
		}
		query, table, split := source(name)
		all = append(all, strings.NewReplacer("$(split)", strconv.FormatBool(split), "$(columns)", q.columns(name, false), "$(source)", table, "$(only)", only, "$(owned)", owned).Replace(parts[query]))
		if split && shared && name != sourceWords {
			all = append(all, strings.NewReplacer("$(columns)", q.columns(name, true), "$(only)", only, "$(shared)", q.shared(parts)).Replace(parts["facts.Shared"]))
		}
	}
	return strings.Join(all, " UNION ALL ")
}

// links returns the query of whom visitors belong to.
func (q *rankQuery) links(parts clickhouse.Queries) string {
	switch {
	case q.of != nil:
		return parts["persons.Given"]
	case q.sharers != nil:
		return parts["persons.LinksFew"]
	}
	return parts["persons.Links"]
}

// shared returns the query of the visitors that several persons used.
func (q *rankQuery) shared(parts clickhouse.Queries) string {
	if q.of != nil || q.sharers != nil {
		return parts["persons.SharedOf"]
	}
	return parts["persons.Shared"]
}

// columns lists all facts, those of other sources as their zeros.
func (q *rankQuery) columns(source string, shared bool) string {
	columns := make([]string, len(q.facts))
	for i, f := range q.facts {
		value := f.zero
		if f.source == source {
			if value = f.value; shared {
				value = f.shared
			}
		}
		columns[i] = fmt.Sprintf("%s AS fact%d", value, i)
	}
	return strings.Join(columns, ", ")
}

// newRank returns the query of the people that a list asks for.
func newRank(q svc.PersonQuery) *rankQuery {
	rank := &rankQuery{args: clickhouse.Args{}}
	if q.Search != "" {
		rank.search(q.Search, q.SearchMasked)
	}
	if q.Stage != "" {
		rank.keep(rank.fold(rank.stage()) + " = " + rank.bind(string(q.Stage)))
	}
	for _, tag := range q.Tags {
		rank.keep("has(" + rank.tags() + ", " + rank.bind(tag) + ")")
	}
	if q.Persons != nil {
		rank.keep("person IN " + rank.value("Array(UInt64)", q.Persons))
	}
	if q.Segment != nil {
		rank.keep(rank.inSegment(q.Segment, q.Now))
	}
	return rank
}

// where is the condition of all that is kept.
func (q *rankQuery) where() string {
	if len(q.having) == 0 {
		return "true"
	}
	return strings.Join(q.having, " AND ")
}

// asWritten ends a query of few rows: the engine takes longer to compile its expressions than to evaluate them, and those of other values
// are others.
const asWritten = "\nSETTINGS compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0"

// text puts the parts into the places of a query. The conditions must have been asked for before, since they
// name facts.
func (q *rankQuery) text(query string, parts clickhouse.Queries, shared bool) string {
	began, seen := q.began(), q.seen()
	var folds strings.Builder
	for i, aggregate := range q.folds {
		fmt.Fprintf(&folds, ", %s AS fold%d", aggregate, i)
	}
	if q.of != nil {
		query += asWritten
	}
	return strings.NewReplacer("$(began)", began, "$(seen)", seen, "$(folds)", folds.String(), "$(rows)", q.rows(parts, shared), "$(links)", q.links(parts), "$(where)", q.where()).Replace(query)
}

// values are all values of the query, for an environment.
func (q *rankQuery) values(environment uint64) clickhouse.Args {
	args := q.args.With(environmentArgs(environment))
	if len(q.names) > 0 {
		args["did_names"], args["did_since"] = q.names, q.since
	}
	if q.sharers != nil {
		args = args.With(q.sharers.args())
	}
	if q.of != nil {
		args = args.With(q.of.args())
	}
	return args
}
