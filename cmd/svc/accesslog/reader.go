package accesslog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxLineBytes limits a line. Servers refuse much shorter requests, so a file with longer lines is not an access log.
const MaxLineBytes = 64 << 10

// Reader returns the lines of a file one after another. It decompresses gzip files, including several members in one
// file.
type Reader struct {
	file   *os.File
	unzip  *gzip.Reader
	buffer *bufio.Reader
}

// Open returns a reader before the first line of a file; lines have up to longest bytes.
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

// Next returns the next line without its line break, and io.EOF after the last. The line is valid until the next call.
// Of a line that is too long, it returns only the beginning.
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
