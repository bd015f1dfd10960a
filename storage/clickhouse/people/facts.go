package people

import (
	"fmt"
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
	sourceSeen     = "profiles"
	sourceArrivals = "arrivals"
	sourceIDs      = "ids"
	sourceTraits   = "traits"
	sourceGoals    = "activations"
	sourceStates   = "states"
)

// source returns the query and the table of a source, and whether its rows are split.
func (q *rankQuery) source(name string) (query, table string, split bool) {
	switch name {
	case sourceArrivals, sourceSeen:
		return "facts.Own", name, true
	case sourceIDs:
		return "facts.Own", sourceArrivals, false
	case sourceStates:
		return "facts.States", "", false
	}
	return "facts.Own", name, false
}

// rankQuery puts together the query of a page of persons.
type rankQuery struct {
	facts  []fact
	having []string
	args   clickhouse.Args
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
func (q *rankQuery) bind(value string) string {
	name := fmt.Sprintf("v%d", len(q.args))
	q.args[name] = value
	return "{" + name + ":String}"
}

// keep adds a condition on persons.
func (q *rankQuery) keep(condition string) { q.having = append(q.having, condition) }

// began is when a person was first seen.
func (q *rankQuery) began() string {
	return "min(" + q.add(fact{sourceSeen, "toUnixTimestamp64Milli(min(first_seen))", "toUnixTimestamp64Milli(min(events.ts))", "toInt64(9223372036854775807)"}) + ")"
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
	return fmt.Sprintf("if(%s != '', %s, multiIf(%s = 1, 'activated', %s + %s > 0, 'signup', %s = 1, 'lead', 'visitor'))",
		manual, manual, reached, q.flag("signed_up"), q.flag("identified"), q.flag("mailed"))
}

// tagged is whether a person has a tag.
func (q *rankQuery) tagged(tag string) string {
	name := q.bind(tag)
	on := q.add(fact{sourceStates, "any(JSONExtractBool(payload, 'tags', " + name + ", 'on'))", "", "false"})
	at := q.add(fact{sourceStates, "any(JSONExtractInt(payload, 'tags', " + name + ", 'at'))", "", "toInt64(-1)"})
	return fmt.Sprintf("argMax(%s, (%s, %s))", on, at, on)
}

// search adds the condition of a search.
func (q *rankQuery) search(text string, masked bool) {
	word := q.bind(text)
	id := "any(arrivals.id)"
	company := q.told("company")
	if masked {
		pattern := q.bind(clickhouse.EmailPattern)
		id, company = "replaceRegexpAll("+id+", "+pattern+", ' ')", "replaceRegexpAll("+company+", "+pattern+", ' ')"
	}
	matches := []string{
		"max(" + q.add(fact{sourceIDs, "positionCaseInsensitiveUTF8(" + id + ", " + word + ") > 0", "", "false"}) + ")",
		"positionCaseInsensitiveUTF8(" + company + ", " + word + ") > 0",
	}
	if !masked {
		for _, column := range []string{"email", "name"} {
			matches = append(matches, "positionCaseInsensitiveUTF8("+q.told(column)+", "+word+") > 0")
		}
	}
	q.keep("(" + strings.Join(matches, " OR ") + ")")
}

// rows returns the query of the facts: one row per visitor and source, and where visitors are shared,
// one per shared visitor and person.
func (q *rankQuery) rows(parts clickhouse.Queries, shared bool) string {
	var all []string
	for _, name := range []string{sourceSeen, sourceArrivals, sourceIDs, sourceTraits, sourceGoals, sourceStates} {
		if !slices.ContainsFunc(q.facts, func(f fact) bool { return f.source == name }) {
			continue
		}
		query, table, split := q.source(name)
		all = append(all, strings.NewReplacer("$(split)", strconv.FormatBool(split), "$(columns)", q.columns(name, false), "$(source)", table).Replace(parts[query]))
		if split && shared {
			all = append(all, strings.ReplaceAll(parts["facts.Shared"], "$(columns)", q.columns(name, true)))
		}
	}
	return strings.Join(all, " UNION ALL ")
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
		rank.keep(rank.stage() + " = " + rank.bind(string(q.Stage)))
	}
	for _, tag := range q.Tags {
		rank.keep(rank.tagged(tag))
	}
	return rank
}

// text puts the parts into the places of a query.
func (q *rankQuery) text(parts clickhouse.Queries, name string, shared bool) string {
	began, seen := q.began(), q.seen()
	where := "true"
	if len(q.having) > 0 {
		where = strings.Join(q.having, " AND ")
	}
	return strings.NewReplacer("$(began)", began, "$(seen)", seen, "$(rows)", q.rows(parts, shared), "$(where)", where).Replace(parts[name])
}
