package broker

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// partitionDir returns the folder with the embedded broker's files of a partition.
func partitionDir(dir, topic string, partition int) string {
	return filepath.Join(dir, "partitions", url.PathEscape(topic)+"-"+strconv.Itoa(partition))
}

// Surplus returns the offset below which the records of a partition exceed keep bytes, or 0 if they do not. It counts
// whole files. The broker reads all of them when it opens, so their size limits the time of a start.
func (b *Broker) Surplus(topic string, partition int, keep int64) (int64, error) {
	entries, err := os.ReadDir(partitionDir(b.dir, topic, partition))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("measuring partition %d: %w", partition, err)
	}
	type segment struct{ base, size int64 }
	var newest []segment
	for _, entry := range entries {
		base := segmentBase(entry.Name())
		if base < 0 {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // the file was trimmed meanwhile
		}
		if err != nil {
			return 0, fmt.Errorf("measuring partition %d: %w", partition, err)
		}
		newest = append(newest, segment{base, info.Size()})
	}
	slices.SortFunc(newest, func(a, b segment) int { return cmp.Compare(b.base, a.base) })
	for _, s := range newest {
		if keep -= s.size; keep <= 0 {
			return s.base, nil
		}
	}
	return 0, nil
}
