package broker

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"svc/storage/datadir"
)

// blanksFile lists batches that are being overwritten. If a process was killed meanwhile, Open completes the work.
const blanksFile = "blanks.json"

// blanksAtOnce bounds the number of batches in one blanksFile.
const blanksAtOnce = 4096

// blanked stores the place in each partition file up to which no record has a value.
type blanked struct {
	mu    sync.Mutex
	until map[string]int64 // position in each file by path; guarded by mu
}

// blank is a batch without the values of its records. It consists of the first bytes of the batch, and zeros up to its
// size.
type blank struct {
	File string `json:"file"`
	At   int64  `json:"at"`
	Size int64  `json:"size"`
	Head []byte `json:"head"`
}

// Forget overwrites the values of a topic's records below an offset of each partition. The broker deletes only whole
// files, so a file that never fills would retain its records forever. Offsets, times and sequence numbers stay, because
// the broker needs them when it opens. Forget first empties the journal, which has copies of the records.
func (b *Broker) Forget(topic string, before map[int]int64) error {
	b.blanked.mu.Lock()
	defer b.blanked.mu.Unlock()
	for {
		blanks, err := b.findBlanks(topic, before)
		if err == nil && len(blanks) > 0 && b.forcer != nil {
			err = b.forcer.eraseJournal()
		}
		if err == nil && len(blanks) > 0 {
			err = writeBlanks(b.dir, blanks)
		}
		if err != nil {
			b.blanked.until = nil // check all files again
			return fmt.Errorf("forgetting records: %w", err)
		}
		if len(blanks) < blanksAtOnce {
			return nil
		}
	}
}

// findBlanks returns the next batches to overwrite, at most blanksAtOnce.
func (b *Broker) findBlanks(topic string, before map[int]int64) (found []blank, err error) {
	known := b.blanked.until
	b.blanked.until = map[string]int64{} // this drops deleted files
	for partition := range before {
		folder := partitionDir(b.dir, topic, partition)
		files, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, file := range files {
			base, path := segmentBase(file.Name()), filepath.Join(folder, file.Name())
			if base < 0 {
				continue
			}
			b.blanked.until[path] = known[path]
			if base < before[partition] && len(found) < blanksAtOnce {
				if found, err = b.blanksIn(path, before[partition], found); err != nil {
					return nil, err
				}
			}
		}
	}
	return found, nil
}

// blanksIn appends the blanks for the batches of a file that end below an offset.
func (b *Broker) blanksIn(path string, before int64, found []blank) ([]blank, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return found, nil // the file was trimmed meanwhile
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the file was only read
	name, err := filepath.Rel(b.dir, path)
	if err != nil {
		return nil, err
	}
	at := b.blanked.until[path]
	for len(found) < blanksAtOnce {
		batch, err := readBatch(file, at)
		if err != nil {
			return nil, err
		}
		if batch == nil || lastOffset(batch) >= before {
			break
		}
		if head := blankHead(batch); head != nil {
			found = append(found, blank{File: name, At: at, Size: int64(len(batch)), Head: head})
		}
		at += int64(len(batch))
	}
	b.blanked.until[path] = at
	return found, nil
}

// These constants are positions in the header of a batch, and the size of the header.
const (
	batchLength     = 8
	batchSum        = 17
	batchAttributes = 21
	batchLastDelta  = 23
	batchRecords    = 57
	batchHead       = 61
)

// readBatch returns the batch at a position in a file. It returns nil if the batch there is not complete yet.
func readBatch(file *os.File, at int64) ([]byte, error) {
	head := make([]byte, batchHead)
	if _, err := file.ReadAt(head, at); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[batchLength:]))) + batchLength + 4
	info, err := file.Stat()
	if err != nil || size < batchHead || at+size > info.Size() {
		return nil, err
	}
	batch := make([]byte, size)
	if _, err := file.ReadAt(batch, at); err != nil {
		return nil, err
	}
	if checksum(batch) != binary.BigEndian.Uint32(batch[batchSum:]) {
		return nil, nil
	}
	return batch, nil
}

