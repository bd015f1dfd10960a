package broker

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"svc/storage/datadir"
)

// Files in the folder of the embedded broker. Without metaFile or topicsFile the broker takes the folder for an empty
// one. This package writes identityFile.
const (
	metaFile     = "meta.json"
	topicsFile   = "topics.json"
	identityFile = "svc-log-id"
)

// ErrDamaged reports a folder of the embedded broker that has records but lacks a readable file that the broker needs
// to see them.
var ErrDamaged = errors.New("the folder of the log is damaged")

// Damage names the file, its state ("is missing", "is not readable"), and the contents of the folder.
type Damage struct {
	File, State string
	Partitions  int
	Records     int64
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%v: %s %s, and %d partitions have %d records", ErrDamaged, d.File, d.State, d.Partitions, d.Records)
}

// Unwrap makes every Damage an [ErrDamaged].
func (d *Damage) Unwrap() error { return ErrDamaged }

// inspect returns a [Damage] if the folder has records that the broker would not see.
func inspect(dir string) error {
	for _, name := range []string{metaFile, topicsFile} {
		state, err := stateOfNote(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("looking at the log: %w", err)
		}
		if state == "" {
			continue
		}
		found, err := countRecords(dir)
		if err != nil {
			return fmt.Errorf("looking at the log: %w", err)
		}
		if found.Records > 0 {
			found.File, found.State = name, state
			return found
		}
	}
	return nil
}

// stateOfNote returns the defect of a JSON file of the broker, or "" if the file is valid.
func stateOfNote(file string) (string, error) {
	content, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing", nil
	case err != nil:
		return "", err
	case !json.Valid(content):
		return "is not readable", nil
	}
	return "", nil
}

// countRecords counts the records in the folder. It reads the headers of the batches.
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

// recordsIn counts the records of the complete batches of a file.
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

// noteVersion is the version of the broker's files that Repair writes.
const noteVersion = 1

// Repair rewrites metaFile and topicsFile if they are damaged. It changes no record. The topics come from cfg and from
// the existing partition folders. settings are the settings that a topic gets when it is created; the node applies all
// other settings at every start.
func Repair(cfg Config, settings map[string]string) error {
	id, err := identity(cfg.Dir)
	if err != nil {
		return err
	}
	topics, err := topicsIn(cfg, settings)
	if err != nil {
		return fmt.Errorf("looking for the topics of the log: %w", err)
	}
	for name, content := range map[string]any{
		metaFile:   map[string]any{"version": noteVersion, "cluster_id": id},
		topicsFile: map[string]any{"version": noteVersion, "topics": topics},
	} {
		file := filepath.Join(cfg.Dir, name)
		state, err := stateOfNote(file)
		if err != nil {
			return fmt.Errorf("repairing the log: %w", err)
		}
		if state == "" {
			continue
		}
		encoded, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := datadir.Replace(file, encoded); err != nil {
			return fmt.Errorf("repairing the log: %w", err)
		}
	}
	return nil
}

// topicNote describes a topic in topicsFile.
type topicNote struct {
	Name       string            `json:"name"`
	ID         []byte            `json:"id"`
	Partitions int               `json:"partitions"`
	Replicas   int               `json:"replicas"`
	Configs    map[string]string `json:"configs,omitempty"`
}

// topicsIn returns the topics of the configuration and of the partition folders, sorted by name.
func topicsIn(cfg Config, settings map[string]string) ([]topicNote, error) {
	partitions := map[string]int{}
	for _, topic := range cfg.Topics {
		partitions[topic] = max(cfg.Partitions, cfg.Wider[topic])
	}
	folders, err := filepath.Glob(filepath.Join(cfg.Dir, "partitions", "*-*"))
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		dash := strings.LastIndexByte(name, '-')
		partition, err := strconv.Atoi(name[dash+1:])
		if err != nil {
			continue // not a folder of the broker
		}
		topic, err := url.PathUnescape(name[:dash])
		if err != nil {
			continue
		}
		partitions[topic] = max(partitions[topic], partition+1)
	}
	var notes []topicNote
	for _, topic := range slices.Sorted(maps.Keys(partitions)) {
		id := make([]byte, 16)
		_, _ = rand.Read(id) // never fails
		notes = append(notes, topicNote{Name: topic, ID: id, Partitions: partitions[topic], Replicas: 1, Configs: settings})
	}
	return notes, nil
}

// identity returns the cluster id of the broker on a folder. For a new folder it chooses one.
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
