package clickhouse

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"svc"
)

// browser is one of the five user agents of the reference event.
type browser struct{ name, version, os, osVersion, device string }

func browsers() []browser {
	return []browser{
		{"Chrome", "130.0", "Windows", "10", "desktop"},
		{"Safari", "18.1", "macOS", "15.1", "desktop"},
		{"Firefox", "132.0", "Linux", "", "desktop"},
		{"Safari", "18.0", "iOS", "18.0", "mobile"},
		{"Chrome", "129.0", "Android", "14", "mobile"},
	}
}

// reference makes rows like the reference event of the performance notes: 10,000 users,
// 200 paths, 5 user agents, random ids.
type reference struct {
	random   *rand.Rand
	browsers []browser
	row      svc.EventRow
	event    svc.Event
	users    int
}

func newReference(users int) *reference {
	r := &reference{random: rand.New(rand.NewPCG(1, 2)), browsers: browsers(), users: users}
	r.event = svc.Event{
		Name: "$pageview", Referrer: "https://www.google.com/", Country: "DE", Region: "BE", City: "Berlin",
		Screen: "1920x1080", Locale: "en-US", Library: "svc-js",
		Properties: []byte(`{"plan":"pro","price":49.95,"currency":"EUR","items":3}`),
	}
	r.event.Attribution = svc.Attribution{
		ReferrerDomain: "google.com", Source: "news", Medium: "email", UTMSource: "news", UTMMedium: "email", UTMCampaign: "spring",
	}
	r.row = svc.EventRow{Event: r.event, EnvironmentNumber: 123456789, RetentionDays: 365}
	return r
}

func (r *reference) next(at time.Time) *svc.EventRow {
	user, path, b := r.random.IntN(r.users), r.random.IntN(200), r.browsers[r.random.IntN(5)]
	e := &r.row.Event
	e.ID = uuid(r.random)
	e.Ts, e.ReceivedAt = at, at.Add(time.Duration(r.random.IntN(20))*time.Millisecond)
	e.URL = fmt.Sprintf("https://shop.example.com/products/item-%d?utm_source=news&utm_medium=email&utm_campaign=spring", path)
	e.Path, e.Title = fmt.Sprintf("/products/item-%d", path), fmt.Sprintf("Item %d - Example Shop", path)
	e.DistinctID, e.SessionID = fmt.Sprintf("user-%08d", user), fmt.Sprintf("sess-%08d", user)
	e.Browser, e.BrowserVersion, e.OS, e.OSVersion, e.Device = b.name, b.version, b.os, b.osVersion, b.device
	r.row.SessionStartedMs = at.Truncate(10 * time.Minute).Add(time.Duration(user) * 37 * time.Millisecond).UnixMilli()
	r.row.DurationMs = int64(r.random.IntN(60000))
	return &r.row
}

func uuid(random *rand.Rand) string {
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	text := hex.EncodeToString(raw[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

func (r *reference) block(db *DB, from time.Time, step time.Duration, n int) *Block {
	b := db.NewBlock()
	for i := range n {
		b.Append(r.next(from.Add(time.Duration(i) * step)))
	}
	return b
}

func reportPerRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(rows)/float64(b.N), "µs/row")
}

func BenchmarkAppend(b *testing.B) {
	db := open(b)
	r := newReference(10000)
	const n = 100000
	rows := make([]svc.EventRow, n)
	for i := range rows {
		rows[i] = *r.next(time.UnixMilli(1.78e12 + int64(i)/100))
	}
	block := db.NewBlock()
	b.ReportAllocs()
	for b.Loop() {
		block.Reset()
		for i := range rows {
			block.Append(&rows[i])
		}
		block.encode(1)
	}
	reportPerRow(b, n)
}

func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b)
			block := newReference(10000).block(db, time.UnixMilli(1.78e12), 10*time.Microsecond, n)
			i, used := 0, cpu()
			for b.Loop() {
				i++
				insert(b, db, fmt.Sprint(i), uint64(i), block)
			}
			reportPerRow(b, n)
			b.ReportMetric(float64((cpu()-used).Microseconds())/float64(n)/float64(i), "cpu-µs/row")
		})
	}
}

func BenchmarkStoredBytes(b *testing.B) {
	for b.Loop() {
		db := open(b)
		r := newReference(10000)
		const blocks, n = 10, 100000
		for i := range blocks {
			insert(b, db, fmt.Sprint(i), uint64(i), r.block(db, time.UnixMilli(1.78e12+int64(i)*1000), 10*time.Microsecond, n))
		}
		for _, table := range tables() {
			if err := db.conn.Exec(deadline(b), "OPTIMIZE TABLE "+table+" FINAL"); err != nil {
				b.Fatal(err)
			}
		}
		sum := ask[uint64](b, db, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND table != 'migrations'")
		b.ReportMetric(float64(sum)/blocks/n, "B/row")
		rows, err := db.conn.Query(deadline(b), "SELECT table||'.'||column c, sum(column_data_compressed_bytes) FROM system.parts_columns WHERE active AND database = currentDatabase() AND table in ('events','traffic','visits','names') GROUP BY c ORDER BY 2 DESC LIMIT 25")
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
			var c string
			var n uint64
			if err := rows.Scan(&c, &n); err != nil {
				b.Fatal(err)
			}
			b.Logf("%-30s %.2f", c, float64(n)/blocks/1e5)
		}
	}
}

// cpu is the processor time that the process used so far.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkPut measures what an actor waits for until its entity is stored.
func BenchmarkPut(b *testing.B) {
	for _, durable := range []bool{false, true} {
		b.Run(fmt.Sprintf("durable=%t", durable), func(b *testing.B) {
			db, err := Open(deadline(b), Config{
				Engine: shared.engine, Database: fmt.Sprintf("put%d", shared.databases.Add(1)), Durable: durable, Alone: true, TableDir: shared.engine.TableDir,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }() // what matters was measured
			i, used := uint32(0), cpu()
			defer func() { b.ReportMetric(float64((cpu()-used).Microseconds())/float64(i), "cpu-µs/put") }()
			for b.Loop() {
				i++
				if err := db.Put(deadline(b), []svc.Entity{entity("app/1", "goal", "g", 1, i, "{}")}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
