package chdb

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/ClickHouse/ch-go/proto"
)

// checksumsVersion begins a checksums file in the format that this package reads. It ignores files of other versions.
const checksumsVersion = "checksums format version: 4\n"

// hashBytes is the size of a file's hash.
const hashBytes = 16

// notedSizes returns the sizes of a part's files according to its checksums file.
func notedSizes(path string) (map[string]int64, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rest, known := bytes.CutPrefix(content, []byte(checksumsVersion))
	if !known {
		return nil, nil
	}
	sizes, err := readSizes(proto.NewReader(compress.NewReader(bytes.NewReader(rest))))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return sizes, nil
}

// readSizes reads for each file its name, its size, a hash, and the size and hash before compression.
func readSizes(r *proto.Reader) (map[string]int64, error) {
	files, err := r.UVarInt()
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for range files {
		name, err := r.Str()
		if err != nil {
			return nil, err
		}
		size, err := r.UVarInt()
		if err != nil {
			return nil, err
		}
		if _, err := r.ReadRaw(hashBytes); err != nil {
			return nil, err
		}
		compressed, err := r.Bool()
		if err != nil {
			return nil, err
		}
		if compressed {
			if _, err := r.UVarInt(); err != nil {
				return nil, err
			}
			if _, err := r.ReadRaw(hashBytes); err != nil {
				return nil, err
			}
		}
		if !strings.HasSuffix(name, ".proj") { // a folder with its own checksums
			sizes[name] = int64(size)
		}
	}
	return sizes, nil
}
