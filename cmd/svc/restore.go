package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"svc/cmd/svc/backup"
	"svc/cmd/svc/cli"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/settings"
	"svc/domain/event"
	"svc/storage/chdb"
	"svc/storage/clickhouse"
	snapshots "svc/storage/clickhouse/backup"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
	"svc/storage/datadir"
	"svc/storage/kafka"
	statelog "svc/storage/kafka/state"
	"svc/storage/owned"
	"svc/storage/vault"
)

const restoreHelp = `Usage: svc restore DIR [flags]

Makes what a backup holds again, under the settings of the environment (svc config),
while no server runs: in an empty SVC_DATA_DIR, or, with SVC_CLICKHOUSE_DSN, in servers
without the database, as many as the backup has stores. Over Apache Kafka it goes back to the positions of the backup where
the topic still has them, so that everything accepted since is stored again, and what was
decided since, which the topic of the state holds, stands; in an empty topic it puts what was accepted and not stored.

  --store PLACE   where a ClickHouse server finds its tables, if not where the backup says; once
                  for each server that SVC_CLICKHOUSE_DSN lists, in that order
  --key FILE      the master key, where the backup was made --without-key
`

// runRestore restores a backup.
func runRestore(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, restoreHelp) }
	r := &restore{stdout: stdout}
	flags.Func("store", "where a ClickHouse server finds its tables", func(place string) error {
		r.places = append(r.places, place)
		return nil
	})
	flags.StringVar(&r.key, "key", "", "the master key")
	if r.dir, err = cli.FolderAndFlags(flags, args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	config, err := settings.Load(os.LookupEnv)
	if err != nil {
		return err
	}
	if config.ClickHouseCluster != "" {
		return errors.New("SVC_CLICKHOUSE_CLUSTER is set, and the tables of a backup are not replicated: restore a cluster by its own RESTORE statement")
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return fmt.Errorf("resolving the folder: %w", err)
	}
	r.node = newNode(config, slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	defer func() { err = errors.Join(err, r.node.close()) }()
	return r.run(ctx)
}

// restore is the state of a restore.
type restore struct {
	dir, key string
	// places are the locations of the stores' tables, by shard.
	places   []string
	node     *node
	manifest *backup.Manifest
	stdout   io.Writer
}

func (r *restore) run(ctx context.Context) error {
	if err := r.prepare(); err != nil {
		return err
	}
	for _, step := range r.steps() {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintln(r.stdout, "restored; start it with `svc serve`")
	return nil
}

// prepare reads the contents of the backup and checks the target.
func (r *restore) prepare() (err error) {
	if r.manifest, err = backup.ReadManifest(r.dir); err != nil {
		return err
	}
	fmt.Fprintf(r.stdout, "the backup of %s is whole: %d files\n", r.manifest.MadeAt.Format("2006-01-02 15:04:05 MST"), len(r.manifest.Files))
	return r.check()
}

// steps are the steps that write.
func (r *restore) steps() []func(ctx context.Context) error {
	return []func(ctx context.Context) error{r.restoreKey, r.restoreStore, r.restoreLog, r.restoreState, r.note, r.finish}
}

// restoringFile is in the data directory until a restore has ended. It names the folder of the backup.
const restoringFile = "restoring"

// unfinishedRestore returns an error with instructions for a data directory with an unfinished restore, and otherwise
// nil.
func unfinishedRestore(folder string) error {
	from, err := os.ReadFile(filepath.Join(folder, restoringFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for an unfinished restore: %w", err)
	}
	return fmt.Errorf("a restore into %[1]s did not end, so it holds a part of the backup %[2]s: remove %[1]s and what the restore made in ClickHouse and Kafka servers, then call svc restore %[2]s again", folder, from)
}

// finish removes the mark of an unfinished restore.
func (r *restore) finish(context.Context) error {
	if err := os.Remove(filepath.Join(r.node.config.DataDir, restoringFile)); err != nil {
		return fmt.Errorf("ending the restore: %w", err)
	}
	return datadir.Force(r.node.config.DataDir)
}

// check refuses a target that holds other data.
func (r *restore) check() error {
	config, stores := &r.node.config, r.manifest.Shards()
	if listed := 1 + len(config.ClickHouseShards); listed != len(stores) {
		return fmt.Errorf("the backup has %d stores, and %d are configured: list as many in SVC_CLICKHOUSE_DSN, and append others afterwards", len(stores), listed)
	}
	if each := r.manifest.Partitions / len(stores); config.Partitions != each {
		return fmt.Errorf("the backup has %d partitions; set SVC_PARTITIONS=%d", each, each)
	}
	entries, err := os.ReadDir(config.DataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking at the data directory: %w", err)
	}
	if err := unfinishedRestore(config.DataDir); err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the data directory %s is not empty: a backup is restored into an empty one (SVC_DATA_DIR)", config.DataDir)
	}
	switch _, inside := r.manifest.Files[backup.StoreFolder+"/.backup"]; {
	case len(r.places) == len(stores):
	case len(r.places) > 0:
		return fmt.Errorf("the backup has %d stores, and --store says where %d of them are", len(stores), len(r.places))
	case inside:
		r.places = []string{backup.FilePlace(r.dir)}
	default:
		for _, one := range stores {
			r.places = append(r.places, one.Place)
		}
	}
	return nil
}

// restoreKey restores the master key and compares it with the key that sealed the backup.
func (r *restore) restoreKey(ctx context.Context) (err error) {
	config := &r.node.config
	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	mark := filepath.Join(config.DataDir, restoringFile)
	if err := datadir.Replace(mark, []byte(r.dir)); err != nil {
		return fmt.Errorf("marking the data directory: %w", err)
	}
	defer func() {
		if err != nil { // no key was restored
			err = errors.Join(err, os.Remove(mark))
		}
	}()
	if r.key == "" && r.manifest.Key == backup.KeyInside {
		r.key = filepath.Join(r.dir, backup.KeyFile)
	}
	if config.MasterKey.Reveal() == "" {
		if r.key == "" {
			return fmt.Errorf("the master key is not in the backup (%s): give it with --key or SVC_MASTER_KEY", r.manifest.Key)
		}
		key, err := os.ReadFile(r.key)
		if err != nil {
			return fmt.Errorf("reading the master key: %w", err)
		}
		if err := os.WriteFile(filepath.Join(config.DataDir, keyFile), key, 0o600); err != nil {
			return fmt.Errorf("writing the master key: %w", err)
		}
	}
	v, err := vault.Open(config.MasterKey, filepath.Join(config.DataDir, keyFile))
	if err != nil {
		return err
	}
	own, err := v.Fingerprint()
	if err == nil && r.manifest.Facts[integrity.KeyFact] != "" && own != r.manifest.Facts[integrity.KeyFact] {
		err = fmt.Errorf("the master key %s is not the one of the backup, %s", own, r.manifest.Facts[integrity.KeyFact])
	}
	if err != nil {
		return errors.Join(err, os.Remove(filepath.Join(config.DataDir, keyFile)))
	}
	return r.node.takeDir(ctx)
}

// restoreStore restores the tables of all stores, and prints the number of their rows.
func (r *restore) restoreStore(ctx context.Context) (err error) {
	n := r.node
	config := n.stores()
	if config.DSN == "" {
		library, err := chdb.FindLibrary(n.config.ChdbLib)
		if err != nil {
			return err
		}
		if n.engine, err = chdb.Open(ctx, chdb.Config{Library: library, Dir: n.dir.Join("store"), Logger: n.logger, Settings: map[string]string{"backups.allowed_path": "/"}}); err != nil {
			return err
		}
		config.Engine = n.engine
	}
	for shard := range r.places {
		if err := r.restoreShard(ctx, shard, config); err != nil {
			return err
		}
	}
	config.Durable = true
	n.db, err = database.Open(ctx, config, state.Config{})
	return err
}

// restoreShard restores the tables of one configured store.
func (r *restore) restoreShard(ctx context.Context, shard int, config clickhouse.Config) error {
	if shard > 0 {
		config = config.Others[shard-1]
	}
	if config.Others = nil; len(r.places) > 1 {
		fmt.Fprintf(r.stdout, "store %d\n", shard)
	}
	held := r.manifest.Shards()[shard].Snapshot
	counts, err := snapshots.Restore(ctx, config, held, r.places[shard], "restore_"+r.node.now().UTC().Format("20060102150405"))
	if err != nil {
		return fmt.Errorf("restoring store %d: %w", shard, err)
	}
	for _, table := range slices.Sorted(maps.Keys(held.Rows)) {
		fmt.Fprintf(r.stdout, "  %-16s %d of %d rows\n", table, counts[table], held.Rows[table])
		if counts[table] > held.Rows[table] {
			return fmt.Errorf("%s has %d rows, and the backup %d", table, counts[table], held.Rows[table])
		}
	}
	return nil
}

// restoreLog prepares the log so that accepted but unstored records are read again.
func (r *restore) restoreLog(ctx context.Context) error {
	n := r.node
	if err := n.openLog(ctx); err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	ranges, err := n.topic.Ranges(ctx)
	if err != nil {
		return err
	}
	empty, there, since := true, true, int64(0)
	back := make([]kafka.Position, 0, len(ranges))
	for partition, at := range ranges {
		noted := r.manifest.Log[partition]
		empty = empty && at.Start == at.End
		there = there && at.Start <= noted.From && noted.To <= at.End
		since += at.End - noted.From
		back = append(back, kafka.Position{Partition: partition, Offset: noted.From})
	}
	switch {
	case empty:
		return r.produce(ctx)
	case there:
		if err := n.topic.Reset(ctx, intakeGroup, back); err != nil {
			return fmt.Errorf("going back to the positions of the backup: %w", err)
		}
		fmt.Fprintf(r.stdout, "  %-16s the log still has everything since the backup: %d records will be stored again\n", "log", since)
		return nil
	}
	return errors.New("the topic is neither empty nor that of the backup: it lacks records that the backup's positions name; delete the topic, or name another Kafka")
}

// restoreState makes the tables match the state log, if there is one. The log is newer than the backup, and its
// projection was recorded for the lost tables.
func (r *restore) restoreState(ctx context.Context) error {
	n := r.node
	ends, err := n.stateLog.Ends(ctx)
	if err != nil || !slices.ContainsFunc(ends, func(end int64) bool { return end > 0 }) {
		return err
	}
	if id, err := n.topic.ClusterID(ctx); err != nil || id != r.manifest.Facts[integrity.LogFact] {
		return errors.Join(err, errors.New("the topic "+stateTopic+" is not empty and not that of the backup; delete it, or name another Kafka"))
	}
	err = owned.CheckComplete(ctx, n.stateLog, n.config.Partitions)
	if errors.Is(err, owned.ErrIncomplete) { // nothing was trimmed yet, so a start reads it from its beginning
		marks := map[int]statelog.Position{}
		for partition := range n.config.Partitions {
			marks[partition] = statelog.Position{}
		}
		return n.stateLog.Mark(ctx, marks)
	}
	if err != nil {
		return err
	}
	if err := n.db.Clear(ctx); err != nil {
		return err
	}
	stored, err := n.fillState(ctx, r.stdout)
	if err == nil {
		fmt.Fprintf(r.stdout, "  %-16s the log still has everything that was decided since the backup: %d records are in the store\n", stateTopic, stored)
	}
	return err
}

// produce writes the records of the backup to an empty log.
func (r *restore) produce(ctx context.Context) (err error) {
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.node.producer.Run(running) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	records, err := backup.ReadLog(r.dir, func(partition int, payload []byte) error {
		if err := r.node.producer.Produce(ctx, []event.Part{{Partition: partition, Payload: payload}}); err != nil {
			return fmt.Errorf("writing the log: %w", err)
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(r.stdout, "  %-16s %d records that were accepted and not stored yet\n", "log", records)
	}
	return err
}

// note records in the store the log that it belongs to, and the time of the restore.
func (r *restore) note(ctx context.Context) error {
	id, err := r.node.topic.ClusterID(ctx)
	if err != nil {
		return err
	}
	if err := r.node.db.ReplaceFact(ctx, integrity.LogFact, id); err != nil {
		return err
	}
	return integrity.NoteRestored(ctx, r.node.db, r.node.now())
}
