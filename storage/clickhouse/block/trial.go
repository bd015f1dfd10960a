package block

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

const (
	// trialMark stands between the name of the database and the number of a block in the name
	// of the database in which its rows are tried.
	trialMark = "_trial_"
	// trialInserts bounds the attempts for one kind of rows of a block, so that whatever is in
	// them, others wait for seconds at most.
	trialInserts = 256
	// trialTime bounds the whole, and is the age from which a database of a trial was left behind.
	trialTime = time.Minute
	// blockChance is how many bits of a block's number are chance; the others are the milliseconds at
	// which it was made.
	blockChance = 22
	// maxReason bounds what is kept of an exception, in bytes.
	maxReason = 500
)

// Sift returns the rows of a block that the store refuses, and stores nothing. The rows are tried
// in a database of their own, whose tables and views are made as those of the service are. What is
// refused is divided until the bad rows are alone: first by environment, and after trialInserts
// attempts it is taken as it is. A store that refuses rows that are plain, or takes all of them
// there, is to blame itself: then nothing is returned.
func (db *Store) Sift(ctx context.Context, number uint64, b *Block) ([]svc.RefusedRow, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	t, err := db.openTrial(ctx, number)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing to try rows: %w", err), t.close(ctx))
	}
	var out []svc.RefusedRow
	for _, kind := range rowKinds() {
		if kind.size(b) == 0 {
			continue
		}
		found, err := t.sift(ctx, b, kind)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("trying rows: %w", err), t.close(ctx))
		}
		out = append(out, found...)
	}
	return out, t.close(ctx)
}

// trial is a database in which rows are tried.
type trial struct {
	of     *Store
	name   string
	conn   *clickhouse.Conn // to the database
	number uint64
	left   int
	reason string // of the last refusal
}

