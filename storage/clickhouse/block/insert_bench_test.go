package block

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/event"
	"svc/storage/clickhouse/clickhousetest"
)

// bareColumns are plain columns of the client library for the rows of a block, as the baseline.
type bareColumns struct {
	texts   [10]proto.ColStr
	words   [23]*proto.ColLowCardinality[string]
	numbers [6]proto.ColInt64
	small   proto.ColInt8
	block   proto.ColUInt64
	expires proto.ColUInt16
	bot     proto.ColBool
	value   *proto.ColNullable[float64]
	buffer  proto.Buffer
}

func newBareColumns() *bareColumns {
	c := &bareColumns{value: proto.NewColNullable[float64](new(proto.ColFloat64))}
	for n := range c.words {
		c.words[n] = new(proto.ColStr).LowCardinality()
	}
	return c
}

// append adds a row to all columns.
func (c *bareColumns) append(row *event.Row) {
	e := &row.Event
	c.texts[0].Append(e.ID)
	c.texts[1].Append(e.URL)
	c.texts[2].Append(e.Title)
	c.texts[3].Append(e.Referrer)
	c.texts[4].Append(e.DistinctID)
	c.texts[5].Append(e.AnonymousID)
	c.texts[6].Append(e.PersonID)
	c.texts[7].Append(e.SessionID)
	c.texts[8].Append("")
	c.texts[9].AppendBytes(e.Properties)
	for n, word := range [...]string{
		e.Name, e.Path, e.ReferrerDomain, e.Source, e.Medium, e.UTMSource, e.UTMMedium, e.UTMCampaign, e.UTMTerm, e.UTMContent,
		e.Country, e.Region, e.City, e.Device, e.Browser, e.BrowserVersion, e.OS, e.OSVersion, e.Screen, e.Locale,
		e.Currency, e.Release, e.Library,
	} {
		c.words[n].Append(word)
	}
	for n, number := range [...]int64{
		int64(row.EnvironmentNumber), e.Ts.UnixMilli(), e.ReceivedAt.UnixMilli(), row.SessionStartedMs, row.DurationMs, row.EngagedMs,
	} {
		c.numbers[n].Append(number)
	}
	c.small.Append(row.Bounce)
	c.block.Append(1)
	c.expires.Append(1)
	c.bot.Append(e.IsBot)
	c.value.Append(proto.Null[float64]())
}

// encode writes the columns in the Native form.
func (c *bareColumns) encode(b testing.TB) {
	b.Helper()
	for n := range c.texts {
		c.texts[n].EncodeColumn(&c.buffer)
	}
	for _, word := range c.words {
		if err := word.Prepare(); err != nil {
			b.Fatal(err)
		}
		word.EncodeState(&c.buffer)
		word.EncodeColumn(&c.buffer)
	}
	for n := range c.numbers {
		c.numbers[n].EncodeColumn(&c.buffer)
	}
	c.small.EncodeColumn(&c.buffer)
	c.block.EncodeColumn(&c.buffer)
	c.expires.EncodeColumn(&c.buffer)
	c.bot.EncodeColumn(&c.buffer)
	c.value.EncodeColumn(&c.buffer)
}

func (c *bareColumns) reset() {
	for n := range c.texts {
		c.texts[n].Reset()
	}
	for _, word := range c.words {
		word.Reset()
	}
	for n := range c.numbers {
		c.numbers[n].Reset()
	}
	for _, column := range []proto.Resettable{&c.small, &c.block, &c.expires, &c.bot, c.value} {
		column.Reset()
	}
	c.buffer.Reset()
}

// BenchmarkClientSide measures, in turns, the cost of building an encoded block from finished rows, and of appending
// the same rows to bare columns.
func BenchmarkClientSide(b *testing.B) {
	db := open(b)
	r := clickhousetest.NewReference(10000)
	rows := make([]event.Row, 50_000)
	for i := range rows {
		rows[i] = *r.Next(time.UnixMilli(1.78e12 + int64(i)/100))
	}
	block, bare := db.NewBlock(), newBareColumns()
	var ours, plain []float64
	measure := func(run func()) float64 {
		used := clickhousetest.CPU()
		run()
		return float64((clickhousetest.CPU() - used).Nanoseconds()) / 1000 / float64(len(rows))
	}
	for b.Loop() {
		ours = append(ours, measure(func() {
			block.Reset()
			for i := range rows {
				block.Append(&rows[i])
			}
			block.encode(1)
		}))
		plain = append(plain, measure(func() {
			bare.reset()
			for i := range rows {
				bare.append(&rows[i])
			}
			bare.encode(b)
		}))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(ours), "cpu-µs/row")
	b.ReportMetric(middle(plain), "bare-cpu-µs/row")
	b.ReportMetric(middle(ours)/middle(plain), "ratio")
}

func middle(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// BenchmarkBlocks measures inserts of one block after another, in client and engine together. It counts the parts that
// one block creates in each table.
func BenchmarkBlocks(b *testing.B) {
	for _, n := range []int{20_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b)
			for _, table := range tables() {
				exec(b, db, "SYSTEM STOP MERGES "+table)
			}
			r := clickhousetest.NewReference(10000)
			block, blocks := db.NewBlock(), 0
			var used, took time.Duration
			for b.Loop() {
				blocks++
				block.Reset()
				at := time.UnixMilli(1.78e12 + int64(blocks)*1000)
				for i := range n {
					block.Append(r.Next(at.Add(time.Duration(i) * 10 * time.Microsecond)))
				}
				began, before := time.Now(), clickhousetest.CPU()
				insert(b, db, fmt.Sprint(blocks), uint64(blocks), block)
				took, used = took+time.Since(began), used+clickhousetest.CPU()-before
			}
			rows := float64(n) * float64(blocks)
			parts := ask[uint64](b, db, "SELECT max(parts) FROM (SELECT count() AS parts FROM system.parts WHERE active AND database = currentDatabase() AND table IN ('events', 'traffic', 'visits', 'names') GROUP BY table)")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rows/took.Seconds(), "rows/s")
			b.ReportMetric(float64(used.Microseconds())/rows, "cpu-µs/row")
			b.ReportMetric(float64(parts)/float64(blocks), "parts/block")
		})
	}
}
