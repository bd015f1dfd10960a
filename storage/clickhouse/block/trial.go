package block

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/ingest"
	"svc/storage/clickhouse"
)

const (
	// trialMark separates the name of the database from the number of the block in the name of a trial database.
	trialMark = "_trial_"
	// environmentTrials bounds the trial inserts that separate environments, for each kind of rows. It suffices for
	// some forty refused environments among a thousand.
	environmentTrials = 512
	// rowTrials bounds the trial inserts that look for single rows in the refused environments of one kind, so that
	// rows of other environments do not wait long.
	rowTrials = 128
	// trialTime bounds a whole trial. A trial database of twice that age was abandoned.
	trialTime = time.Minute
	// blockChance is the number of random bits in the number of a block. The other bits are its creation time in
	// milliseconds.
	blockChance = 22
	// maxReason bounds the stored text of an exception, in bytes.
	maxReason = 500
	// maxSuspects bounds the environments in memory.
	maxSuspects = 1000
)

// Sift returns the rows of a block that the store refuses, and stores nothing. It tries the rows in a separate
// database. It splits refused rows until single environments are left, and these until single rows are left. After
// rowTrials inserts it returns the rest of the environment as refused. It returns no rows of an environment that the
// store accepts, unless more environments are refused than environmentTrials inserts can separate. It tries previously
// refused environments separately from the others.
//
// A store that refuses plain rows, or accepts all rows in the trial, has a problem of its own. Sift then returns no
// rows.
func (db *Store) Sift(ctx context.Context, number uint64, b *Block) ([]ingest.RefusedRow, error) {
	var refused []ingest.RefusedRow
	for shard, part := range b.parts() {
		if part.ownRows() == 0 {
			continue
		}
		found, _, err := db.shards[shard].sift(ctx, number, part)
		if err != nil {
			return nil, err
		}
		refused = append(refused, b.placed(shard, found)...)
	}
	return refused, nil
}

// sift is Sift for one shard. It also returns the number of trial inserts.
func (db *Store) sift(ctx context.Context, number uint64, b *Block) (refused []ingest.RefusedRow, inserts int, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	// Tables without storage are filled in a tenth of the time, and refuse the rows that constraints and views refuse.
	// If they accept all rows, the rows are tried again in tables with storage.
	for _, storing := range []bool{false, true} {
		found, made, err := db.siftIn(ctx, number, b, storing)
		if inserts += made; err != nil || len(found) > 0 {
			return found, inserts, err
		}
	}
	return nil, inserts, nil
}

// siftIn is sift in tables with or without storage.
func (db *Store) siftIn(ctx context.Context, number uint64, b *Block, storing bool) (refused []ingest.RefusedRow, inserts int, err error) {
	t, err := db.openTrial(ctx, number, storing)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("preparing to try rows: %w", err), t.close(ctx))
	}
	for _, kind := range rowKinds() {
		if kind.size(b) == 0 {
			continue
		}
		search := &search{trial: t, block: b, kind: kind, environmentsLeft: environmentTrials, rowsLeft: rowTrials}
		found, err := search.run(ctx)
		if err != nil {
			return nil, t.inserts, errors.Join(fmt.Errorf("trying rows: %w", err), t.close(ctx))
		}
		refused = append(refused, found...)
	}
	return refused, t.inserts, t.close(ctx)
}

// trial is a database for trial inserts.
type trial struct {
	of      *Store
	name    string
	conn    *clickhouse.Conn // to the database
	number  uint64
	inserts int
	reason  string // of the last refusal
}

// openTrial creates the database of a trial, with or without storage. The caller must close the result, also after an
// error.
func (db *Store) openTrial(ctx context.Context, number uint64, storing bool) (*trial, error) {
	t := &trial{of: db, name: db.conn.Database() + trialMark + strconv.FormatUint(number, 36), number: number}
	if err := db.sweepTrials(ctx); err != nil {
		return t, err
	}
	if err := db.conn.Exec(ctx, db.queries["trial.Create"], clickhouse.Args{"database": t.name}); err != nil {
		return t, err
	}
	statements, err := db.tablesOfRows(ctx, t.name, storing)
	if err != nil {
		return t, err
	}
	for _, statement := range statements {
		if err := db.conn.Exec(ctx, statement, nil); err != nil {
			return t, err
		}
	}
	t.conn, err = db.conn.Beside(t.name)
	return t, err
}

