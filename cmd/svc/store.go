package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"svc/cmd/svc/health"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/settings"
	"svc/domain"
	"svc/storage/chdb"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/backup"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
	"svc/storage/datadir"
)

// openStore opens the store, embedded or not, and the watch over its disk.
func (n *node) openStore(ctx context.Context) error {
	config := n.stores()
	config.Late = !n.inspection.Repairing()
	config.Cluster, config.Durable, config.Skipped = n.config.ClickHouseCluster, n.config.LogSync == settings.SyncAlways, n.unreadable.Skipped
	n.disk = health.NewDisk(health.DiskConfig{
		Free: health.SpaceOf(n.config.DataDir), Floor: uint64(n.config.DiskFloor) << 20,
		Reserve: datadir.NewReserve(n.config.DataDir, health.ReserveBytes), Logger: n.logger,
	})
	n.disk.Look() // a full disk releases its reserve for the following steps
	config.Damaged = n.disk.NoteDamage
	if config.DSN == "" {
		if err := n.openEngine(ctx); err != nil {
			return err
		}
		config.Engine = n.engine
	}
	var err error
	if n.db, err = database.Open(ctx, config, state.Config{Journal: n.owned}); err != nil {
		return err
	}
	for shard := range n.db.ShardCount() {
		if n.db.Away(shard) {
			n.logger.Warn("a store is away; what goes there waits in the log", "shard", shard)
		} else if err := n.db.LearnPlaces(ctx, shard); err != nil {
			return err
		}
	}
	if n.engine == nil {
		return nil
	}
	n.disk.Hold(n.engine)
	return n.engine.CheckParts() // parts that the engine detached while it opened
}

// stores returns the configuration of all stores; without a DSN the caller must still set the engine.
func (n *node) stores() clickhouse.Config {
	config := clickhouse.Config{DSN: n.config.ClickHouseDSN}
	for _, dsn := range n.config.ClickHouseShards {
		config.Others = append(config.Others, clickhouse.Config{DSN: dsn})
	}
	return config
}

// openEngine opens the embedded store, unless an earlier attempt has opened it.
func (n *node) openEngine(ctx context.Context) error {
	if n.engine != nil {
		return nil
	}
	if err := integrity.CheckParts(&n.inspection, n.dir.Join(partsFile), n.dir.Join("store"), n.now()); err != nil {
		return err
	}
	library, err := chdb.FindLibrary(n.config.ChdbLib)
	if err != nil {
		return err
	}
	n.engine, err = chdb.Open(ctx, chdb.Config{
		Library: library, Dir: n.dir.Join("store"), Listen: n.config.StoreListen, Logger: n.logger, Settings: n.copySettings(), Memory: n.memory.Engine,
		Durable: n.config.LogSync == settings.SyncAlways,
	})
	return err
}

// shape returns the division of the event log.
func (n *node) shape() domain.LogShape {
	return domain.LogShape{Partitions: n.config.Partitions, Shards: 1 + len(n.config.ClickHouseShards)}
}

// leastShard returns the shard for the next application.
func (n *node) leastShard() int {
	if len(n.config.ClickHouseShards) == 0 {
		return 0
	}
	return domain.LeastShard(1+len(n.config.ClickHouseShards), n.db.ShardOf, func(yield func(uint64) bool) {
		for _, app := range n.collectors.Applications() {
			for _, environment := range app.Environments {
				if !yield(environment.Number) {
					return
				}
			}
		}
	})
}

// verifyStore reads the whole store for a repair. It reports the parts that do not match their checksums.
func (n *node) verifyStore(ctx context.Context) error {
	err := n.db.Verify(ctx)
	damage, damaged := errors.AsType[*backup.DamageError](err)
	if !damaged {
		return err
	}
	return n.inspection.Report(integrity.Finding{
		What:  damage.Error() + "; restore them from a backup",
		Would: "sets these parts aside (their files stay in the folders of detached parts) and goes on without their rows",
		Apply: func() error {
			if err := n.db.Detach(ctx, damage.Parts); err != nil {
				return err
			}
			if err := os.Remove(n.dir.Join(partsFile)); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
	})
}

// checkIdentity compares log, store and key.
func (n *node) checkIdentity(ctx context.Context) error {
	n.belongs = &integrity.Identity{
		Inspection: &n.inspection, Store: n.db, Log: n.topic, State: n.owned, Consumer: n.consumer, Key: n.vault.Fingerprint,
		Group: intakeGroup, Partitions: n.partitions(), Progress: n.dir.Join(progressFile), NewID: n.random.ID,
		Known: n.dir.Join(knownFile), Returned: n.returned,
	}
	return n.belongs.Check(ctx)
}

// restoredAt returns the time of the last restore or rebuild. It is called once the node serves.
func (n *node) restoredAt() time.Time { return n.belongs.Restored() }

// returned completes the opening of a store that was unavailable.
func (n *node) returned(ctx context.Context, shard int) error {
	if shard == 0 {
		if err := n.db.Returned(ctx); err != nil {
			return err
		}
	}
	return n.db.LearnPlaces(ctx, shard)
}

// admitStores admits the stores that were unavailable at the start, each as soon as it is available and verified. If
// shard 0 proves not to belong to this log and key, the node ends, as a start would.
func (n *node) admitStores(ctx context.Context) error {
	for pause := startPause; ; pause = min(2*pause, startLongPause) {
		away := false
		for shard := range n.db.ShardCount() {
			if !n.db.Away(shard) {
				continue
			}
			err := n.belongs.Admit(ctx, shard)
			if errors.Is(err, integrity.ErrRefused) {
				return err
			}
			if away = away || err != nil; err != nil {
				n.logger.Warn("a store is waited for", "shard", shard, "error", err)
			} else {
				n.logger.Info("a store is back", "shard", shard)
			}
		}
		if !away {
			<-ctx.Done()
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// partitions returns the numbers of the log's partitions.
func (n *node) partitions() []int {
	all := make([]int, n.shape().Total())
	for partition := range all {
		all[partition] = partition
	}
	return all
}

// keepProgress records the stored offsets of the log.
func (n *node) keepProgress(ctx context.Context) error {
	progress := &integrity.Progress{File: n.dir.Join(progressFile), Log: n.topic, Consumer: n.consumer, Partitions: n.partitions(), Now: n.now, Logger: n.logger}
	return progress.Run(ctx)
}

// keepParts records the parts of the embedded store.
func (n *node) keepParts(ctx context.Context) error {
	if n.engine == nil {
		return nil
	}
	parts := &integrity.Parts{File: n.dir.Join(partsFile), List: n.db.Parts, Logger: n.logger}
	return parts.Run(ctx)
}
