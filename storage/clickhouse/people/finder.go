package people

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse"
)

// bounds are the number of visitors that a page looks at first, and at most, before it folds all people. A page needs
// few people, and the facts of few visitors are read by key. A fold of some hundreds takes hardly longer than one of
// fifty, and the engine sorts less if twice that number is at most a thousand.
type bounds struct{ first, most int }

func defaultBounds() bounds { return bounds{first: 500, most: 8192} }

// finder chooses a page source and finds the people of a page. The result is always the fold of all facts of each
// person; the source only determines the people to fold.
type finder struct {
	db *Store
	q  person.Query
	// members are the visitors of the people that were folded one by one. spans caches the spans of visitors that were
	// read; they are empty for a visitor that is a person by itself.
	members, spans members
	// looked are the visitors that were folded with their persons. folded are the keys of the matching persons.
	looked map[uint64]bool
	folded map[uint64]person.Key
	// folds are the materialized profiles that the page was read from, or nil. unkept makes the finder ignore
	// materialized profiles.
	folds  *keptFolds
	unkept bool
}

func newFinder(db *Store, q person.Query) *finder {
	return &finder{db: db, q: q, members: members{}, spans: members{}, looked: map[uint64]bool{}, folded: map[uint64]person.Key{}}
}

// find returns the keys of the people of the page and of one more person.
func (f *finder) find(ctx context.Context) ([]person.Key, error) {
	if keys, found := f.kept(ctx); found {
		return f.page(keys), nil
	}
	of, many, err := f.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var keys []person.Key
	var found bool
	switch {
	case of != nil:
		var q queue
		if q, err = f.queued(ctx, of); err == nil {
			keys, found, err = f.fill(ctx, q, nil)
		}
	case f.db.bounds.most < f.db.bounds.first:
	case many != nil && !many.broad:
		var q queue
		if q, err = f.latestOf(ctx, many); err == nil {
			keys, found, err = f.fill(ctx, q, nil)
		}
	default:
		keys, found, err = f.walk(ctx, many)
	}
	if err != nil || found {
		return f.page(keys), err
	}
	return f.all(ctx)
}

// page truncates keys after the first one of the next page.
func (f *finder) page(keys []person.Key) []person.Key {
	return keys[:min(len(keys), f.q.Limit+1)]
}

// rows returns the rows of the people of the page.
func (f *finder) rows(ctx context.Context, persons []uint64) ([]person.Person, error) {
	for _, person := range persons {
		if f.members[person] == nil { // all people were folded
			return f.db.persons(ctx, f.q.Environment.Number, persons)
		}
	}
	return f.db.rowsOf(ctx, f.q.Environment.Number, persons, f.members.near(persons))
}

// candidateQuery is a query for visitors, with its parameters. It is broad if the latest of all visitors are likely to
// fill a page.
type candidateQuery struct {
	query string
	args  clickhouse.Args
	broad bool
}

// candidates returns visitors that include at least one visitor of each matching person, if a prefilter of the query
// finds few enough. Otherwise visitors is nil, and many is the first prefilter of the query, if it has any.
func (f *finder) candidates(ctx context.Context) (visitors []uint64, many *candidateQuery, err error) {
	if f.q.Persons != nil && len(f.q.Persons) <= f.db.bounds.most {
		return f.q.Persons, nil, nil
	}
	if f.q.Segment != nil && f.q.Segment.Kind == segment.Static && len(f.q.Segment.Members) <= f.db.bounds.most {
		return append([]uint64{}, f.q.Segment.Members...), nil, nil
	}
	for _, of := range f.tells() {
		query := strings.ReplaceAll(f.db.queries["candidates.Some"], "$(candidates)", of.query)
		visitors, err := f.db.visitors(ctx, "looking for people", query, of.args.With(clickhouse.Args{"limit": f.db.bounds.most + 1}))
		if err != nil || len(visitors) <= f.db.bounds.most {
			return visitors, nil, err
		}
		if many == nil {
			many = of
		}
	}
	return nil, many, nil
}

// tells returns the prefilters of the query. The visitors of each include at least one visitor of every matching
// person.
func (f *finder) tells() (all []*candidateQuery) {
	args := environmentArgs(f.q.Environment.Number).With(clickhouse.Args{"search": f.q.Search, "masked": f.q.SearchMasked, "stage": string(f.q.Stage), "tag": ""})
	if len(f.q.Tags) > 0 {
		args["tag"] = f.q.Tags[0]
	}
	for _, one := range []struct {
		query string
		asked bool
	}{
		{"candidates.Tagged", len(f.q.Tags) > 0},
		{"candidates.Told", f.q.Search != ""},
		{"candidates.Staged", f.q.Stage != "" && f.q.Stage != segment.StageVisitor},
	} {
		if one.asked {
			rank := &rankQuery{args: args}
			id, company := rank.visible("id", f.q.SearchMasked), rank.visible("substring(company, 15)", f.q.SearchMasked)
			all = append(all, &candidateQuery{strings.NewReplacer("$(id)", id, "$(company)", company).Replace(f.db.queries[one.query]), rank.args, false})
		}
	}
	if f.q.Segment != nil {
		rank := newConditions("need_")
		if need := rank.needOf(f.db.queries, f.q.Segment, f.q.Now); need != nil {
			all = append(all, &candidateQuery{need.query, environmentArgs(f.q.Environment.Number).With(rank.args), true})
		}
	}
	return all
}

