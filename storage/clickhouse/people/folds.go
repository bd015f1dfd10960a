package people

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

const (
	// slowRead is the duration above which a read of people makes the refresher materialize the environment.
	slowRead = 50 * time.Millisecond
	// keptTime bounds the age of materialized profiles, since rows also expire, which no new part shows. The engine
	// drops the rows that a node left behind two hours after they were written.
	keptTime = time.Hour
	// keptEnvironments bounds the number of environments that a node materializes.
	keptEnvironments = 64
	// sweepEvery is the interval at which the refresher drops rows that no read uses any more.
	sweepEvery = 10 * time.Second
	// keepShare sets the pause before an environment is materialized again: so many times the duration of the last run.
	keepShare = 10
	// renewChanged is the highest number of visitors with newer rows for which a refresh folds only the changed people.
	renewChanged = 8192
	// settleTime is the delay between reading the list of parts and reading the tables. Other nodes insert a batch into
	// the same tables one after the other; after the delay, a batch that was in one of them is in all of them.
	settleTime = 2 * time.Second
	// foldRows is the approximate number of visitor rows that one statement folds.
	foldRows = 1 << 18
	// foldTime bounds the duration of a refresh. foldMemory bounds the memory, in bytes, in which the engine may group.
	foldTime, foldMemory = 10 * time.Minute, 400_000_000
)

// KeepFolds runs the refresher until ctx ends: it materializes the profiles of environments with slow reads, one
// environment at a time. number returns a number that no node has returned before. With replicas it materializes
// nothing, since the rows that one replica has are not on the others.
func (db *Store) KeepFolds(ctx context.Context, number func() uint64, logger *slog.Logger) error {
	if db.conn.Replicated() {
		<-ctx.Done()
		return nil
	}
	if !db.conn.Served() { // no other node has rows in it
		if err := db.clearFolds(ctx); err != nil {
			logger.Warn("what was kept of people stays for some hours", "error", err)
		}
	}
	db.keeper.settle = settleTime
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			for _, number := range db.keeper.sweep(now) {
				db.dropFold(ctx, number)
			}
			if err := db.keeper.faulted(); err != nil {
				logger.Warn("people were read as they are and not as they were kept", "error", err)
			}
		case <-db.keeper.wake:
			db.keepWanted(ctx, number, logger)
		}
	}
}

// keepWanted materializes the environments that are due.
func (db *Store) keepWanted(ctx context.Context, number func() uint64, logger *slog.Logger) {
	for ctx.Err() == nil {
		environment, found := db.keeper.next()
		if !found {
			return
		}
		if err := db.Keep(ctx, environment, number()); err != nil && ctx.Err() == nil {
			logger.Warn("the people of an environment are not kept, so lists of them take longer", "environment", environment, "error", err)
		}
	}
}

// clearFolds removes all materialized profiles, on every shard.
func (db *Store) clearFolds(ctx context.Context) (err error) {
	for _, conn := range db.conn.Shards() {
		err = errors.Join(err, conn.Exec(ctx, db.queries["folds.Clear"], nil))
	}
	return err
}

// dropFold removes the materialized profiles of a number. If this fails, the engine drops them after some hours.
func (db *Store) dropFold(ctx context.Context, number uint64) {
	query := strings.ReplaceAll(db.queries["folds.Drop"], "$(number)", strconv.FormatUint(number, 10))
	for _, conn := range db.conn.Shards() {
		_ = conn.Exec(context.WithoutCancel(ctx), query, nil)
	}
}

