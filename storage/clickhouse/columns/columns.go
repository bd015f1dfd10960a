// Package columns encodes rows, column by column, in ClickHouse's Native format of revision 0. Inserts over HTTP use
// this format.
package columns

import (
	"bytes"
	"fmt"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// Column is a column of a table with its rows.
type Column struct {
	Name string
	Type proto.ColumnType
	Data interface{ EncodeColumn(b *proto.Buffer) }
}

// Types of columns that most tables have.
const (
	String = proto.ColumnTypeString
	Word   = proto.ColumnType("LowCardinality(String)")
	Time   = proto.ColumnType("DateTime64(3, 'UTC')")
)

// Reset empties columns and retains their memory.
func Reset(columns []Column) {
	for _, c := range columns {
		switch data := c.Data.(type) {
		case *Dictionary:
			data.reset()
		case proto.Resettable:
			data.Reset()
		}
	}
}

// Encode writes columns with the given number of rows as one block. The result is valid until the next use of the
// buffer.
func Encode(into *proto.Buffer, columns []Column, rows int) []byte {
	into.Reset()
	into.PutUVarInt(uint64(len(columns)))
	into.PutUVarInt(uint64(rows))
	for _, c := range columns {
		into.PutString(c.Name)
		into.PutString(string(c.Type))
		c.Data.EncodeColumn(into)
	}
	return into.Buf
}

// Fill decodes a block into the columns of a client's batch. The columns must be the same.
func Fill(batch []column.Interface, encoded []byte) error {
	reader := proto.NewReader(bytes.NewReader(encoded))
	count, err := reader.UVarInt()
	if err != nil {
		return fmt.Errorf("reading the number of columns: %w", err)
	}
	rows, err := reader.UVarInt()
	if err != nil {
		return fmt.Errorf("reading the number of rows: %w", err)
	}
	if uint64(len(batch)) != count {
		return fmt.Errorf("the table takes %d columns, the block has %d", len(batch), count)
	}
	for _, c := range batch {
		if err := fillColumn(c, reader, int(rows)); err != nil {
			return fmt.Errorf("reading the column %s: %w", c.Name(), err)
		}
	}
	return nil
}

// fillColumn decodes the next column of a block.
func fillColumn(c column.Interface, reader *proto.Reader, rows int) error {
	for range 2 { // skip the column's name and type
		if _, err := reader.Str(); err != nil {
			return err
		}
	}
	if prefixed, ok := c.(column.CustomSerialization); ok {
		if err := prefixed.ReadStatePrefix(reader); err != nil {
			return err
		}
	}
	return c.Decode(reader, rows)
}
