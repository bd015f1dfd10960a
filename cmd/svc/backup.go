package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"svc"
	"svc/http/admin"
	"svc/storage/clickhouse"
)

// Names in a backup.
const (
	backupManifest = "manifest.json"
	backupStore    = "store"
	backupLog      = "log.ndjson"
	backupKey      = keyFile
)

// backupsFolder is where in the data directory the embedded store may copy itself to while it
// serves other processes too, who could have it write elsewhere.
const backupsFolder = "backups"

// backupTries bounds how often a backup looks for a moment at which no block is interrupted.
const backupTries = 50

// backupPause is the time between two looks.
const backupPause = 200 * time.Millisecond

// backupSettings let the embedded engine copy itself.
func (n *node) backupSettings() map[string]string {
	allowed := "/"
	if n.config.StoreListen != "" {
		allowed = n.dir.Join(backupsFolder)
	}
	return map[string]string{"backups.allowed_path": allowed}
}

// Backup implements [admin.Backups]: log, store, entities and key as they are at one instant.
//
//  1. The sink stops between two blocks: what is stored is committed.
//  2. The positions of the log are noted, and its ends: what lies between was accepted and is
//     not stored.
//  3. The store links its files, while no write of this process is under way.
//  4. The sink goes on. What lies between the positions is copied, and the linked files.
//
// Restored, the records between the positions are folded again, into a store that has not seen
// them.
func (n *node) Backup(ctx context.Context, spec admin.BackupSpec) (any, error) {
	if !n.backingUp.TryLock() {
		return nil, svc.Errorf(svc.CodeConflict, "Another backup is under way.")
	}
	defer n.backingUp.Unlock()
	place, err := n.checkBackup(ctx, spec)
	if err != nil {
		return nil, err
	}
	m := &manifest{Version: manifestVersion, MadeAt: n.now().UTC(), Partitions: n.config.Partitions, Place: place, Key: n.keyKept(spec)}
	if m.Facts, err = n.db.Facts(ctx); err != nil {
		return nil, err
	}
	m.Snapshot, err = n.snapshot(ctx, m)
	if err != nil {
		return nil, err
	}
	err = n.fill(ctx, m, spec.Dir)
	if err := errors.Join(err, n.db.DropSnapshot(ctx, m.Snapshot.Name)); err != nil {
		return nil, fmt.Errorf("making the backup (what is in %s is not whole): %w", spec.Dir, err)
	}
	n.logger.Info("a backup was made", "dir", spec.Dir, "records", m.Records)
	return m, nil
}

// checkBackup makes the folder and returns where the store copies itself to.
func (n *node) checkBackup(ctx context.Context, spec admin.BackupSpec) (place string, err error) {
	refuse := func(field, message string) (string, error) {
		return "", svc.Invalid(svc.FieldError{Field: field, Code: "invalid_value", Message: message})
	}
	if !filepath.IsAbs(spec.Dir) {
		return refuse("dir", "The folder of a backup is named by its whole path on the server's machine.")
	}
	embedded := n.config.ClickHouseDSN == ""
	below := strings.HasPrefix(filepath.Clean(spec.Dir), n.dir.Join(backupsFolder)+string(filepath.Separator))
	switch {
	case embedded && spec.Store != "":
		return refuse("store", "The embedded store copies itself into the folder; store is for a ClickHouse server.")
	case embedded && n.config.StoreListen != "" && !below:
		return refuse("dir", "While SVC_CLICKHOUSE_LISTEN is set, backups go below "+n.dir.Join(backupsFolder)+".")
	case !embedded && spec.Store == "":
		return refuse("store", "Say where the ClickHouse server copies its tables to, in its own words, for example Disk('backups', 'svc-1') or S3('https://…', 'key', 'secret').")
	}
	if err := n.onlyNode(ctx); err != nil {
		return "", err
	}
	if err := os.MkdirAll(spec.Dir, 0o700); err != nil {
		return "", fmt.Errorf("making the folder of the backup: %w", err)
	}
	entries, err := os.ReadDir(spec.Dir)
	if err != nil {
		return "", fmt.Errorf("looking at the folder of the backup: %w", err)
	}
	if len(entries) > 0 {
		return refuse("dir", "The folder is not empty.")
	}
	if embedded {
		return filePlace(spec.Dir), nil
	}
	return spec.Store, nil
}

