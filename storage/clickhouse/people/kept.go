package people

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/domain/person"
	"svc/domain/segment"
)

const (
	// mostChanged bounds the number of changed persons that a read folds in addition to the materialized profiles.
	mostChanged = 4096
	// manyChanged is the number of visitors with newer rows above which a read requests a refresh.
	manyChanged = 256
)

// keptFolds are the materialized profiles of an environment, for one read.
type keptFolds struct {
	*kept
	environment uint64
	// changed are the persons that have rows newer than their profiles. The read folds their facts again. of are their
	// visitors.
	changed []uint64
	of      members
}

// keptOf returns the materialized profiles of an environment for a query. It returns nil if the environment has no
// profiles, or if too many people changed since.
func (db *Store) keptOf(ctx context.Context, environment uint64, rank *rankQuery) (*keptFolds, error) {
	decided, beside := rank.decided, len(rank.others) > 0
	found := db.keeper.of(environment)
	if found == nil || found.sharers == nil && beside {
		return nil, nil
	}
	args := found.args(environment, mostChanged)
	var newer, decidedOf, billed []uint64
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		newer, err = db.visitors(both, "looking for people who changed", db.queries["folds.Changed"], args)
		return err
	})
	if decided {
		group.Go(func() (err error) {
			decidedOf, err = db.visitors(both, "looking for people about whom was decided", db.queries["folds.Decided"], args)
			return err
		})
		group.Go(func() (err error) {
			billed, err = db.visitors(both, "looking for people who pay", db.queries["folds.Billed"], args)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	visitors := slices.Concat(newer, decidedOf, billed)
	if len(newer) > manyChanged || time.Since(found.made) > keptTime/2 {
		db.keeper.want(environment)
	}
	if len(visitors) > mostChanged {
		return nil, nil
	}
	folds := &keptFolds{kept: found, environment: environment, changed: []uint64{}}
	if len(visitors) == 0 {
		return folds, nil
	}
	ties, err := db.tiesOf(ctx, environment, visitors)
	if err != nil {
		return nil, err
	}
	folds.changed = ties.persons(visitors)
	if len(folds.changed) > mostChanged {
		return nil, nil
	}
	folds.of, err = db.membersOf(ctx, environment, folds.changed, nil)
	if err != nil || len(folds.of) > 2*mostChanged {
		return nil, err
	}
	return folds, nil
}

// persons returns the numbers of all persons that visitors belong to now, or belonged to before their latest rows: the visitors themselves, the known ids that they
// were identified as, and the roots of both. Links and roots are only added, so no other person had one of the visitors.
func (t ties) persons(visitors []uint64) []uint64 {
	persons := slices.Clone(visitors)
	for _, links := range t.links {
		for _, one := range links {
			persons = append(persons, one.known)
		}
	}
	persons = slices.AppendSeq(persons, maps.Values(t.roots))
	slices.Sort(persons)
	return slices.Compact(persons)
}

// keptRank returns the query of a list over materialized profiles. It returns nil if the list depends on data that the
// profiles do not contain.
func keptRank(q person.Query) *rankQuery {
	static := q.Segment != nil && q.Segment.Kind == segment.Static
	if q.Persons != nil || len(q.Tags) > 0 || static || strings.ContainsRune(q.Search, 0) {
		return nil
	}
	rank := newConditions("")
	rank.whole = true
	rank.ask(q)
	return rank
}

// kept returns the keys of the page from materialized profiles; it folds the people that changed since. It returns
// false if there are no profiles or they cannot be read.
func (f *finder) kept(ctx context.Context) (keys []person.Key, found bool) {
	rank, environment := keptRank(f.q), f.q.Environment.Number
	if rank == nil || f.unkept || textLength(rank.having)+textLength(rank.finds) > 2*tallyBytes {
		return nil, false
	}
	folds, err := f.db.keptOf(ctx, environment, rank)
	if folds != nil && err == nil {
		keys, err = f.keysOf(ctx, folds, rank)
	}
	if err != nil {
		f.db.keeper.fail(ctx, environment, err)
	}
	if folds == nil || err != nil {
		return nil, false
	}
	f.folds = folds
	return keys, true
}

// keysOf runs a query over materialized profiles, and the same query over the people that changed since. It returns the
// keys of both.
func (f *finder) keysOf(ctx context.Context, folds *keptFolds, rank *rankQuery) ([]person.Key, error) {
	var keys, changed []person.Key
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		keys, err = f.rank(both, rank, folds.readBy(rank), f.args(f.q.Limit+1))
		return err
	})
	if len(folds.changed) > 0 {
		group.Go(func() (err error) {
			rank := newRank(f.q)
			changed, err = f.rank(both, rank, folds.only(rank), f.args(len(folds.changed)))
			return err
		})
	}
	err := group.Wait()
	keys = append(keys, changed...)
	sortKeys(keys)
	return keys, err
}

// readBy makes a query read materialized profiles. It reports whether the query also reads facts of visitors that
// several persons used. Devices that became shared since the refresh belong to changed people.
func (k *keptFolds) readBy(rank *rankQuery) (shared bool) {
	rank.kept, rank.sharers = k, k.sharers
	return len(k.sharers) > 0
}

// only restricts a query to the changed people. It reports whether several persons used any of their visitors.
func (k *keptFolds) only(rank *rankQuery) (shared bool) {
	rank.of = k.of
	// k.of may contain only some visitors of other persons that share a visitor with these, so they must not be folded
	// here.
	rank.keep("person IN " + rank.value("Array(UInt64)", k.changed))
	_, devices := k.of.lists()
	return len(devices) > 0
}

// held reports whether the materialized profiles were complete during a read. It is called at the end of the read: a
// profile that was dropped does not come back.
func (db *Store) held(ctx context.Context, folds *keptFolds) (bool, error) {
	if folds == nil {
		return true, nil
	}
	parts, rows, err := db.parts(ctx, folds.environment, folds.number)
	if err != nil || rows == folds.rows && folds.holds(parts) {
		return err == nil, err
	}
	db.keeper.forget(folds.environment, folds.kept)
	return false, nil
}
