// Package backup copies everything of a running server into a folder, and describes such a folder: a snapshot of the
// store, the unstored records of the log, the master key, and a manifest, which is written last.
package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/http/admin"
	snapshots "svc/storage/clickhouse/backup"
	"svc/storage/kafka"
)

// Names in the folder of a backup.
const (
	ManifestFile = "manifest.json"
	StoreFolder  = "store"
	LogFile      = "log.ndjson"
	KeyFile      = "vault.key"
)

// attempts limits the attempts to find a moment at which no block is interrupted.
const attempts = 50

// attemptPause is the time between two attempts.
const attemptPause = 200 * time.Millisecond

// Maker makes the backups of a running server.
type Maker struct {
	Store    Store
	Log      Log
	Consumer Consumer
	// Pause stops the sink between two blocks until resume is called.
	Pause func(ctx context.Context) (resume func(), err error)
	// Spooled returns the number of bytes that were accepted and wait for the log.
	Spooled func() int64
	// Self is the name of this node as a member of the group that reads the log.
	Self string
	// Partitions are the partitions of the log.
	Partitions []int
	// Embedded is true if the store is the engine of this process. Within is then the folder below which the store may
	// write, empty for any folder.
	Embedded bool
	// Shards is the number of stores.
	Shards int
	// Replicated is true if the servers replicate the tables, which a backup does not support.
	Replicated bool
	Within     string
	// MasterKey is the file of the master key; empty if the key is configured.
	MasterKey string
	Now       func() time.Time
	Logger    *slog.Logger

	running sync.Mutex
}

// Store is the store as a backup reads it.
type Store interface {
	Facts(ctx context.Context) (map[string]string, error)
	// Snapshots takes a snapshot of every shard, all at one instant.
	Snapshots(ctx context.Context, id string) ([]*snapshots.Snapshot, error)
	VerifySnapshot(ctx context.Context, shard int, s *snapshots.Snapshot) error
	CopySnapshot(ctx context.Context, shard int, s *snapshots.Snapshot, place, id string) error
	DropSnapshot(ctx context.Context, shard int, name string) error
	// DropSnapshots removes the snapshots of interrupted backups.
	DropSnapshots(ctx context.Context) error
}

// Log is the topic of accepted events.
type Log interface {
	Ends(ctx context.Context) (map[int]int64, error)
}

// Consumer reads the topic, and knows the stored offsets.
type Consumer interface {
	Committed(ctx context.Context, partitions []int) ([]kafka.Position, error)
	Owners(ctx context.Context) (map[int]kafka.Owner, error)
	Read(ctx context.Context, partition int, first, last int64) ([]kafka.Record, error)
}

// Backup implements [admin.Backups]. It copies log, store, entities and key as they are at one instant.
//
//  1. The sink pauses between two blocks: everything stored is committed.
//  2. The positions of the log and its ends are recorded: the records between them were accepted and are not stored.
//  3. The stores link their files, while this process writes nothing.
//  4. The sink continues. The records between the positions and the linked files are copied.
//
// After a restore, the records between the positions are folded again, into a store that has not seen them.
func (b *Maker) Backup(ctx context.Context, spec admin.BackupSpec) (any, error) {
	if !b.running.TryLock() {
		return nil, domain.Errorf(domain.CodeConflict, "Another backup is under way.")
	}
	defer b.running.Unlock()
	places, err := b.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	m := &Manifest{MadeAt: b.Now().UTC(), Partitions: len(b.Partitions), Key: b.keyPlace(spec)}
	if m.Facts, err = b.Store.Facts(ctx); err != nil {
		return nil, err
	}
	all, err := b.snapshot(ctx, m)
	if err != nil {
		return nil, err
	}
	m.setShards(all, places)
	err = b.fill(ctx, m, spec.Dir)
	for shard, s := range all {
		err = errors.Join(err, b.Store.DropSnapshot(ctx, shard, s.Name))
	}
	if err != nil {
		return nil, fmt.Errorf("making the backup (what is in %s is not whole): %w", spec.Dir, err)
	}
	b.Logger.Info("a backup was made", "dir", spec.Dir, "records", m.Records)
	return m, nil
}

