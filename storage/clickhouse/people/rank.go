package people

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"svc"
	"svc/storage/clickhouse"
)

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
	// tied says that sharers are all visitors that are no persons by themselves.
	tied bool
	// given are the spans of visitors that the engine cannot find by itself, where sharers is nil.
	given members
	// kept has everybody who did not change since read from person_folds, where whole is set: each fact is a column of a person then. facts are those that
	// are not kept there, which are read from visitors, and others the folds of these. finds are conditions on what is kept.
	kept   *keptFolds
	whole  bool
	others []string
	finds  []string
	// slice bounds whose facts are read, where it is not empty; alone says that these visitors are persons by themselves.
	slice string
	alone bool
	// apart says that the query is a condition that is put together to see what it asks for.
	apart bool
	// decided says that what members or billing decide was asked for: whoever has any such row counts as changed.
	decided bool
}

// add adds a fact and returns how a fold refers to it.
func (q *rankQuery) add(f fact) string {
	if q.whole {
		switch {
		case f.kept != "":
			return f.kept
		case f.source == sourceStates || f.source == sourceBilling:
			q.decided = true
			return f.zero
		}
	}
	at := slices.Index(q.facts, f)
	if at < 0 {
		at = len(q.facts)
		q.facts = append(q.facts, f)
	}
	return factName(at)
}

func factName(at int) string { return fmt.Sprintf("fact%d", at) }

// found adds a condition on what is kept of a person and returns how others refer to it.
func (q *rankQuery) found(condition string) string {
	at := slices.Index(q.finds, condition)
	if at < 0 {
		at = len(q.finds)
		q.finds = append(q.finds, condition)
	}
	return fmt.Sprintf("found%d", at)
}

// named lists expressions with their names, each after a comma.
func named(expressions []string, name string) string {
	var b strings.Builder
	for i, expression := range expressions {
		fmt.Fprintf(&b, ", %s AS %s%d", expression, name, i)
	}
	return b.String()
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

// over is an aggregate over the facts of a person's visitors.
func (q *rankQuery) over(function, value string) string {
	aggregate := function + "(" + value + ")"
	if !q.whole {
		return aggregate
	}
	if !strings.HasPrefix(value, "fact") {
		return value
	}
	at := slices.Index(q.others, aggregate)
	if at < 0 {
		at = len(q.others)
		q.others = append(q.others, aggregate)
	}
	return fmt.Sprintf("other%d", at)
}

// fold adds a fold of facts and returns the name that conditions call it by.
func (q *rankQuery) fold(aggregate string) string {
	if q.whole {
		return "(" + aggregate + ")"
	}
	at := slices.Index(q.folds, aggregate)
	if at < 0 {
		at = len(q.folds)
		q.folds = append(q.folds, aggregate)
	}
	return fmt.Sprintf("fold%d", at)
}

// keep adds a condition on persons.
func (q *rankQuery) keep(condition string) { q.having = append(q.having, condition) }

// rows returns the query of the facts: one row per visitor and source, and where visitors are shared,
// one per shared visitor and person.
func (q *rankQuery) rows(parts clickhouse.Queries, shared bool) string {
	only, owned := cmp.Or(q.slice, "true"), "owner >= {owner_from:String} AND owner < {owner_to:String}"
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
			query := "facts.Shared"
			if name == sourceTraits {
				query = "facts.Told"
			}
			all = append(all, strings.NewReplacer("$(columns)", toldIn(q.columns(name, true), parts), "$(only)", only, "$(visitor)", soughtVisitor(len(q.sharers)), "$(shared)", q.shared(parts)).Replace(parts[query]))
		}
	}
	return strings.Join(all, " UNION ALL ")
}

// toldIn puts the expressions of what events tell into their places.
func toldIn(columns string, parts clickhouse.Queries) string {
	for name, text := range parts {
		if strings.HasPrefix(name, "told.") {
			columns = strings.ReplaceAll(columns, "$("+name+")", text)
		}
	}
	return columns
}

// indexedVisitors is of how many visitors events are found by their index at most. Of more, nearly all granules have one or seem to, and to look takes twice as
// long as to read the numbers of all visitors.
const indexedVisitors = 16

// soughtVisitor is the visitor of an event where the events of so many visitors are looked for.
func soughtVisitor(visitors int) string {
	if visitors > indexedVisitors {
		return "identity(visitor)"
	}
	return "visitor"
}

// links returns the query that maps visitors to persons.
func (q *rankQuery) links(parts clickhouse.Queries) string {
	switch {
	case q.of != nil, q.alone, q.tied:
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
		columns[i] = value + " AS " + factName(i)
	}
	return strings.Join(columns, ", ")
}

// newRank returns the query of the people that a list asks for.
func newRank(q svc.PersonQuery) *rankQuery {
	rank := newConditions("")
	rank.ask(q)
	return rank
}

// ask adds the conditions of a list.
func (q *rankQuery) ask(list svc.PersonQuery) {
	if list.Search != "" {
		q.search(list.Search, list.SearchMasked)
	}
	if list.Stage != "" {
		q.keep(q.fold(q.stage()) + " = " + q.bind(string(list.Stage)))
	}
	for _, tag := range list.Tags {
		q.keep("has(" + q.tags() + ", " + q.bind(tag) + ")")
	}
	if list.Persons != nil {
		q.keep("person IN " + q.value("Array(UInt64)", list.Persons))
	}
	if list.Segment != nil {
		q.keep(q.inSegment(list.Segment, list.Now))
	}
}

// allOf is the condition that all of some hold.
func allOf(conditions []string) string {
	if len(conditions) == 0 {
		return "true"
	}
	return strings.Join(conditions, " AND ")
}

// asWritten ends a query of few rows: the engine takes longer to compile its expressions than to evaluate them, and those of other values
// are others.
const asWritten = "\nSETTINGS compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0"

// text puts the parts into the places of a query. The conditions must have been asked for before, since they
// name facts.
func (q *rankQuery) text(query string, parts clickhouse.Queries, shared bool) string {
	began, seen := q.began(), q.seen()
	folded := parts["persons.Folded"]
	switch {
	case len(q.others) > 0:
		folded = strings.ReplaceAll(parts["persons.KeptWith"], "$(others)", named(q.others, "other"))
	case q.whole:
		folded = parts["persons.Kept"]
	}
	query = strings.ReplaceAll(query, "$(folded)", folded)
	if q.of != nil {
		query += asWritten
	}
	return strings.NewReplacer("$(began)", began, "$(seen)", seen, "$(folds)", named(q.folds, "fold"), "$(finds)", named(q.finds, "found"), "$(rows)", q.rows(parts, shared), "$(links)", q.links(parts), "$(where)", allOf(q.having)).Replace(query)
}

// values are all values of the query, for an environment.
func (q *rankQuery) values(environment uint64) clickhouse.Args {
	args := q.args.With(environmentArgs(environment))
	if len(q.names) > 0 {
		args["did_names"], args["did_since"] = q.names, q.since
	}
	if q.kept != nil {
		args["kept"], args["changed"] = q.kept.number, q.kept.changed
		args["sharers"], args["homes"] = q.sharers.homes()
	}
	if q.sharers != nil {
		args = args.With(q.sharers.args())
	} else {
		args = args.With(q.given.args())
	}
	if q.of != nil {
		args = args.With(q.of.args())
	}
	return args
}
