package people

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

// bounds are among how many visitors a page is looked for at first and at most, before all people are folded: a page needs few people, and
// the facts of few visitors are read by key.
type bounds struct{ first, most int }

func defaultBounds() bounds { return bounds{first: 128, most: 8192} }

// finder finds the people of a page. What it returns is the fold of all facts of each person; it only chooses whose facts to fold.
type finder struct {
	db *Store
	q  svc.PersonQuery
}

// find returns the keys of the people of the page, and of one more.
func (f *finder) find(ctx context.Context) ([]svc.PersonKey, error) {
	visitors, known, err := f.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var keys []svc.PersonKey
	found := false
	if known {
		keys, found, err = f.among(ctx, visitors)
	} else {
		keys, found, err = f.walk(ctx)
	}
	if err != nil || found {
		return f.page(keys), err
	}
	return f.all(ctx)
}

// page cuts keys off after the first one of the next page.
func (f *finder) page(keys []svc.PersonKey) []svc.PersonKey {
	return keys[:min(len(keys), f.q.Limit+1)]
}

// candidates returns visitors among whom there is one of each person that the question asks for, if anything in it tells few
// enough.
func (f *finder) candidates(ctx context.Context) (visitors []uint64, known bool, err error) {
	if f.q.Persons != nil && len(f.q.Persons) <= f.db.bounds.most {
		return f.q.Persons, true, nil
	}
	if f.q.Segment != nil && f.q.Segment.Kind == svc.SegmentStatic && len(f.q.Segment.Members) <= f.db.bounds.most {
		return f.q.Segment.Members, true, nil
	}
	args := environmentArgs(f.q.Environment.Number).With(clickhouse.Args{
		"search": f.q.Search, "masked": f.q.SearchMasked, "stage": string(f.q.Stage), "tag": "", "limit": f.db.bounds.most + 1,
	})
	if len(f.q.Tags) > 0 {
		args["tag"] = f.q.Tags[0]
	}
	for _, source := range []struct {
		query string
		asked bool
	}{
		{"candidates.Tagged", len(f.q.Tags) > 0},
		{"candidates.Told", f.q.Search != ""},
		{"candidates.Staged", f.q.Stage != "" && f.q.Stage != svc.StageVisitor},
	} {
		if !source.asked {
			continue
		}
		rank := &rankQuery{args: args}
		query := strings.NewReplacer("$(id)", rank.visible("id", f.q.SearchMasked), "$(company)", rank.visible("substring(company, 15)", f.q.SearchMasked)).Replace(f.db.queries[source.query])
		visitors, err := f.db.visitors(ctx, "looking for people", query, rank.args)
		if err != nil || len(visitors) <= f.db.bounds.most {
			return visitors, true, err
		}
	}
	return nil, false, nil
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

// walk goes through visitors in the order of the list until the page is full. Every visitor that only one person has was first seen when
// the person was or later, so whoever was first seen after an instant has such a visitor among those first seen after it; of
// persons who have no such visitor there are strays. It gives up after bounds.most visitors.
func (f *finder) walk(ctx context.Context) (keys []svc.PersonKey, found bool, err error) {
	strays, err := f.db.visitors(ctx, "looking for people without events of their own", f.db.queries["persons.Strays"],
		clickhouse.Args{"environment": f.q.Environment.Number, "limit": f.db.bounds.most + 1})
	if err != nil || len(strays) > f.db.bounds.most {
		return nil, false, err
	}
	for rows := f.db.bounds.first; rows <= f.db.bounds.most; rows *= 4 {
		latest, floor, err := f.latest(ctx, rows)
		if err != nil {
			return nil, false, err
		}
		keys, few, err := f.among(ctx, slices.Concat(latest, strays))
		if err != nil || !few {
			return nil, false, err
		}
		keys = slices.DeleteFunc(keys, func(key svc.PersonKey) bool { return key.BeganMs <= floor })
		if len(keys) > f.q.Limit || floor == math.MinInt64 {
			return keys, true, nil
		}
	}
	return nil, false, nil
}

// latest returns the visitors that were first seen after an instant, which is such that a number of rows tells them; it is
// math.MinInt64 where these are all.
func (f *finder) latest(ctx context.Context, limit int) (visitors []uint64, floor int64, err error) {
	rows, parts := 0, map[uint64]bool{}
	err = f.db.conn.Read(ctx, "reading who came last", f.db.queries["persons.Latest"], f.args(limit), func(row driver.Rows) (bool, error) {
		var visitor uint64
		err := row.Scan(&visitor, &floor)
		parts[visitor] = true
		rows++
		return true, err
	})
	if err != nil {
		return nil, 0, err
	}
	for visitor := range parts {
		visitors = append(visitors, visitor)
	}
	slices.Sort(visitors)
	if rows < limit {
		return visitors, math.MinInt64, nil
	}
	visitors, err = f.db.visitors(ctx, "reading who came first then", f.db.queries["persons.Began"],
		clickhouse.Args{"environment": f.q.Environment.Number, "visitors": visitors, "floor": floor})
	return visitors, floor, err
}

// args are the values of the place of the page and of its length.
func (f *finder) args(limit int) clickhouse.Args {
	args := clickhouse.Args{"environment": f.q.Environment.Number, "limit": limit, "first_page": f.q.After == nil, "after_began": int64(0), "after_person": uint64(0)}
	if f.q.After != nil {
		args["after_began"], args["after_person"] = f.q.After.BeganMs, f.q.After.Number
	}
	return args
}

// among returns the persons of visitors whom the question asks for, in the order of the list. It reports false where these have too
// many visitors.
func (f *finder) among(ctx context.Context, visitors []uint64) (keys []svc.PersonKey, few bool, err error) {
	if len(visitors) == 0 {
		return nil, true, nil
	}
	environment := f.q.Environment.Number
	spans, err := f.db.spansOf(ctx, environment, visitors)
	if err != nil {
		return nil, false, err
	}
	var persons []uint64
	for _, visitor := range visitors {
		if spans[visitor] == nil {
			persons = append(persons, visitor)
		}
		for _, one := range spans[visitor] {
			persons = append(persons, one.person)
		}
	}
	// The visitor that names a person may itself belong to others, by links.
	persons = append(persons, f.q.Persons...)
	slices.Sort(persons)
	persons = slices.Compact(persons)
	members, err := f.db.membersOf(ctx, environment, persons)
	if err != nil {
		return nil, false, err
	}
	own, shared := members.lists()
	only := slices.Concat(own, shared)
	if len(only) > 2*f.db.bounds.most {
		return nil, false, nil
	}
	rank := newRank(f.q)
	rank.single = true
	// Of others who share a visitor not all visitors are here.
	rank.keep("person IN " + rank.value("Array(UInt64)", persons))
	owners := make([]string, len(only))
	for i, visitor := range only {
		owners[i] = PersonOwner(environment, visitor)
	}
	keys, err = f.rank(ctx, rank, len(shared) > 0, f.args(len(persons)).With(clickhouse.Args{"only": only, "owners": owners}))
	return keys, true, err
}

// all folds the facts of all people.
func (f *finder) all(ctx context.Context) ([]svc.PersonKey, error) {
	shared, err := f.db.anyShared(ctx, f.q.Environment.Number)
	if err != nil {
		return nil, err
	}
	return f.rank(ctx, newRank(f.q), shared, f.args(f.q.Limit+1))
}

// rank reads the keys of the persons whom a query keeps.
func (f *finder) rank(ctx context.Context, rank *rankQuery, shared bool, args clickhouse.Args) (keys []svc.PersonKey, err error) {
	query := rank.text(f.db.queries["persons.Rank"], f.db.queries, shared)
	err = f.db.conn.Read(ctx, "listing people", query, rank.values(f.q.Environment.Number).With(args), func(rows driver.Rows) (bool, error) {
		var key svc.PersonKey
		err := rows.Scan(&key.Number, &key.BeganMs)
		keys = append(keys, key)
		return true, err
	})
	slices.SortFunc(keys, func(a, b svc.PersonKey) int {
		return cmp.Or(cmp.Compare(b.BeganMs, a.BeganMs), cmp.Compare(b.Number, a.Number))
	})
	return keys, err
}
