package chdb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// framed reports whether the output in a format has a header or a footer. The library writes these around each piece of
// a stream, as if the piece were the complete output.
func framed(format string) bool { return format == "Parquet" || format == "CSVWithNames" }

// byFile runs a SELECT with framed output and passes the output to write once it is complete. The engine writes it to a
// file, so that its size does not count as memory.
func (c *conn) byFile(s *statement, write func([]byte) error) (err error) {
	path := filepath.Join(c.scratch, c.name+".output")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // left by a killed process
		return fmt.Errorf("removing an output: %w", err)
	}
	insert := *s
	insert.text = "INSERT INTO FUNCTION file(" + quoteString(path) + ", " + quoteString(s.format) + ") " + s.text
	err = c.whole(&insert, func([]byte) error { return nil })
	file, failure := os.Open(path)
	if failure == nil {
		defer func() { _ = file.Close() }() // the file was only read
		failure = os.Remove(path)
	}
	if err != nil { // error of the statement, which may have left no file
		return err
	}
	if failure != nil {
		return fmt.Errorf("opening an output: %w", failure)
	}
	buffer := make([]byte, copyBuffer)
	for {
		n, err := file.Read(buffer)
		if n > 0 {
			if err := write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading an output: %w", err)
		}
	}
}
