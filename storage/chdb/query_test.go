package chdb

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

func TestTypesSurviveTheRoundTrip(t *testing.T) {
	c := client(t)
	run(t, c,
		"DROP TABLE IF EXISTS types",
		`CREATE TABLE types (
			id UInt64, name LowCardinality(String), maybe LowCardinality(Nullable(String)), score Nullable(Float64),
			tags Array(LowCardinality(String)), counts Map(LowCardinality(String), UInt32), pair Tuple(a Int8, b String),
			at DateTime64(3, 'UTC'), day Date, key UUID, price Decimal(18, 4), body String, nested Array(Array(Int32)),
			flag Bool, kind Enum8('x' = 1, 'y' = 2), address IPv6
		) ENGINE = MergeTree ORDER BY id`)
	type row struct {
		ID      uint64            `ch:"id"`
		Name    string            `ch:"name"`
		Maybe   *string           `ch:"maybe"`
		Score   *float64          `ch:"score"`
		Tags    []string          `ch:"tags"`
		Counts  map[string]uint32 `ch:"counts"`
		Pair    map[string]any    `ch:"pair"`
		At      time.Time         `ch:"at"`
		Day     time.Time         `ch:"day"`
		Key     uuid.UUID         `ch:"key"`
		Price   decimal.Decimal   `ch:"price"`
		Body    string            `ch:"body"`
		Nested  [][]int32         `ch:"nested"`
		Flag    bool              `ch:"flag"`
		Kind    string            `ch:"kind"`
		Address string            `ch:"-"`
	}
	maybe, score := "so", 1.5
	want := []row{
		{
			ID: 1, Name: "one", Maybe: &maybe, Score: &score, Tags: []string{"a", "b", "a"},
			Counts: map[string]uint32{"k": 7}, Pair: map[string]any{"a": int8(-3), "b": "tuple"},
			At: time.UnixMilli(1790000000123).UTC(), Day: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
			Key: uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff"), Price: decimal.RequireFromString("12.3456"),
			Body: `{"a":[1,2,"__exception__\r\n"]}`, Nested: [][]int32{{1}, {}, {2, 3}}, Flag: true, Kind: "y",
		},
		{
			ID: 2, Name: "", Tags: []string{}, Counts: map[string]uint32{}, Pair: map[string]any{"a": int8(0), "b": ""},
			At: time.UnixMilli(0).UTC(), Day: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
			Price: decimal.RequireFromString("-0.0001"), Body: "\x00\r\n\t\\'", Nested: [][]int32{}, Kind: "x",
		},
	}
	columns := "id, name, maybe, score, tags, counts, pair, at, day, key, price, body, nested, flag, kind"
	batch, err := c.PrepareBatch(deadline(t), "INSERT INTO types ("+columns+")")
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if err := batch.AppendStruct(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
	var got []row
	if err := c.Select(deadline(t), &got, "SELECT "+columns+" FROM types ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if !got[i].Price.Equal(want[i].Price) {
			t.Errorf("row %d: price %s, want %s", i, got[i].Price, want[i].Price)
		}
		got[i].Price = want[i].Price
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

func TestParametersAreValuesNotText(t *testing.T) {
	c := client(t)
	for name, text := range map[string]string{
		"plain": "hello", "empty": "", "quotes": `'"\`, "control": "a\tb\nc\r\x00d", "injection": "'; DROP TABLE x; --",
		"unicode": "žluťoučký 🐎", "backslash-n": `\n`, "braces": "{x:String}", "long": strings.Repeat("x", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			if got := one[string](t, c, "SELECT {v:String}", clickhouse.Named("v", text)); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		})
	}
	if got, want := one[[]string](t, c, "SELECT {v:Array(String)}", clickhouse.Named("v", []string{"a'b", `c\d`})), []string{"a'b", `c\d`}; !reflect.DeepEqual(got, want) {
		t.Errorf("array: got %q, want %q", got, want)
	}
	at := time.UnixMilli(1790000000123).UTC()
	if got := one[time.Time](t, c, "SELECT {v:DateTime64(3)}", clickhouse.DateNamed("v", at, clickhouse.MilliSeconds)); !got.Equal(at) {
		t.Errorf("time: got %s, want %s", got, at)
	}
}

func TestSettingsHoldForOneStatement(t *testing.T) {
	c := testClient(t, "", clickhouse.Settings{"max_block_size": 1234})
	plain := testClient(t, "", nil)
	read := "SELECT getSetting('max_block_size')::UInt64, getSetting('session_timezone')::String"
	check := func(c driver.Conn, ctx context.Context, size uint64, zone string) {
		t.Helper()
		var gotSize uint64
		var gotZone string
		if err := c.QueryRow(ctx, read).Scan(&gotSize, &gotZone); err != nil {
			t.Fatal(err)
		}
		if gotSize != size || gotZone != zone {
			t.Fatalf("got %d %q, want %d %q", gotSize, gotZone, size, zone)
		}
	}
	normal := one[uint64](t, plain, "SELECT getSetting('max_block_size')::UInt64")
	for range 3 * defaultConnections { // every connection of the pool gets each kind of statement
		check(c, deadline(t), 1234, "UTC")
		check(plain, deadline(t), normal, "UTC")
		check(c, clickhouse.Context(deadline(t), clickhouse.WithSettings(clickhouse.Settings{
			"max_block_size": 99, "session_timezone": "Europe/Prague",
		})), 99, "Europe/Prague")
		if got := one[uint64](t, plain, "SELECT getSetting('max_block_size')::UInt64 SETTINGS max_block_size = 77"); got != 77 {
			t.Fatalf("got %d, want 77", got)
		}
		run(t, plain, "SET max_block_size = 55", "USE system", "CREATE TEMPORARY TABLE session_only (x UInt8)")
		if got := one[string](t, plain, "SELECT currentDatabase()"); got != "default" {
			t.Fatalf("current database is %q, want default", got)
		}
		if got := one[uint8](t, plain, "EXISTS TEMPORARY TABLE session_only"); got != 0 {
			t.Fatal("a temporary table outlived its request")
		}
	}
	ctx := clickhouse.Context(deadline(t), clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 5, "no_such_setting": 1}))
	wantCode(t, c.Exec(ctx, "SELECT 1"), 115)
	check(plain, deadline(t), normal, "UTC")
}

func TestDatabaseOfTheClientIsTheCurrentOne(t *testing.T) {
	run(t, testClient(t, "", nil), "CREATE DATABASE IF NOT EXISTS other")
	for name, want := range map[string]string{"": "default", "default": "default", "other": "other"} {
		if got := one[string](t, testClient(t, name, nil), "SELECT currentDatabase()"); got != want {
			t.Errorf("current database is %q, want %q", got, want)
		}
	}
	wantCode(t, testClient(t, "not`there", nil).Exec(deadline(t), "SELECT 1"), 81)
}

// wantCode fails unless err is an exception with that code.
func wantCode(t *testing.T, err error, code int32) {
	t.Helper()
	var e *clickhouse.Exception
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want an exception of code %d", err, code)
	}
}

func TestExceptionsKeepTheirCode(t *testing.T) {
	c := client(t)
	for sql, code := range map[string]int32{
		"SELECT * FROM no_such_table":                 60,
		"SELECT 1 FROM no_such_database.t":            81,
		"SELEC 1":                                     62,
		"SELECT no_such_column":                       47,
		"SELECT 1; SELECT 2":                          62,
		"SELECT throwIf(number = 3) FROM numbers(10)": 395,
		"INSERT INTO no_such_table VALUES (1)":        60,
		"SELECT {missing:UInt8}":                      456,
		"SELECT sleepEachRow(0.2) FROM numbers(3) SETTINGS max_execution_time = 0.1, max_block_size = 1": 159,
	} {
		t.Run(sql, func(t *testing.T) {
			wantCode(t, c.Exec(deadline(t), sql), code)
			rows, err := c.Query(deadline(t), sql)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
			}
			wantCode(t, err, code)
		})
	}
}

func TestExceptionAmidTheResultReachesTheClient(t *testing.T) {
	c := client(t)
	sql := "SELECT number, throwIf(number = 900000) FROM numbers(1000000) SETTINGS max_block_size = 1000, max_threads = 1"
	rows, err := c.Query(deadline(t), sql)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	wantCode(t, rows.Err(), 395)
	if n == 0 || n > 900_000 { // the client drops blocks that it read ahead of the exception
		t.Errorf("got %d rows before the exception, want some of 900000", n)
	}
	if got := one[uint8](t, c, "SELECT 1"); got != 1 {
		t.Error("the client does not work after the exception")
	}
}

func TestResultsAreWholeAndStreamed(t *testing.T) {
	c := client(t)
	for name, q := range map[string]struct {
		sql       string
		rows, sum uint64
	}{
		"none":             {"SELECT number FROM numbers(10) WHERE number > 10", 0, 0},
		"one":              {"SELECT number FROM numbers(2) WHERE number = 1", 1, 1},
		"few far apart":    {"SELECT number FROM numbers(20000000) WHERE number % 4999999 = 0 SETTINGS max_block_size = 1000", 5, 49_999_990},
		"small blocks":     {"SELECT number FROM numbers(100000) SETTINGS max_block_size = 7", 100_000, 4_999_950_000},
		"more than memory": {"SELECT number FROM numbers(20000000) SETTINGS max_memory_usage = 10000000", 20_000_000, 199_999_990_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := c.Query(deadline(t), q.sql)
			if err != nil {
				t.Fatal(err)
			}
			var n, sum, v uint64
			for rows.Next() {
				if err := rows.Scan(&v); err != nil {
					t.Fatal(err)
				}
				n, sum = n+1, sum+v
			}
			if err := rows.Err(); err != nil || n != q.rows || sum != q.sum {
				t.Fatalf("got %d rows, sum %d, error %v; want %d rows, sum %d", n, sum, err, q.rows, q.sum)
			}
		})
	}
}

