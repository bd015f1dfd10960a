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
	// slowRead is how long a read of people takes from which on its environment is kept.
	slowRead = 50 * time.Millisecond
	// keptTime bounds how long people are read as they were folded at once, since rows expire of which no part tells. The engine drops what a node left
	// two hours after it was made.
	keptTime = time.Hour
	// keptEnvironments bounds how many environments a node keeps.
	keptEnvironments = 64
	// sweepEvery is the time between two removals of what is not read any more.
	sweepEvery = 10 * time.Second
	// keepShare is how many times as long as it took to keep an environment it is not kept again.
	keepShare = 10
	// renewChanged is of how many visitors newer rows may tell where only their people are folded again.
	renewChanged = 8192
	// settleTime is how long after the parts were read the tables are: other nodes insert into the same tables, one after the other, and what was in one of them by
	// then is in all of them.
	settleTime = 2 * time.Second
	// foldRows is of about how many rows of visitors people are folded at once.
	foldRows = 1 << 18
	// foldTime bounds the time in which an environment is kept, and foldMemory what the engine may group in memory, in bytes.
	foldTime, foldMemory = 10 * time.Minute, 400_000_000
)

// KeepFolds keeps the people of environments whose reads are slow, one environment after the other, until ctx ends. number returns a number that no
// node returned before. With replicas nothing is kept: what one of them has is not on the others.
func (db *Store) KeepFolds(ctx context.Context, number func() uint64, logger *slog.Logger) error {
	if db.conn.Replicated() {
		<-ctx.Done()
		return nil
	}
	if !db.conn.Served() { // nobody else has anything in it
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

// keepWanted keeps the environments that are to be kept.
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

// clearFolds removes all that was kept, on every shard.
func (db *Store) clearFolds(ctx context.Context) (err error) {
	for _, conn := range db.conn.Shards() {
		err = errors.Join(err, conn.Exec(ctx, db.queries["folds.Clear"], nil))
	}
	return err
}

// dropFold removes what was kept under a number. Where that fails the engine drops it after some hours.
func (db *Store) dropFold(ctx context.Context, number uint64) {
	query := strings.ReplaceAll(db.queries["folds.Drop"], "$(number)", strconv.FormatUint(number, 10))
	for _, conn := range db.conn.Shards() {
		_ = conn.Exec(context.WithoutCancel(ctx), query, nil)
	}
}

// Keep folds the people of an environment and keeps them under a new number for later reads. Where they are kept already and few changed, only these are folded.
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

// foldAll folds all people of an environment: those who changed where the others are kept already, else everybody.
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

// begin marks the beginning of what is kept under a number. An erasure and the start of a node that lends its store empty the table at any time; what
// was kept before that is lost with the mark.
func (db *Store) begin(ctx context.Context, environment, number uint64) error {
	return db.conn.Exec(ctx, db.queries["folds.Begin"], clickhouse.Args{"environment": environment, "number": number})
}

// begun reports whether the mark of a number is there.
func (db *Store) begun(ctx context.Context, environment, number uint64) (begun bool, err error) {
	args := clickhouse.Args{"environment": environment, "number": number}
	err = db.conn.Read(ctx, "looking whether people are kept", db.queries["folds.Begun"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&begun)
	})
	return begun, err
}

// renew keeps those again who did not change since they were kept, and folds the others. It reports false where they are not kept, too many changed, or what was kept
// went meanwhile.
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

// args are the values of folds.Changed. The query returns one visitor more than limit where there are more.
func (k *kept) args(environment uint64, limit int) clickhouse.Args {
	args := environmentArgs(environment).With(clickhouse.Args{"limit": limit + 1})
	for _, table := range []string{"profiles", "arrivals", "traits", "links", "roots", "activations"} {
		args[table] = k.parts[table].last
	}
	return args
}

// fill folds the people of an environment in parts of some hundred thousand visitors each: first those who are persons by themselves, which are found by key, then those
// who are tied to others.
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

// sliceEnd is the last number of a slice of all numbers.
func sliceEnd(n, slices uint64) uint64 {
	if n == slices-1 {
		return math.MaxUint64
	}
	return math.MaxUint64/slices*(n+1) - 1
}

// fillQuery returns the statement that keeps the people of an environment: each column is the fold of the facts that are read from it.
func fillQuery(parts clickhouse.Queries, rank *rankQuery, shared bool) string {
	source, visited := rank.touch()
	country, placed := rank.place(placeCountry, "country")
	device, _ := rank.place(placeDevice, "device")
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

// parts reads the parts of the tables of which people are made, and how many rows are kept under a number.
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

// holds reports whether the parts still have what they had: none was changed by a mutation, and none is gone but those that others took in.
// New parts change nothing, since it is asked whom they tell of.
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