func lastOffset(batch []byte) int64 {
	return int64(binary.BigEndian.Uint64(batch)) + int64(int32(binary.BigEndian.Uint32(batch[batchLastDelta:])))
}

func checksum(batch []byte) uint32 {
	return crc32.Checksum(batch[batchAttributes:], crc32.MakeTable(crc32.Castagnoli))
}

// blankHead returns the first bytes of a batch of one record with neither key nor value. A record header with an empty
// name and a value of zeros fills their space. blankHead returns nil if the batch already has this form, has another
// form, or has no room for the header.
func blankHead(batch []byte) []byte {
	if binary.BigEndian.Uint16(batch[batchAttributes:]) != 0 || binary.BigEndian.Uint32(batch[batchRecords:]) != 1 {
		return nil
	}
	at := batchHead
	var length int64
	for field := range 4 { // length, attributes, and the differences of time and offset
		if field == 1 {
			at++
			continue
		}
		value, n := binary.Varint(batch[min(at, len(batch)):])
		if n <= 0 {
			return nil
		}
		if at += n; field == 0 {
			length = value
		}
	}
	if int64(len(batch)) != int64(batchHead)+length+int64(len(binary.AppendVarint(nil, length))) {
		return nil
	}
	head := slices.Concat(batch[:at], []byte{1, 0, 2, 0}) // no key, an empty value, one header, an empty name
	room := len(batch) - len(head)
	width := len(binary.AppendVarint(nil, int64(max(room, 0))))
	if room < width {
		return nil
	}
	head = appendWide(head, uint64(2*(room-width)), width)
	whole := append(slices.Clone(head), make([]byte, room-width)...)
	if bytes.Equal(whole[batchHead:], batch[batchHead:]) {
		return nil
	}
	binary.BigEndian.PutUint32(head[batchSum:], checksum(whole))
	return head
}

// appendWide appends a number as a varint of a given width.
func appendWide(to []byte, value uint64, width int) []byte {
	for n := range width {
		more := byte(0x80)
		if n == width-1 {
			more = 0
		}
		to = append(to, byte(value&0x7f)|more)
		value >>= 7
	}
	return to
}

// writeBlanks overwrites batches. Since a half-written batch would end the log, it first stores a note of all blanks.
func writeBlanks(dir string, blanks []blank) error {
	encoded, err := json.Marshal(blanks)
	if err != nil {
		return err
	}
	if err := datadir.Replace(filepath.Join(dir, blanksFile), encoded); err != nil {
		return err
	}
	return applyBlanks(dir, blanks)
}

// finishBlanks completes the work of a killed process from its note.
func finishBlanks(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, blanksFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var blanks []blank
	if err == nil {
		err = json.Unmarshal(content, &blanks)
	}
	if err == nil {
		err = applyBlanks(dir, blanks)
	}
	if err != nil {
		return fmt.Errorf("finishing to forget records: %w", err)
	}
	return nil
}

// applyBlanks writes blanks, syncs their files to disk and removes the note.
func applyBlanks(dir string, blanks []blank) error {
	var touched []string
	for _, one := range blanks {
		if !filepath.IsLocal(one.File) {
			return fmt.Errorf("%s is outside of the log", one.File)
		}
		path := filepath.Join(dir, one.File)
		if err := one.apply(path); err != nil {
			return err
		}
		touched = append(touched, path)
	}
	if err := forceFiles(slices.Compact(touched)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, blanksFile)); err != nil {
		return err
	}
	return force(dir)
}

// apply overwrites one batch. If the file is missing, it was trimmed.
func (o *blank) apply(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	content := append(slices.Clone(o.Head), make([]byte, o.Size-int64(len(o.Head)))...)
	_, err = file.WriteAt(content, o.At)
	return errors.Join(err, file.Close())
}
