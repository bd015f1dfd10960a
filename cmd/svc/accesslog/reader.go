package accesslog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxLineBytes bounds a line. Servers refuse requests far shorter than this;
// what is longer is no access log.
const MaxLineBytes = 64 << 10

// Reader hands out the lines of a file one after another. A file that begins as
// gzip does is inflated; several members in one file are read on.
type Reader struct {
	file   *os.File
	unzip  *gzip.Reader
	buffer *bufio.Reader
}

// Open returns a reader of a file whose lines have up to longest bytes, before the first
// of them.
func Open(name string, longest int) (*Reader, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: file, buffer: bufio.NewReaderSize(file, longest)}
	if magic, _ := r.buffer.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return r, nil
	}
	if r.unzip, err = gzip.NewReader(r.buffer); err != nil {
		return nil, errors.Join(fmt.Errorf("inflating %s: %w", name, err), file.Close())
	}
	r.buffer = bufio.NewReaderSize(r.unzip, longest)
	return r, nil
}

// Next returns the next line without its line break, and io.EOF after the last.
// The line is valid until the next call. Of a line that is too long only the
// beginning is returned.
func (r *Reader) Next() ([]byte, error) {
	line, err := r.buffer.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		kept := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.buffer.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return kept, nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	}
	return nil, err
}

// Close releases the file.
func (r *Reader) Close() error {
	if r.unzip != nil {
		_ = r.unzip.Close() // it holds no resource of its own
	}
	return r.file.Close()
}