// visitors reads a column of visitors.
func (db *Store) visitors(ctx context.Context, what, query string, args clickhouse.Args) (visitors []uint64, err error) {
	visitors = []uint64{}
	err = db.conn.Read(ctx, what, query, args, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		err := rows.Scan(&visitor)
		visitors = append(visitors, visitor)
		return true, err
	})
	return visitors, err
}

// walk goes through visitors in the order of the list until the page is full. A visitor of only one person was first
// seen when this person was, or later. So each person that was first seen after an instant has such a visitor among the
// visitors first seen after it. The strays cover the persons without such a visitor. walk looks at the latest visitors
// first, then at the candidates, or without candidates at all visitors. It gives up after bounds.most visitors.
func (f *finder) walk(ctx context.Context, candidates *candidateQuery) (keys []person.Key, found bool, err error) {
	bounds := f.db.bounds
	var strays []uint64
	var few bool
	var recent queue
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		strays, few, err = f.strays(both)
		return err
	})
	group.Go(func() (err error) {
		recent, err = f.recent(both, min(2*bounds.first, bounds.most))
		return err
	})
	if err := group.Wait(); err != nil || !few {
		return nil, false, err
	}
	if len(recent.sightings) >= max(bounds.first/4, 1) || recent.complete {
		if keys, found, err = f.fill(ctx, recent, strays); err != nil || found {
			return keys, found, err
		}
	}
	var latest queue
	if candidates != nil {
		latest, err = f.latestOf(ctx, candidates)
	} else {
		latest, err = f.latest(ctx, bounds.most)
	}
	if err != nil {
		return nil, false, err
	}
	return f.fill(ctx, latest, strays)
}

// strays returns visitors of the people that may have only a part of the events of a shared device. It returns false if
// these are more than a page looks at.
func (f *finder) strays(ctx context.Context) (visitors []uint64, few bool, err error) {
	environment, most := f.q.Environment.Number, f.db.bounds.most
	sharing, few, err := f.db.sharing(ctx, environment)
	if err != nil || len(sharing) == 0 {
		return nil, true, err
	}
	devices := "{visitors:Array(UInt64)}"
	if !few {
		sharing, devices = nil, "("+f.db.queries["persons.AnySharing"]+")"
	}
	query := strings.ReplaceAll(f.db.queries["persons.Strays"], "$(devices)", devices)
	visitors, err = f.db.visitors(ctx, "looking for people without events of their own", query, clickhouse.Args{"environment": environment, "visitors": sharing, "limit": most + 1})
	return visitors, len(visitors) <= most, err
}

// fill folds the people of a queue in growing batches until the page is full. It always looks at the strays. It returns
// false if the page needs more visitors than the queue has.
func (f *finder) fill(ctx context.Context, q queue, strays []uint64) (keys []person.Key, found bool, err error) {
	batch := slices.Clone(strays)
	for from, size := 0, q.step; ; size *= 4 {
		to := min(from+size, len(q.sightings))
		for _, one := range q.sightings[from:to] {
			batch = append(batch, one.visitor)
		}
		batch = slices.DeleteFunc(batch, func(visitor uint64) bool { return f.looked[visitor] })
		slices.Sort(batch)
		batch = slices.Compact(batch)
		more, few, err := f.among(ctx, batch)
		if err != nil || !few {
			return nil, false, err
		}
		for _, key := range more {
			f.folded[key.Number] = key
		}
		for _, visitor := range batch {
			f.looked[visitor] = true
		}
		over := to == len(q.sightings)
		floor := int64(math.MinInt64)
		if !over || !q.complete {
			floor = q.sightings[to-1].firstMs
		}
		keys = slices.DeleteFunc(slices.Collect(maps.Values(f.folded)), func(key person.Key) bool { return key.BeganMs <= floor })
		if len(keys) > f.q.Limit || over {
			sortKeys(keys)
			return keys, len(keys) > f.q.Limit || q.complete, nil
		}
		from, batch = to, batch[:0]
	}
}

// sortKeys puts keys in the order of the list.
func sortKeys(keys []person.Key) {
	slices.SortFunc(keys, func(a, b person.Key) int {
		return cmp.Or(cmp.Compare(b.BeganMs, a.BeganMs), cmp.Compare(b.Number, a.Number))
	})
}