// Keep materializes the profiles of an environment under a new number for later reads. If the environment is already
// materialized and few people changed, it folds only these.
func (db *Store) Keep(ctx context.Context, environment, number uint64) error {
	began := time.Now()
	defer func() { db.keeper.rest(environment, time.Since(began)-db.keeper.settle) }()
	ctx, cancel := context.WithTimeout(ctx, foldTime)
	defer cancel()
	hides, made := db.keeper.hidden(), &kept{number: number, made: began, used: began}
	var err error
	made.parts, err = clickhouse.Whole(ctx, db.conn.Of(environment), func(ctx context.Context) (map[string]tableParts, error) {
		parts, _, err := db.parts(ctx, environment, number)
		return parts, err
	})
	if err != nil {
		return err
	}
	select {
	case <-time.After(db.keeper.settle):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if made.sharers, err = db.sharers(ctx, environment); err != nil {
		return err
	}
	if err = db.foldAll(ctx, environment, made); err == nil {
		var after map[string]tableParts
		var whole bool
		after, made.rows, err = db.parts(ctx, environment, number)
		if err == nil {
			whole, err = db.begun(ctx, environment, number)
		}
		if err == nil && whole && made.holds(after) {
			db.keeper.put(environment, made, hides)
			return nil
		}
	}
	db.dropFold(ctx, number)
	return clickhouse.WriteError("keeping the people of an environment", err)
}

// foldAll materializes all people of an environment. It copies unchanged profiles from the previous number if it can.
func (db *Store) foldAll(ctx context.Context, environment uint64, made *kept) error {
	if err := db.begin(ctx, environment, made.number); err != nil {
		return err
	}
	if renewed, err := db.renew(ctx, environment, db.keeper.of(environment), made); renewed && err == nil {
		return nil
	}
	db.dropFold(ctx, made.number)
	if err := db.begin(ctx, environment, made.number); err != nil {
		return err
	}
	return db.fill(ctx, environment, made)
}

// begin inserts the mark of a number before its profiles. An erasure, or the start of a node that lends its store, may
// empty the table at any time. A truncation after begin also removes the mark, so begun notices it.
func (db *Store) begin(ctx context.Context, environment, number uint64) error {
	return db.conn.Exec(ctx, db.queries["folds.Begin"], clickhouse.Args{"environment": environment, "number": number})
}

// begun reports whether the mark of a number is still in the table.
func (db *Store) begun(ctx context.Context, environment, number uint64) (begun bool, err error) {
	args := clickhouse.Args{"environment": environment, "number": number}
	err = db.conn.Read(ctx, "looking whether people are kept", db.queries["folds.Begun"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&begun)
	})
	return begun, err
}

// renew copies the profiles that did not change since the last refresh, and folds the others. It returns false if there
// are no profiles to copy, too many people changed, or the old profiles were dropped during the copy.
func (db *Store) renew(ctx context.Context, environment uint64, before, made *kept) (bool, error) {
	if before == nil || time.Since(before.made) > keptTime/2 {
		return false, nil
	}
	visitors, err := db.visitors(ctx, "looking for people who changed", db.queries["folds.Changed"], before.args(environment, renewChanged))
	if err != nil || len(visitors) > renewChanged {
		return false, err
	}
	ties, err := db.tiesOf(ctx, environment, visitors)
	if err != nil {
		return false, err
	}
	changed := ties.persons(visitors)
	args := clickhouse.Args{"environment": environment, "kept": before.number, "changed": changed, "number": made.number}
	if err := db.conn.Quiet().Derive(ctx, db.queries["folds.Copy"], nil, args); err != nil {
		return false, err
	}
	for some := range slices.Chunk(changed, mostChanged) {
		of, err := db.membersOf(ctx, environment, some, nil)
		if err != nil {
			return false, err
		}
		rank := newConditions("")
		shared := (&keptFolds{changed: some, of: of}).only(rank)
		query := fillQuery(db.queries, rank, shared)
		if err := db.conn.Quiet().Derive(ctx, query, nil, rank.values(environment).With(clickhouse.Args{"number": made.number})); err != nil {
			return false, err
		}
	}
	held, err := db.held(ctx, &keptFolds{kept: before, environment: environment})
	if held {
		made.made = before.made
	}
	return held, err
}

// args returns the parameters of folds.Changed. If there are more visitors than limit, the query returns limit + 1.
func (k *kept) args(environment uint64, limit int) clickhouse.Args {
	args := environmentArgs(environment).With(clickhouse.Args{"limit": limit + 1})
	for _, table := range []string{"profiles", "arrivals", "entries", "traits", "links", "roots", "activations"} {
		args[table] = k.parts[table].last
	}
	return args
}

// fill folds the people of an environment in slices of some hundred thousand visitors. It first folds the visitors that
// are persons by themselves, which it selects by key, and then the visitors with ties.
func (db *Store) fill(ctx context.Context, environment uint64, made *kept) error {
	var alone, tied uint64
	args := clickhouse.Args{"environment": environment}
	err := db.conn.Read(ctx, "counting visitors", db.queries["folds.Size"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&alone, &tied)
	})
	if err != nil {
		return err
	}
	settings := clickhouse.Settings{"max_execution_time": int(foldTime.Seconds()), "max_bytes_before_external_group_by": foldMemory, "use_index_for_in_with_subqueries": 0}
	fold := func(rank *rankQuery, shared bool) error {
		query := fillQuery(db.queries, rank, shared)
		return db.conn.Quiet().Derive(ctx, query, settings, rank.values(environment).With(clickhouse.Args{"number": made.number}))
	}
	slices := alone/foldRows + 1
	for n := range slices {
		rank := newConditions("")
		rank.alone, rank.sharers = true, members{}
		rank.slice = "visitor BETWEEN " + rank.value("UInt64", math.MaxUint64/slices*n) + " AND " + rank.value("UInt64", sliceEnd(n, slices)) + " AND visitor NOT IN (" + db.queries["folds.Tied"] + ")"
		if err := fold(rank, false); err != nil {
			return err
		}
	}
	for n, slices := uint64(0), tied/(4*foldRows)+1; tied > 0 && n < slices; n++ {
		rank := newConditions("")
		rank.sharers = made.sharers
		rank.slice = "visitor IN (" + db.queries["folds.Tied"] + ")"
		rank.keep("person % " + rank.value("UInt64", slices) + " = " + rank.value("UInt64", n))
		if err := fold(rank, made.sharers == nil || len(made.sharers) > 0); err != nil {
			return err
		}
	}
	return nil
}