const heavy = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"

func TestCancelledContextCancelsTheStatement(t *testing.T) {
	c := client(t)
	ctx, cancel := context.WithCancel(deadline(t))
	var running sync.WaitGroup
	for range defaultConnections { // all read slots are taken
		running.Go(func() {
			var n uint64
			if err := c.QueryRow(ctx, heavy).Scan(&n); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
		})
	}
	waitForStatements(t, defaultConnections-writePlaces)
	short, cancelShort := context.WithTimeout(deadline(t), 50*time.Millisecond)
	defer cancelShort()
	if err := c.Exec(short, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("queued request: got %v, want context.DeadlineExceeded", err)
	}
	cancel()
	running.Wait()
	if got := one[uint8](t, c, "SELECT 1"); got != 1 {
		t.Error("the pool does not work after cancelling")
	}
	waitForStatements(t, 0) // uncancelled they would take an hour
}

// waitForStatements waits until exactly n of the heavy statements run in the engine.
func waitForStatements(t *testing.T, n int) {
	t.Helper()
	waitFor(t, "SELECT count() FROM system.processes WHERE query LIKE '%1000000000000%' AND query NOT LIKE '%processes%'", n)
}

// waitFor waits until the query returns n. It bypasses the pool, which may be busy.
func waitFor(t *testing.T, sql string, n int) {
	t.Helper()
	ctx := deadline(t)
	for {
		testEngine.mu.Lock()
		got, err := testEngine.control.execute(sql, "TabSeparated")
		testEngine.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if got == fmt.Sprintf("%d\n", n) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: want %d, last seen %q", sql, n, got)
		}
		time.Sleep(5 * time.Millisecond) // the engine sends no notice of a change
	}
}

func TestAbandonedResultFreesTheConnection(t *testing.T) {
	c := client(t)
	for range 2 * defaultConnections {
		ctx, cancel := context.WithCancel(deadline(t))
		rows, err := c.Query(ctx, "SELECT number FROM numbers(1000000000000)")
		if err != nil {
			t.Fatal(err)
		}
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		cancel()
		for rows.Next() {
		}
		if err := rows.Err(); err == nil {
			t.Fatal("a cancelled result ended without an error")
		}
	}
	if got := one[uint8](t, c, "SELECT 1"); got != 1 {
		t.Error("the pool does not work after abandoned results")
	}
	waitForStatements(t, 0)
}
