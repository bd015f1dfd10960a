package broker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"svc/storage/datadir"
)

const (
	// windowsFile holds the newest batches of every producer. With it the broker recognises a batch that is sent again.
	windowsFile = "seq_windows.json"

	// windowSize is the number of batches per producer and partition that the broker remembers.
	windowSize = 5
)

// window lists the newest batches of a producer in a partition, as an entry of
// windowsFile.
type window struct {
	Producer  int64                `json:"pid"`
	Topic     string               `json:"topic"`
	Partition int32                `json:"partition"`
	Entries   [windowSize]sequence `json:"entries"`
	Count     int                  `json:"count"`
	At        int                  `json:"at"`
	Epoch     int16                `json:"epoch"`
	Seen      bool                 `json:"seen"`
	Next      int32                `json:"next_seq"`
}

// sequence holds the sequence numbers of one batch.
type sequence struct {
	First  int32 `json:"first_seq"`
	Next   int32 `json:"next_seq"`
	Offset int64 `json:"offset"`
}

// add adds the next batch of the window's producer.
func (w *window) add(epoch int16, batch sequence) {
	if epoch != w.Epoch {
		w.Epoch, w.Count, w.At = epoch, 0, 0
	}
	w.Entries[w.At] = batch
	w.At = (w.At + 1) % windowSize
	w.Count = min(w.Count+1, windowSize)
	w.Seen, w.Next = true, batch.Next
}

// rememberProducers writes windowsFile from the newest segment of every partition. The broker itself writes the file
// only when it stops. After a kill it would not know the batches since then. It would append a repeated batch twice,
// and refuse the next batch of a producer that it knew before.
func rememberProducers(dir string) error {
	folders, err := os.ReadDir(filepath.Join(dir, "partitions"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking for producers: %w", err)
	}
	windows := []*window{}
	for _, folder := range folders {
		found, err := producersOf(filepath.Join(dir, "partitions", folder.Name()))
		if err != nil {
			return fmt.Errorf("looking for producers of %s: %w", folder.Name(), err)
		}
		windows = append(windows, found...)
	}
	encoded, err := json.Marshal(map[string]any{"version": 1, "windows": windows})
	if err != nil {
		return err
	}
	return datadir.Replace(filepath.Join(dir, windowsFile), encoded)
}

// producersOf returns the windows of the producers that wrote to the newest segment of a partition.
func producersOf(folder string) ([]*window, error) {
	name := filepath.Base(folder)
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return nil, nil
	}
	partition, err := strconv.ParseInt(name[cut+1:], 10, 32)
	if err != nil {
		return nil, nil //nolint:nilerr // it is not the folder of a partition
	}
	topic, err := url.PathUnescape(name[:cut])
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	newest := slices.MaxFunc(append(files, nil), func(a, b os.DirEntry) int { return int(baseOf(a) - baseOf(b)) })
	if baseOf(newest) < 0 {
		return nil, nil
	}
	content, err := os.ReadFile(filepath.Join(folder, newest.Name()))
	if err != nil {
		return nil, err
	}
	return windowsIn(content, topic, int32(partition)), nil
}

// baseOf is segmentBase for a directory entry. The entry may be nil.
func baseOf(file os.DirEntry) int64 {
	if file == nil {
		return -1
	}
	return segmentBase(file.Name())
}

// windowsIn reads the headers of the complete batches of a segment. It stops at the first incomplete batch: the broker
// cuts that batch off and must not remember it.
func windowsIn(content []byte, topic string, partition int32) (found []*window) {
	const head, sum, attributes, control = 61, 17, 21, 0x20
	be := binary.BigEndian
	for len(content) >= head {
		length := int(int32(be.Uint32(content[8:]))) + 12
		if length < head || length > len(content) {
			return found
		}
		batch := content[:length]
		if crc32.Checksum(batch[attributes:], crc32.MakeTable(crc32.Castagnoli)) != be.Uint32(batch[sum:]) {
			return found
		}
		content = content[length:]
		producer, first := int64(be.Uint64(batch[43:])), int32(be.Uint32(batch[53:]))
		if producer < 0 || be.Uint16(batch[attributes:])&control != 0 {
			continue
		}
		i := slices.IndexFunc(found, func(w *window) bool { return w.Producer == producer })
		if i < 0 {
			i = len(found)
			found = append(found, &window{Producer: producer, Topic: topic, Partition: partition})
		}
		next := (int64(first) + int64(be.Uint32(batch[57:]))) % math.MaxInt32
		found[i].add(int16(be.Uint16(batch[51:])), sequence{first, int32(next), int64(be.Uint64(batch))})
	}
	return found
}
