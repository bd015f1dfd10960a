package bare

import (
	"fmt"
	"os"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"svc/bench/harness"
)

// Columns of the service's table of events by their kind: forty columns of the event and four that the store adds.
const (
	textColumns   = 10
	wordColumns   = 23
	numberColumns = 10
	columnRows    = 50_000
	columnRounds  = 40
)

// finishedRow is an event as it is stored.
type finishedRow struct {
	texts   [textColumns]string
	words   [wordColumns]string
	numbers [numberColumns]int64
}

// columns are the columns of a block.
type columns struct {
	texts   [textColumns]proto.ColStr
	words   [wordColumns]*proto.ColLowCardinality[string]
	numbers [numberColumns]proto.ColInt64
	value   *proto.ColNullable[float64]
	buffer  proto.Buffer
}

// measureColumns appends and encodes blocks of finished rows.
func measureColumns() ([]harness.Measurement, error) {
	rows := finishedRows()
	block := newColumns()
	if err := block.fill(rows); err != nil { // grows the memory that later blocks reuse
		return nil, err
	}
	meter, err := harness.StartMeter(os.Getpid())
	if err != nil {
		return nil, err
	}
	for range columnRounds {
		if err := block.fill(rows); err != nil {
			return nil, err
		}
	}
	usage, err := meter.Read()
	if err != nil {
		return nil, err
	}
	outcome := harness.Outcome{Events: columnRounds * columnRows, Requests: columnRounds, Elapsed: usage.Elapsed}
	usage.Foreign += float64(usage.Generator) / float64(usage.Elapsed) // server and generator are the same process here
	row := outcome.Fill("columns of 44, blocks of 50000", harness.KindLimit, usage)
	row.Latency = nil
	row.Extra = map[string]float64{"bytesPerRow": float64(len(block.buffer.Buf)) / columnRows}
	return []harness.Measurement{row}, nil
}

func newColumns() *columns {
	c := &columns{value: proto.NewColNullable[float64](new(proto.ColFloat64))}
	for n := range c.words {
		c.words[n] = new(proto.ColStr).LowCardinality()
	}
	return c
}

// fill appends the rows to empty columns and encodes them.
func (c *columns) fill(rows []finishedRow) error {
	c.reset()
	for n := range rows {
		row := &rows[n]
		for at := range row.texts {
			c.texts[at].Append(row.texts[at])
		}
		for at := range row.words {
			c.words[at].Append(row.words[at])
		}
		for at, number := range row.numbers {
			c.numbers[at].Append(number)
		}
		c.value.Append(proto.Null[float64]())
	}
	for n := range c.texts {
		c.texts[n].EncodeColumn(&c.buffer)
	}
	for n := range c.words {
		if err := c.words[n].Prepare(); err != nil {
			return fmt.Errorf("preparing a column: %w", err)
		}
		c.words[n].EncodeState(&c.buffer)
		c.words[n].EncodeColumn(&c.buffer)
	}
	for n := range c.numbers {
		c.numbers[n].EncodeColumn(&c.buffer)
	}
	c.value.EncodeColumn(&c.buffer)
	return nil
}

func (c *columns) reset() {
	for n := range c.texts {
		c.texts[n].Reset()
	}
	for n := range c.words {
		c.words[n].Reset()
	}
	for n := range c.numbers {
		c.numbers[n].Reset()
	}
	c.value.Reset()
	c.buffer.Reset()
}

// finishedRows makes the rows of the reference load as the intake finishes them.
func finishedRows() []finishedRow {
	rows := make([]finishedRow, columnRows)
	now := time.Now().UnixMilli()
	for n := range rows {
		user, path := fmt.Sprintf("user-%08d", n*7919%harness.Users), fmt.Sprint(n%harness.Paths)
		row := &rows[n]
		row.texts = [textColumns]string{
			fmt.Sprintf("%08x-0000-4000-8000-%012x", n*2654435761, n), "https://shop.example.com/products/item-" + path + "?utm_source=news&utm_medium=email&utm_campaign=spring",
			"Item " + path + " - Example Shop", "https://www.google.com/", user, "", user, "sess-" + user[5:], "",
			`{"plan":"pro","price":49.95,"currency":"EUR","items":3}`,
		}
		browser := []string{"Chrome", "Safari", "Mobile Safari", "Firefox", "Chrome Mobile"}[n%5]
		row.words = [wordColumns]string{
			"$pageview", "/products/item-" + path, "www.google.com", "news", "email", "news", "email", "spring", "", "",
			"", "", "", "desktop", browser, "142", "Windows", "10", "1920x1080", "en-US", "", "", "",
		}
		for at := range row.numbers {
			row.numbers[at] = now + int64(n)
		}
	}
	return rows
}