// close removes the database.
func (t *trial) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clickhouse.WriteTime)
	defer cancel()
	err := t.of.conn.Exec(ctx, t.of.queries["trial.Drop"], clickhouse.Args{"database": t.name})
	if t.conn != nil {
		err = errors.Join(err, t.conn.Close())
	}
	return err
}

// sweepTrials removes the databases of abandoned trials.
func (db *Store) sweepTrials(ctx context.Context) error {
	var left []string
	prefix := db.conn.Database() + trialMark
	err := db.conn.ReadFirst(ctx, "looking for trials", db.queries["trial.List"], clickhouse.Args{"prefix": prefix}, func(rows driver.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		number, _ := strconv.ParseUint(strings.TrimPrefix(name, prefix), 36, 64)  // 0 for a foreign database, which counts as old
		if time.Since(time.UnixMilli(int64(number>>blockChance))) > 2*trialTime { // the age of an abandoned trial
			left = append(left, name)
		}
		return true, err
	})
	for _, name := range left {
		err = errors.Join(err, db.conn.Exec(ctx, db.queries["trial.Drop"], clickhouse.Args{"database": name}))
	}
	return err
}

// storeTable is a table or a view of the database.
type storeTable struct {
	name, engine, made string
	views              []string // that read it
}

// tablesOfRows returns the statements that create the tables of rows in another database. They include the views and
// the tables that these write or read, in the order of their dependencies. Tables that only views read stay empty
// there.
func (db *Store) tablesOfRows(ctx context.Context, in string, storing bool) ([]string, error) {
	tables := map[string]storeTable{}
	err := db.conn.ReadFirst(ctx, "reading the tables", db.queries["trial.Tables"], clickhouse.Args{"database": db.conn.Database()}, func(rows driver.Rows) (bool, error) {
		var t storeTable
		err := rows.Scan(&t.name, &t.engine, &t.made, &t.views)
		tables[t.name] = t
		return true, err
	})
	if err != nil {
		return nil, err
	}
	ours := regexp.MustCompile(`([\s(,])` + "`?" + regexp.QuoteMeta(db.conn.Database()) + "`?" + `\.`)
	named := regexp.MustCompile(ours.String() + "`?" + `(\w+)`)
	engine := regexp.MustCompile(`(,\s+INDEX .*? GRANULARITY \d+|\sENGINE = .*)`)
	// Partitions by month would make a part for each, which takes milliseconds. They refuse no row, so they are left
	// out.
	months := regexp.MustCompile(`\sPARTITION BY .*?\s(PRIMARY KEY|ORDER BY)\s`)
	table := func(made string) string {
		if storing {
			return months.ReplaceAllString(made, " $1 ")
		}
		return engine.ReplaceAllString(made, "") + " ENGINE = Null"
	}
	var stores, views []string
	wanted := []string{"events", "occurrences", "metric_points", "billing"}
	for n := 0; n < len(wanted); n++ {
		if slices.Contains(wanted[:n], wanted[n]) {
			continue
		}
		of := tables[wanted[n]]
		made := ours.ReplaceAllString(of.made, "${1}`"+in+"`.")
		if of.engine == "MaterializedView" {
			views = append(views, made)
			for _, name := range named.FindAllStringSubmatch(of.made, -1) {
				if _, known := tables[name[2]]; known {
					wanted = append(wanted, name[2])
				}
			}
			continue
		}
		stores = append(stores, table(made))
		wanted = append(wanted, of.views...)
	}
	return append(stores, views...), nil
}

// insert inserts a block of one kind and reports whether the trial accepted it.
func (t *trial) insert(ctx context.Context, part *Block, kind kindRows) (bool, error) {
	t.inserts++
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 0, "materialized_views_ignore_errors": 0, "max_partitions_per_insert_block": 0, "max_threads": 1,
	})
	err := t.conn.InsertEncoded(ctx, t.of.queries[kind.query], kind.encode(part, t.number))
	if reason, refused := clickhouse.Refusal(err); refused {
		t.reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
		return false, nil
	}
	return err == nil, err
}