// filePlace names the store's part of a backup in the store's words.
func filePlace(dir string) string {
	path := filepath.Join(dir, backupStore)
	return "File('" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(path) + "')"
}

// onlyNode fails where other nodes write to the store: this one can hold its own writes only.
func (n *node) onlyNode(ctx context.Context) error {
	owners, err := n.consumer.Owners(ctx)
	if err != nil {
		return svc.Unavailable("The group that reads the log", backupPause)
	}
	for _, owner := range owners {
		if string(owner.UserData) != n.nodeAddr() {
			return svc.Errorf(svc.CodeConflict, "The node %s writes to the same store. Stop all nodes but this one for the time of the backup; what is sent meanwhile is taken by this one.", owner.UserData)
		}
	}
	return nil
}

// snapshot notes the positions of the log, and takes the snapshot that belongs to them.
func (n *node) snapshot(ctx context.Context, m *manifest) (*clickhouse.Snapshot, error) {
	for range backupTries {
		resume, err := n.sink.Pause(ctx)
		if err != nil {
			return nil, fmt.Errorf("waiting for the block under way: %w", err)
		}
		s, err := n.snapshotNow(ctx, m)
		resume()
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-time.After(backupPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, svc.Unavailable("A moment without an interrupted block and with an empty spool", backupTries*backupPause)
}

// snapshotNow is nil where a block is interrupted, which may be stored in part, or where the
// spool holds what the log has not taken.
func (n *node) snapshotNow(ctx context.Context, m *manifest) (*clickhouse.Snapshot, error) {
	positions, err := n.consumer.Committed(ctx, partitionsBelow(n.config.Partitions))
	if err != nil {
		return nil, err
	}
	if n.spool.Bytes() > 0 { // accepted, and on its way into the log
		return nil, nil
	}
	for _, position := range positions {
		if position.Metadata != "" {
			return nil, nil
		}
	}
	ends, err := n.topic.Ends(ctx)
	if err != nil {
		return nil, err
	}
	m.Log = map[int]span{}
	for _, position := range positions {
		m.Log[position.Partition] = span{position.Offset, ends[position.Partition]}
		m.Records += ends[position.Partition] - position.Offset
	}
	return n.db.Snapshot(ctx, m.MadeAt.Format("20060102150405"))
}

func partitionsBelow(count int) []int {
	all := make([]int, count)
	for partition := range all {
		all[partition] = partition
	}
	return all
}

// keyKept says where the master key of a backup is.
func (n *node) keyKept(spec admin.BackupSpec) string {
	switch {
	case n.config.MasterKey.Reveal() != "":
		return keyConfigured
	case spec.WithoutKey:
		return keyLeftOut
	}
	return keyInside
}

// fill copies everything into the folder, the manifest last: a folder without one is no backup.
func (n *node) fill(ctx context.Context, m *manifest, dir string) error {
	if err := n.copyLog(ctx, m, filepath.Join(dir, backupLog)); err != nil {
		return err
	}
	if err := n.db.CopySnapshot(ctx, m.Snapshot, m.Place, "make_"+m.Snapshot.Name); err != nil {
		return err
	}
	if m.Key == keyInside {
		key, err := os.ReadFile(n.dir.Join(keyFile))
		if err != nil {
			return fmt.Errorf("copying the master key: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, backupKey), key, 0o600); err != nil {
			return fmt.Errorf("copying the master key: %w", err)
		}
	}
	return m.write(dir)
}