// openTrial makes the database of a trial. What is returned is closed, also after an error.
func (db *Store) openTrial(ctx context.Context, number uint64) (*trial, error) {
	t := &trial{of: db, name: db.conn.Database() + trialMark + strconv.FormatUint(number, 36), number: number}
	if err := db.sweepTrials(ctx); err != nil {
		return t, err
	}
	if err := db.conn.Exec(ctx, db.queries["trial.Create"], clickhouse.Args{"database": t.name}); err != nil {
		return t, err
	}
	statements, err := db.tablesOfRows(ctx, t.name)
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

// sweepTrials removes the databases of trials that died.
func (db *Store) sweepTrials(ctx context.Context) error {
	var left []string
	prefix := db.conn.Database() + trialMark
	err := db.conn.ReadFirst(ctx, "looking for trials", db.queries["trial.List"], clickhouse.Args{"prefix": prefix}, func(rows driver.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		number, _ := strconv.ParseUint(strings.TrimPrefix(name, prefix), 36, 64)  // a foreign one is old
		if time.Since(time.UnixMilli(int64(number>>blockChance))) > 2*trialTime { // the age of what a process left
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

// tablesOfRows returns the statements that make the tables of rows in another database, and all
// that views make of them, in an order in which each finds what it needs.
func (db *Store) tablesOfRows(ctx context.Context, in string) ([]string, error) {
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
	target := regexp.MustCompile(`\sTO ` + "`?" + regexp.QuoteMeta(db.conn.Database()) + "`?" + `\.` + "`?" + `(\w+)`)
	// Months are parts of their own, and a part takes milliseconds; they refuse no row.
	months := regexp.MustCompile(`\sPARTITION BY .*?\s(PRIMARY KEY|ORDER BY)\s`)
	var stores, views []string
	wanted := []string{"events", "occurrences", "metric_points"}
	for n := 0; n < len(wanted); n++ {
		if slices.Contains(wanted[:n], wanted[n]) {
			continue
		}
		table := tables[wanted[n]]
		made := ours.ReplaceAllString(table.made, "${1}`"+in+"`.")
		if table.engine == "MaterializedView" {
			views = append(views, made)
			if to := target.FindStringSubmatch(table.made); to != nil {
				wanted = append(wanted, to[1])
			}
			continue
		}
		stores = append(stores, months.ReplaceAllString(made, " $1 "))
		wanted = append(wanted, table.views...)
	}
	return append(stores, views...), nil
}

// takes says whether the store takes rows of a block.
func (t *trial) takes(ctx context.Context, b *Block, kind kindRows, rows []int) (bool, error) {
	t.left--
	part := newPlainBlock()
	appendRows(kind.columns(part), kind.columns(b), rows)
	return t.insert(ctx, part, kind)
}

// insert inserts a block of one kind and says whether it was taken.
func (t *trial) insert(ctx context.Context, part *Block, kind kindRows) (bool, error) {
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 0, "materialized_views_ignore_errors": 0, "max_partitions_per_insert_block": 0,
	})
	err := t.conn.InsertEncoded(ctx, t.of.queries[kind.query], kind.encode(part, t.number))
	if reason, refused := clickhouse.Refusal(err); refused {
		t.reason = reason
		t.reason = strings.ToValidUTF8(t.reason[:min(len(t.reason), maxReason)], "")
		return false, nil
	}
	return err == nil, err
}

// sift finds the rows of a kind that are refused.
func (t *trial) sift(ctx context.Context, b *Block, kind kindRows) ([]svc.RefusedRow, error) {
	t.left = trialInserts
	plain := newPlainBlock()
	kind.plain(plain)
	if taken, err := t.insert(ctx, plain, kind); err != nil || !taken {
		return nil, err
	}
	all := byEnvironment(b, kind)
	if taken, err := t.takes(ctx, b, kind, all); err != nil || taken {
		return nil, err
	}
	out, err := t.divide(ctx, b, kind, all)
	if err != nil {
		return nil, err
	}
	// Rows that are refused together only are parted until the rest is taken.
	rest := slices.DeleteFunc(all, func(row int) bool {
		return slices.ContainsFunc(out, func(r svc.RefusedRow) bool { return r.Row == row })
	})
	for len(rest) > 0 {
		taken, err := t.takes(ctx, b, kind, rest)
		if err != nil || taken {
			return out, err
		}
		half := len(rest) / 2
		out, rest = t.park(out, kind, rest[half:]), rest[:half]
	}
	return out, nil
}

// park adds rows to those that are refused, for the reason of the last refusal.
func (t *trial) park(out []svc.RefusedRow, kind kindRows, rows []int) []svc.RefusedRow {
	for _, row := range rows {
		out = append(out, svc.RefusedRow{Kind: kind.kind, Row: row, Reason: t.reason})
	}
	return out
}

// divide halves what is refused, the largest pieces first, until single rows are left, or no
// more attempts.
func (t *trial) divide(ctx context.Context, b *Block, kind kindRows, refused []int) (out []svc.RefusedRow, err error) {
	type piece struct {
		rows   []int
		reason string
	}
	queue := []piece{{refused, t.reason}}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		t.reason = next.reason
		if len(next.rows) == 1 || t.left < 2 {
			out = t.park(out, kind, next.rows)
			continue
		}
		at := halfOf(b, kind, next.rows)
		for _, half := range [][]int{next.rows[:at], next.rows[at:]} {
			taken, err := t.takes(ctx, b, kind, half)
			if err != nil {
				return nil, err
			}
			if !taken {
				queue = append(queue, piece{half, t.reason})
			}
		}
	}
	return out, nil
}

// environmentsOf returns the environments of a kind of rows; their column is the first.
func environmentsOf(b *Block, kind kindRows) proto.ColUInt64 {
	return *kind.columns(b)[0].Data.(*proto.ColUInt64)
}

// byEnvironment returns all rows, those of an environment beside each other.
func byEnvironment(b *Block, kind kindRows) []int {
	environments := environmentsOf(b, kind)
	rows := make([]int, len(environments))
	for row := range rows {
		rows[row] = row
	}
	slices.SortStableFunc(rows, func(x, y int) int { return cmp.Compare(environments[x], environments[y]) })
	return rows
}

// halfOf returns where to divide rows: between two environments, as near to the middle as possible, else
// in the middle.
func halfOf(b *Block, kind kindRows, rows []int) int {
	environments, middle := environmentsOf(b, kind), len(rows)/2
	for off := range len(rows) {
		for _, at := range [...]int{middle - off, middle + off} {
			if at > 0 && at < len(rows) && environments[rows[at-1]] != environments[rows[at]] {
				return at
			}
		}
	}
	return middle
}