// prepare creates the folder and returns the places to which the stores copy themselves, by shard.
func (b *Maker) prepare(ctx context.Context, spec admin.BackupSpec) (places []string, err error) {
	if places, err = b.places(spec); err != nil {
		return nil, err
	}
	if err := b.onlyNode(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(spec.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the backup: %w", err)
	}
	entries, err := os.ReadDir(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("looking at the folder of the backup: %w", err)
	}
	if len(entries) > 0 {
		return nil, refused("dir", "The folder is not empty.")
	}
	return places, b.Store.DropSnapshots(ctx)
}

// places returns the places to which the stores copy themselves, or an error if the backup cannot be made.
func (b *Maker) places(spec admin.BackupSpec) ([]string, error) {
	if !filepath.IsAbs(spec.Dir) {
		return nil, refused("dir", "The folder of a backup is named by its whole path on the server's machine.")
	}
	places := spec.Stores
	if len(places) == 0 && spec.Store != "" {
		places = []string{spec.Store}
	}
	below := b.Within == "" || strings.HasPrefix(filepath.Clean(spec.Dir), b.Within+string(filepath.Separator))
	switch {
	case b.Replicated:
		return nil, refused("store", "The store is a cluster of replicas. Copy it with its own BACKUP statement; the log keeps what is not stored yet.")
	case b.Embedded && len(places) > 0:
		return nil, refused("store", "The embedded store copies itself into the folder; store is for a ClickHouse server.")
	case b.Embedded && !below:
		return nil, refused("dir", "While SVC_CLICKHOUSE_LISTEN is set, backups go below "+b.Within+".")
	case b.Embedded:
		return []string{FilePlace(spec.Dir)}, nil
	case b.Shards == 1 && len(places) != 1:
		return nil, refused("store", "Say where the ClickHouse server copies its tables to, in its own words, for example Disk('backups', 'svc-1') or S3('https://…', 'key', 'secret').")
	case b.Shards != len(places):
		return nil, refused("store", fmt.Sprintf("SVC_CLICKHOUSE_DSN lists %d servers: say for each of them, in that order, where it copies its tables to, as in --store \"Disk('backups', 'svc-1')\".", b.Shards))
	}
	return places, nil
}

func refused(field, message string) error {
	return domain.Invalid(domain.FieldError{Field: field, Code: "invalid_value", Message: message})
}

// FilePlace names the place of the embedded store's part of a backup, in the store's syntax.
func FilePlace(dir string) string {
	path := filepath.Join(dir, StoreFolder)
	return "File('" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(path) + "')"
}

// onlyNode fails if other nodes write to the store, because this node can pause only its own writes.
func (b *Maker) onlyNode(ctx context.Context) error {
	owners, err := b.Consumer.Owners(ctx)
	if err != nil {
		return domain.Unavailable("The group that reads the log", attemptPause)
	}
	for _, owner := range owners {
		if string(owner.UserData) != b.Self {
			return domain.Errorf(domain.CodeConflict, "The node %s writes to the same store. Stop all nodes but this one for the time of the backup; what is sent meanwhile is taken by this one.", owner.UserData)
		}
	}
	return nil
}

// snapshot records the positions of the log, and takes the matching snapshots.
func (b *Maker) snapshot(ctx context.Context, m *Manifest) ([]*snapshots.Snapshot, error) {
	for range attempts {
		resume, err := b.Pause(ctx)
		if err != nil {
			return nil, fmt.Errorf("waiting for the block under way: %w", err)
		}
		all, err := b.snapshotNow(ctx, m)
		resume()
		if all != nil || err != nil {
			return all, err
		}
		select {
		case <-time.After(attemptPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, domain.Unavailable("A moment without an interrupted block and with an empty spool", attempts*attemptPause)
}

// snapshotNow returns nil if a block is interrupted, because it may be partly stored, or if the spool holds items that
// the log has not accepted.
func (b *Maker) snapshotNow(ctx context.Context, m *Manifest) ([]*snapshots.Snapshot, error) {
	positions, err := b.Consumer.Committed(ctx, b.Partitions)
	if err != nil {
		return nil, err
	}
	if b.Spooled() > 0 { // accepted, and on its way into the log
		return nil, nil
	}
	for _, position := range positions {
		if position.Metadata != "" {
			return nil, nil
		}
	}
	ends, err := b.Log.Ends(ctx)
	if err != nil {
		return nil, err
	}
	m.Log, m.Records = map[int]Span{}, 0
	for _, position := range positions {
		m.Log[position.Partition] = Span{position.Offset, ends[position.Partition]}
		m.Records += ends[position.Partition] - position.Offset
	}
	return b.Store.Snapshots(ctx, m.MadeAt.Format("20060102150405"))
}

// keyPlace describes the location of a backup's master key.
func (b *Maker) keyPlace(spec admin.BackupSpec) string {
	switch {
	case b.MasterKey == "":
		return KeyConfigured
	case spec.WithoutKey:
		return KeyLeftOut
	}
	return KeyInside
}

// fill copies everything into the folder, the manifest last: a folder without one is not a backup.
func (b *Maker) fill(ctx context.Context, m *Manifest, dir string) error {
	if err := b.copyLog(ctx, m, filepath.Join(dir, LogFile)); err != nil {
		return err
	}
	for shard, one := range m.Shards() {
		if err := b.Store.VerifySnapshot(ctx, shard, one.Snapshot); err != nil {
			return fmt.Errorf("store %d: %w; stop the server and run `svc repair`", shard, err)
		}
		if err := b.Store.CopySnapshot(ctx, shard, one.Snapshot, one.Place, "make_"+one.Snapshot.Name); err != nil {
			return fmt.Errorf("store %d: %w", shard, err)
		}
	}
	if m.Key == KeyInside {
		key, err := os.ReadFile(b.MasterKey)
		if err != nil {
			return fmt.Errorf("copying the master key: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, KeyFile), key, 0o600); err != nil {
			return fmt.Errorf("copying the master key: %w", err)
		}
	}
	return m.write(dir)
}
