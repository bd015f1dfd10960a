package chdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// insert streams body into the engine as the rows of the statement. buffer is the memory through which the body passes.
// After an error the incomplete block is not written; earlier blocks may be stored, as with any ClickHouse server.
func (c *conn) insert(ctx context.Context, s *statement, body io.Reader, buffer []byte) error {
	c.spoiled = true // until the engine has finished the statement
	defer c.watch(ctx)()
	stream := c.call(c.lib.insertParams, s)
	defer c.lib.insertDestroy(stream)
	if text := c.lib.insertError(stream); text != nil {
		return parseException(goString(text))
	}
	appended, err := c.appendAll(stream, body, buffer)
	if err != nil {
		c.lib.insertCancel(stream)
		return fmt.Errorf("reading the rows to insert: %w", err)
	}
	result := c.lib.insertDone(stream)
	defer c.lib.destroyResult(result)
	if text := c.lib.resultError(result); text != nil {
		return parseException(goString(text))
	}
	if !appended {
		return newException(codeUnknownException, "UNKNOWN_EXCEPTION", "the engine stopped reading the rows and gave no reason")
	}
	c.spoiled = false
	return nil
}

// appendAll passes the body to the engine. It returns false if the engine failed and accepts no more data; insertDone
// then returns the reason.
func (c *conn) appendAll(stream unsafe.Pointer, body io.Reader, buffer []byte) (appended bool, err error) {
	for {
		n, err := readFull(body, buffer)
		if n > 0 && c.lib.insertAppend(stream, unsafe.Pointer(&buffer[0]), uintptr(n)) != 0 {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
}

// readFull fills buffer as far as the body allows. Unlike io.ReadFull it returns the error of the body: io.EOF is the
// regular end, io.ErrUnexpectedEOF a body that was cut off.
func readFull(body io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var m int
		m, err = body.Read(buffer[n:])
		n += m
	}
	return n, err
}
