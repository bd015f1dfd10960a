package broker

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc/storage/datadir"
)

// Files in the folder of the embedded broker. Without metaFile or topicsFile the broker takes the
// folder for an empty one. identityFile is written by this package.
const (
	metaFile     = "meta.json"
	topicsFile   = "topics.json"
	identityFile = "svc-log-id"
)

// ErrDamaged reports a folder of the embedded broker that has records and lacks a file without which
// the broker would not see them.
var ErrDamaged = errors.New("the folder of the log is damaged")

// Damage describes a folder that lacks a file: which one, and how much it holds.
type Damage struct {
	Missing    string
	Partitions int
	Records    int64
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%v: %s is missing, and %d partitions have %d records", ErrDamaged, d.Missing, d.Partitions, d.Records)
}

// Unwrap makes every Damage an [ErrDamaged].
func (d *Damage) Unwrap() error { return ErrDamaged }

// inspect returns a [Damage] if the folder has records that the broker would not see.
func inspect(dir string) error {
	for _, name := range []string{metaFile, topicsFile} {
		_, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("looking at the log: %w", err)
		}
		found, err := countRecords(dir)
		if err != nil {
			return fmt.Errorf("looking at the log: %w", err)
		}
		if found.Records > 0 {
			found.Missing = name
			return found
		}
	}
	return nil
}

// countRecords counts the records in the folder, by the headers of the batches.
func countRecords(dir string) (*Damage, error) {
	files, err := filepath.Glob(filepath.Join(dir, "partitions", "*", "*.dat"))
	if err != nil {
		return nil, err
	}
	found, seen := &Damage{}, map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		records := recordsIn(content)
		if found.Records += records; records > 0 && !seen[filepath.Dir(file)] {
			seen[filepath.Dir(file)] = true
			found.Partitions++
		}
	}
	return found, nil
}

// recordsIn counts the records of the whole batches of a file.
func recordsIn(content []byte) (records int64) {
	const length, lastDelta, head = 8, 23, 61 // positions in the header of a batch, and its size
	for len(content) >= head {
		size := int(int32(binary.BigEndian.Uint32(content[length:]))) + length + 4
		if size < head || size > len(content) {
			break
		}
		records += int64(int32(binary.BigEndian.Uint32(content[lastDelta:]))) + 1
		content = content[size:]
	}
	return records
}

// Repair writes metaFile again, without which the broker takes the folder for an empty one.
// It touches no record.
func Repair(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, topicsFile)); err != nil {
		return fmt.Errorf("repairing the log: %s cannot be made again, restore it from a backup: %w", topicsFile, err)
	}
	id, err := identity(dir)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(map[string]any{"version": 1, "cluster_id": id})
	if err != nil {
		return err
	}
	return datadir.Replace(filepath.Join(dir, metaFile), encoded)
}

// identity returns the cluster id of the broker on a folder, and chooses one for a new folder.
func identity(dir string) (string, error) {
	file := filepath.Join(dir, identityFile)
	id, err := os.ReadFile(file)
	if err == nil && len(id) > 0 {
		return strings.TrimSpace(string(id)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the id of the log: %w", err)
	}
	made := rand.Text()
	if raw, err := os.ReadFile(filepath.Join(dir, metaFile)); err == nil { // written by a version without identityFile
		var meta struct {
			ClusterID string `json:"cluster_id"`
		}
		if json.Unmarshal(raw, &meta) == nil && meta.ClusterID != "" {
			made = meta.ClusterID
		}
	}
	if err := datadir.Replace(file, []byte(made+"\n")); err != nil {
		return "", fmt.Errorf("noting the id of the log: %w", err)
	}
	return made, nil
}
