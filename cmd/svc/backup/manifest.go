package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	snapshots "svc/storage/clickhouse/backup"
	"svc/storage/datadir"
)

// The forms of a backup: of one store, and of several.
const (
	version        = 1
	versionSeveral = 2
)

// The locations of a backup's master key.
const (
	KeyInside     = "in the backup"
	KeyLeftOut    = "left out"
	KeyConfigured = "SVC_MASTER_KEY"
)

// Manifest lists the contents of a backup. It is written last.
type Manifest struct {
	Version int       `json:"version"`
	MadeAt  time.Time `json:"madeAt"`
	// Facts are the facts of the installation, which identify the data.
	Facts      map[string]string `json:"facts"`
	Partitions int               `json:"partitions"`
	// Log has the accepted but unstored records by partition.
	Log     map[int]Span `json:"log"`
	Records int64        `json:"records"`
	Shard
	// Others are the stores after the first, by their places in SVC_CLICKHOUSE_DSN.
	Others []Shard `json:"others,omitempty"`
	Key    string  `json:"key"`
	// Files are the files in the folder, by their path.
	Files map[string]fileSum `json:"files"`
}

// Shard is one store of a backup.
type Shard struct {
	Snapshot *snapshots.Snapshot `json:"snapshot"`
	// Place is the place to which the store copied itself, in the store's syntax.
	Place string `json:"place"`
}

// Shards returns the stores, by their numbers.
func (m *Manifest) Shards() []Shard { return append([]Shard{m.Shard}, m.Others...) }

// setShards records the snapshots of the stores and their places, and the form that holds them.
func (m *Manifest) setShards(all []*snapshots.Snapshot, places []string) {
	m.Version, m.Others = version, nil
	for shard, s := range all {
		if shard == 0 {
			m.Shard = Shard{s, places[0]}
			continue
		}
		m.Version = versionSeveral
		m.Others = append(m.Others, Shard{s, places[shard]})
	}
}

// Span is a range of offsets; the last one is excluded.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

type fileSum struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// write syncs the files of a backup to disk, computes their checksums, and writes the manifest.
func (m *Manifest) write(dir string) (err error) {
	if m.Files, err = sumFiles(dir, datadir.Force); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the manifest: %w", err)
	}
	if err := datadir.Replace(filepath.Join(dir, ManifestFile), append(encoded, '\n')); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return nil
}

// ReadManifest reads the manifest of a backup and verifies the files against it.
func ReadManifest(dir string) (*Manifest, error) {
	encoded, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no whole backup: it has no %s, which is written last", dir, ManifestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(encoded, &m); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if m.Version != version && m.Version != versionSeveral || slices.ContainsFunc(m.Shards(), func(one Shard) bool { return one.Snapshot == nil }) {
		return nil, fmt.Errorf("the backup has version %d, and this program reads versions %d and %d", m.Version, version, versionSeveral)
	}
	found, err := sumFiles(dir, nil)
	if err != nil {
		return nil, err
	}
	delete(found, ManifestFile)
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		sum, there := found[name]
		switch {
		case !there:
			err = errors.Join(err, fmt.Errorf("%s is missing", name))
		case sum != m.Files[name]:
			err = errors.Join(err, fmt.Errorf("%s has changed: %d bytes, %d in the backup", name, sum.Size, m.Files[name].Size))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the backup in %s is damaged; nothing was restored: %w", dir, err)
	}
	return &m, nil
}

// sumFiles computes the checksums of the files below a folder.
func sumFiles(dir string, also func(path string) error) (map[string]fileSum, error) {
	sums := map[string]fileSum{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if also != nil {
			if err := also(path); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sums[filepath.ToSlash(name)], err = sumFile(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("summing up the files of the backup: %w", err)
	}
	return sums, nil
}

func sumFile(path string) (sum fileSum, err error) {
	file, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = file.Close() }() // it was only read
	hash := sha256.New()
	sum.Size, err = io.Copy(hash, file)
	sum.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return sum, err
}
