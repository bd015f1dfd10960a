package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// logLine is a record of the log in a backup.
type logLine struct {
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
	Time      time.Time `json:"time"`
	Value     []byte    `json:"value"`
}

// readAtOnce is the number of log records that are copied at a time; one may have a megabyte.
const readAtOnce = 64

// copyLog copies the accepted but unstored records, in order.
func (b *Maker) copyLog(ctx context.Context, m *Manifest, path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copying the log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	for _, partition := range slices.Sorted(maps.Keys(m.Log)) {
		at := m.Log[partition]
		for from := at.From; from < at.To; from += readAtOnce {
			last := min(from+readAtOnce, at.To) - 1
			records, err := b.Consumer.Read(ctx, partition, from, last)
			if err != nil {
				return fmt.Errorf("copying the log: %w", err)
			}
			if int64(len(records)) != last-from+1 {
				return fmt.Errorf("copying the log: of the records %d to %d of partition %d only %d are there", from, last, partition, len(records))
			}
			for _, r := range records {
				if err := encoder.Encode(logLine{partition, r.Offset, r.Time, r.Value}); err != nil {
					return fmt.Errorf("copying the log: %w", err)
				}
			}
		}
	}
	return out.Flush()
}

// ReadLog calls yield with the log records in the backup of a folder, in order, and returns their number.
func ReadLog(dir string, yield func(partition int, payload []byte) error) (records int, err error) {
	file, err := os.Open(filepath.Join(dir, LogFile))
	if err != nil {
		return 0, fmt.Errorf("reading the log of the backup: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; records++ {
		var line logLine
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return records, fmt.Errorf("reading the log of the backup: %w", err)
		}
		if err := yield(line.Partition, line.Value); err != nil {
			return records, err
		}
	}
}
