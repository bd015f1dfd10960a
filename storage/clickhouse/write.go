package clickhouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse/columns"
)

// Column is the name and the type of a column.
type Column = clickhouse.ColumnNameAndType

// Exec runs a statement without a result on the shard of the environment that its arguments name.
func (c *Conn) Exec(ctx context.Context, statement string, args Args) error {
	return c.routed(args).driver.Exec(ctx, statement, args.list()...)
}

// Derive runs an INSERT of the result of a query, with the given settings. Like calls of Read, it reads no hidden rows.
func (c *Conn) Derive(ctx context.Context, statement string, own Settings, args Args) error {
	settings := c.readSettings()
	delete(settings, "readonly")
	delete(settings, "cancel_http_readonly_queries_on_client_close")
	maps.Copy(settings, own)
	return c.Exec(WithSettings(ctx, settings), statement, args)
}

// Write runs a write of several tables. A snapshot has all of it or none.
func (c *Conn) Write(write func() error) error {
	c.writes.RLock()
	defer c.writes.RUnlock()
	return write()
}

// WithoutWrites runs a function while no write of this process is under way.
func (c *Conn) WithoutWrites(run func() error) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	return run()
}

// InsertEncoded sends a block of columns with an insert statement. The block has the Native format of revision 0.
func (c *Conn) InsertEncoded(ctx context.Context, statement string, encoded []byte) error {
	if c.native {
		return c.InsertBatch(ctx, statement, encoded)
	}
	return c.driver.InsertFormat(ctx, "Native", statement, bytes.NewReader(encoded))
}

// InsertNative inserts the rows of a result in the Native format, as [Conn.Format] returns it. Over ClickHouse's TCP
// protocol it returns not_available.
func (c *Conn) InsertNative(ctx context.Context, statement string, rows io.Reader) error {
	if c.native {
		return errFormats()
	}
	return c.driver.InsertFormat(ctx, "Native", statement, rows)
}

// InsertBatch is InsertEncoded over ClickHouse's TCP protocol, which accepts rows only through a batch of the client.
// It decodes the block into the columns of the batch.
func (c *Conn) InsertBatch(ctx context.Context, statement string, encoded []byte) error {
	batch, err := c.driver.PrepareBatch(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	if err := columns.Fill(batch.Columns(), encoded); err != nil {
		return err
	}
	return batch.Send()
}

// ErrRow means that a row was not sent because its table cannot hold it.
var ErrRow = errors.New("the row does not fit its table")

// RowError wraps the error of an unsent row with [ErrRow].
func RowError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRow, err)
}

// Rows is an insert of a few rows. It begins with the first row. The zero value has no rows.
type Rows struct{ batch driver.Batch }

// Append adds a row to an insert statement. The columns save a query for the table's columns.
func (r *Rows) Append(ctx context.Context, conn *Conn, statement string, columns []Column, values ...any) (err error) {
	if r.batch == nil {
		ctx = clickhouse.Context(ctx, clickhouse.WithColumnNamesAndTypes(columns))
		if r.batch, err = conn.driver.PrepareBatch(ctx, statement); err != nil {
			return err
		}
	}
	if err = r.batch.Append(values...); err != nil {
		_ = r.batch.Close() // the row is already refused
	}
	return RowError(err)
}

// Send ends the insert. Without rows it does nothing.
func (r *Rows) Send() error {
	if r.batch == nil {
		return nil
	}
	return r.batch.Send()
}

// InsertBlock runs the insert of a block. Meanwhile reads omit the block or wait, so that they see all of it or none.
func (c *Conn) InsertBlock(block uint64, insert func() error) error {
	return c.Write(func() error { return c.inserts.insert(block, insert) })
}