// sliceEnd returns the last number of a slice of all numbers.
func sliceEnd(n, slices uint64) uint64 {
	if n == slices-1 {
		return math.MaxUint64
	}
	return math.MaxUint64/slices*(n+1) - 1
}

// fillQuery returns the statement that materializes the people of an environment. Each column is the fold of the facts
// that reads take from it.
func fillQuery(parts clickhouse.Queries, rank *rankQuery, shared bool) string {
	source, visited := rank.touch()
	country, placed := rank.place("country")
	device, _ := rank.place("device")
	own := rank.add(fact{sourceWords, "any(arrivals.id)", "", "''", ""})
	used := rank.add(fact{sourceSeen, "''", "any(" + sharedID + ")", "''", ""})
	traits := rank.add(fact{sourceTraits, "maxMap(traits.traits)", "maxMap(told_traits)", "CAST(map(), 'Map(String, String)')", ""})
	once := rank.add(fact{sourceTraits, "minMap(traits.once)", "minMap(told_once)", "CAST(map(), 'Map(String, String)')", ""})
	done := rank.add(fact{sourceDone, "mapFromArrays(groupArray(name), groupArray(last))", "maxMap(map(toString(name), toInt64(toUnixTimestamp(ts))))", "CAST(map(), 'Map(String, Int64)')", ""})
	var names, values []string
	for _, column := range [][2]string{
		{"last", "max(" + rank.lastSeen() + ")"},
		{"sessions", rank.sessions()},
		{"ids", fmt.Sprintf("arrayStringConcat(arrayDistinct(arrayConcat(groupUniqArrayIf(%s, %s != ''), groupUniqArrayIf(%s, %s != ''))), '\\0')", own, own, used, used)},
		{"told_email", rank.latest("email")},
		{"told_name", rank.latest("name")},
		{"told_company", rank.latest("company")},
		{"told_group", rank.latestTrait(groupTrait)},
		{"identified", rank.flag("identified")},
		{"mailed", rank.flag("mailed")},
		{"signed_up", rank.signedUp()},
		{"activated", rank.reached()},
		{"traits", "maxMap(" + traits + ")"},
		{"once", "minMap(" + once + ")"},
		{"done", "maxMap(" + done + ")"},
		{"first_source", source},
		{"first_at", visited},
		{"country", country},
		{"device", device},
		{"placed_at", placed},
		{"linked", "groupUniqArrayIf(visitor, alone AND visitor != person)"},
	} {
		names, values = append(names, column[0]), append(values, rank.fold(column[1]))
	}
	query := strings.NewReplacer("$(names)", strings.Join(names, ", "), "$(values)", strings.Join(values, ", ")).Replace(parts["folds.Fill"])
	return rank.text(query, parts, shared)
}

// parts reads the active parts of the tables that people are folded from. It also returns the number of materialized
// profiles with this number.
func (db *Store) parts(ctx context.Context, environment, number uint64) (parts map[string]tableParts, rows uint64, err error) {
	parts = map[string]tableParts{}
	args := clickhouse.Args{"environment": environment, "number": number}
	err = db.conn.Read(ctx, "looking for changes of people", db.queries["folds.Parts"], args, func(row driver.Rows) (bool, error) {
		var table string
		var blocks [2]int64
		var version, many uint64
		if err := row.Scan(&table, &blocks[0], &blocks[1], &version, &many); err != nil {
			return false, err
		}
		if table == "person_folds" {
			rows += many
			return true, nil
		}
		of := parts[table]
		of.blocks, of.last = append(of.blocks, blocks), max(of.last, blocks[1])
		if at := int64(version); at > blocks[0] {
			of.mutated = max(of.mutated, at)
		}
		parts[table] = of
		return true, nil
	})
	return parts, rows, err
}

// holds reports whether the tables still contain the parts that they had: no mutation changed a part, and no part is
// gone unless a merge included it in another one. New parts do not matter here: folds.Changed finds the visitors in
// them.
func (k *kept) holds(now map[string]tableParts) bool {
	for table, before := range k.parts {
		of := now[table]
		if of.mutated > before.mutated {
			return false
		}
		for _, blocks := range before.blocks {
			if !slices.ContainsFunc(of.blocks, func(other [2]int64) bool { return other[0] <= blocks[0] && blocks[1] <= other[1] }) {
				return false
			}
		}
	}
	return true
}
