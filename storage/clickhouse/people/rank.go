package people

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"svc/domain/person"
	"svc/storage/clickhouse"
)

// rankQuery builds a query about the persons of an environment.
type rankQuery struct {
	facts  []fact
	folds  []string
	having []string
	args   clickhouse.Args
	// prefix begins the names of the parameters, so that the query can be part of another one.
	prefix string
	// names are the events that conditions count. since is the start of the earliest window, in seconds since the
	// epoch.
	names []string
	since int64
	// of restricts the query to the persons of these visitors, which are {only}.
	of members
	// sharers are the visitors that several persons used. If it is nil, the engine finds them.
	sharers members
	// tied says that sharers contains all visitors that are not persons by themselves.
	tied bool
	// given are the spans of visitors that the engine cannot compute. It is used if sharers is nil.
	given members
	// kept makes the query read unchanged people from person_folds, if whole is set. Each fact is then a column of a
	// person. facts are the facts that are not materialized; the query reads them from visitors. others are their
	// folds. finds are conditions on materialized columns.
	kept   *keptFolds
	whole  bool
	others []string
	finds  []string
	// slice restricts the visitors to read, unless it is empty. alone says that these visitors are persons by
	// themselves.
	slice string
	alone bool
	// apart says that the query is a trial condition, built to see which facts it needs.
	apart bool
	// decided says that the query depends on decisions of members or on billing. Each person with such a row then
	// counts as changed.
	decided bool
}

// add adds a fact and returns the expression by which folds refer to it.
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

// found adds a condition on materialized columns and returns the name by which other conditions refer to it.
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

// value adds a value, unless the query has it already, and returns its parameter. Equal conditions thus have equal text
// and are evaluated once.
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

// over returns an aggregate over the facts of a person's visitors.
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

// fold adds a fold of facts and returns the name by which conditions refer to it.
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

// rows returns the query of the facts. It returns one row per visitor and source, and for shared visitors also one per
// visitor and person.
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
			switch name {
			case sourceTraits:
				query = "facts.Told"
			case sourceEntries:
				query = "facts.Entered"
			}
			all = append(all, strings.NewReplacer("$(columns)", toldIn(q.columns(name, true), parts), "$(only)", only, "$(visitor)", soughtVisitor(len(q.sharers)), "$(shared)", q.shared(parts)).Replace(parts[query]))
		}
	}
	return strings.Join(all, " UNION ALL ")
}

// toldIn inserts the expressions for the traits of an event.
func toldIn(columns string, parts clickhouse.Queries) string {
	for name, text := range parts {
		if strings.HasPrefix(name, "told.") {
			columns = strings.ReplaceAll(columns, "$("+name+")", text)
		}
	}
	return columns
}

// indexedVisitors is the highest number of visitors for which events are found by their index. With more visitors,
// nearly all granules contain one or seem to, and checking the index takes twice as long as reading the numbers of all
// visitors.
const indexedVisitors = 16

// soughtVisitor returns the expression for the visitor of an event in a query for the events of so many visitors.
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

// columns returns all facts as columns. Facts of other sources have their zero value.
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

// newRank returns the query of the people in a list.
func newRank(q person.Query) *rankQuery {
	rank := newConditions("")
	rank.ask(q)
	return rank
}

// ask adds the conditions of a list.
func (q *rankQuery) ask(list person.Query) {
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

// allOf returns the conjunction of conditions.
func allOf(conditions []string) string {
	if len(conditions) == 0 {
		return "true"
	}
	return strings.Join(conditions, " AND ")
}

// asWritten ends a query of few rows. The engine takes longer to compile such expressions than to evaluate them, and it
// compiles them again for other values.
const asWritten = "\nSETTINGS compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0"

// text fills the placeholders of a query. All conditions must be added before, since they name facts.
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

// values returns all parameters of the query, for an environment.
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