// args returns the parameters for the position and the length of the page.
func (f *finder) args(limit int) clickhouse.Args {
	args := clickhouse.Args{"environment": f.q.Environment.Number, "limit": limit, "first_page": f.q.After == nil, "after_began": int64(0), "after_person": uint64(0)}
	if f.q.After != nil {
		args["after_began"], args["after_person"] = f.q.After.BeganMs, f.q.After.Number
	}
	return args
}

// among returns the matching persons of visitors, in the order of the list. It returns false if these persons have too
// many visitors.
func (f *finder) among(ctx context.Context, visitors []uint64) (keys []person.Key, few bool, err error) {
	if len(visitors) == 0 {
		return nil, true, nil
	}
	environment := f.q.Environment.Number
	if err := f.readSpans(ctx, visitors); err != nil {
		return nil, false, err
	}
	var persons []uint64
	for _, visitor := range visitors {
		if len(f.spans[visitor]) == 0 {
			persons = append(persons, visitor)
		}
		for _, one := range f.spans[visitor] {
			persons = append(persons, one.person)
		}
	}
	// The number of a person is also that of a visitor, which may belong to other persons by links.
	persons = append(persons, f.q.Persons...)
	slices.Sort(persons)
	persons = slices.Compact(persons)
	members, err := f.db.membersOf(ctx, environment, persons, f.spans)
	if err != nil {
		return nil, false, err
	}
	maps.Copy(f.members, members)
	own, shared := members.lists()
	if len(members) > 2*f.db.bounds.most {
		return nil, false, nil
	}
	if f.asksNothing() && len(shared) == 0 {
		keys, err = f.seen(ctx, persons, own, members)
		return keys, true, err
	}
	rank := newRank(f.q)
	rank.of = members
	// members may contain only some visitors of other persons that share a visitor with these, so they must not be
	// folded.
	rank.keep("person IN " + rank.value("Array(UInt64)", persons))
	keys, err = f.rank(ctx, rank, len(shared) > 0, f.args(len(persons)))
	return keys, true, err
}

// readSpans reads the spans of visitors, except for cached ones.
func (f *finder) readSpans(ctx context.Context, visitors []uint64) error {
	var unread []uint64
	for _, visitor := range visitors {
		if f.spans[visitor] == nil {
			unread = append(unread, visitor)
		}
	}
	spans, err := f.db.spansOf(ctx, f.q.Environment.Number, unread)
	maps.Copy(f.spans, spans.with(unread))
	return err
}

// asksNothing reports whether the query has no conditions.
func (f *finder) asksNothing() bool {
	return f.q.Search == "" && f.q.Stage == "" && len(f.q.Tags) == 0 && f.q.Persons == nil && f.q.Segment == nil
}

// seen returns the keys of persons after the position of the page. It uses when their visitors were seen; no visitor
// may be shared.
func (f *finder) seen(ctx context.Context, persons, visitors []uint64, of members) (keys []person.Key, err error) {
	parts := map[share]*person.Visitor{}
	r := &personRows{db: f.db, environment: f.q.Environment.Number, members: of}
	if err := r.readSeen(ctx, visitors, parts); err != nil {
		return nil, err
	}
	began := map[uint64]int64{}
	for part, seen := range parts {
		if at, twice := began[part.person]; seen.Events > 0 && (!twice || seen.FirstMs < at) {
			began[part.person] = seen.FirstMs
		}
	}
	for _, p := range persons {
		at, found := began[p]
		after := f.q.After
		if found && (after == nil || at < after.BeganMs || at == after.BeganMs && p < after.Number) {
			keys = append(keys, person.Key{Number: p, BeganMs: at})
		}
	}
	sortKeys(keys)
	return keys, nil
}

// all folds the facts of all people.
func (f *finder) all(ctx context.Context) ([]person.Key, error) {
	rank := newRank(f.q)
	shared, err := f.db.divides(ctx, f.q.Environment.Number, rank)
	if err != nil {
		return nil, err
	}
	return f.rank(ctx, rank, shared, f.args(f.q.Limit+1))
}

// rank reads the keys of the persons that match a query.
func (f *finder) rank(ctx context.Context, rank *rankQuery, shared bool, args clickhouse.Args) (keys []person.Key, err error) {
	query := rank.text(f.db.queries["persons.Rank"], f.db.queries, shared)
	err = f.db.conn.Read(ctx, "listing people", query, rank.values(f.q.Environment.Number).With(args), func(rows driver.Rows) (bool, error) {
		var key person.Key
		err := rows.Scan(&key.Number, &key.BeganMs)
		keys = append(keys, key)
		return true, err
	})
	sortKeys(keys)
	return keys, err
}
