package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/move"
	"svc/cmd/svc/operator"
	"svc/cmd/svc/settings"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
	"svc/storage/kafka"
	"svc/storage/owned"
)

const rebuildHelp = `Usage: svc admin rebuild

Fills an empty store from the log, while no server runs: applications, members, tokens,
rules and whatever else people and the service have decided, wake-ups, ledgers and audit rows, all of
them; and events, errors and metrics as far as the log still has them (SVC_LOG_RETENTION), which the next
start stores. Checks of monitors and uploads of source maps are not in the log: restore
them, and older events, from a backup (svc restore) instead, where there is one.

The settings are those of the server (svc config). With the embedded store, move
SVC_DATA_DIR/store away first, and keep the rest of the folder. With SVC_CLICKHOUSE_DSN, the
database must be missing or empty; of several stores, those that are empty are filled and the
others keep what they have. A rebuild that was interrupted is begun again by the same
command; servers refuse to start until it has ended.
`

// runAdmin runs an operator's command: a rebuild in this process, any other on a running server.
func runAdmin(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "move-environment" {
		return move.Run(ctx, args[1:], stdout, stderr)
	}
	if len(args) == 0 || args[0] != "rebuild" {
		return operator.Run(ctx, args, stdout, stderr)
	}
	usage := func(w io.Writer) { fmt.Fprint(w, rebuildHelp) }
	if err := cli.ParseFlags(flag.NewFlagSet("admin rebuild", flag.ContinueOnError), args[1:], usage, stdout, stderr); err != nil {
		return err
	}
	config, err := settings.Load(os.LookupEnv)
	if err != nil {
		return err
	}
	if config.ClickHouseCluster != "" {
		return errors.New("a rebuild fills stores without replicas, and SVC_CLICKHOUSE_CLUSTER is set")
	}
	return rebuild(ctx, config, slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), stdout)
}

// rebuild fills an empty store from the log.
func rebuild(ctx context.Context, config settings.Config, logger *slog.Logger, stdout io.Writer) (err error) {
	n := newNode(config, logger)
	defer func() { err = errors.Join(err, n.close()) }()
	for _, open := range []func(ctx context.Context) error{n.openDir, n.openLog, n.openStores} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	lost, err := n.lostShards(ctx)
	if err != nil {
		return err
	}
	var stored uint64
	if lost[0] == 0 {
		if stored, err = n.rebuildState(ctx, stdout); err != nil {
			return err
		}
	}
	records, err := n.rewindLog(ctx, lost)
	if err != nil {
		return err
	}
	if err := n.db.RestorePlaces(ctx, lost); err != nil {
		return err
	}
	if err := integrity.NoteShards(ctx, n.db, lost); err != nil {
		return err
	}
	if err := integrity.NoteRestored(ctx, n.db, n.now()); err != nil {
		return err
	}
	if lost[0] == 0 {
		if err := n.db.ReplaceFact(ctx, integrity.RebuildFact, "done"); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "  %-8s %d records are in the store\n  %-8s %d records will be stored again\nrebuilt; start it with `svc serve`\n", stateTopic, stored, ingestTopic, records)
	return nil
}

// rebuildState fills the store of the actors' state, and returns the number of stored records.
func (n *node) rebuildState(ctx context.Context, stdout io.Writer) (stored uint64, err error) {
	if _, err := n.db.NoteFact(ctx, integrity.RebuildFact, integrity.RebuildUnderWay); err != nil {
		return 0, err
	}
	stored, err = n.fillState(ctx, stdout)
	if errors.Is(err, owned.ErrIncomplete) {
		err = fmt.Errorf("%w; a server that runs copies the state to it within its first minute: only a backup has what this one's store had (svc restore)", err)
	}
	return stored, err
}

// openStores opens the stores of all shards.
func (n *node) openStores(ctx context.Context) error {
	config := n.stores()
	config.Durable = true
	if config.DSN == "" {
		if _, err := os.Stat(n.dir.Join("store")); errors.Is(err, fs.ErrNotExist) {
			// The parts of the lost store are not reported as missing.
			if err := os.Remove(n.dir.Join(partsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("forgetting the parts of the lost store: %w", err)
			}
		}
		if err := n.openEngine(ctx); err != nil {
			return err
		}
		config.Engine = n.engine
	}
	var err error
	n.db, err = database.Open(ctx, config, state.Config{})
	return err
}

// lostShards returns the shards whose stores are empty except for the beginning of a rebuild. It returns an error if
// there is no such shard.
func (n *node) lostShards(ctx context.Context) (lost []int, err error) {
	for shard := range n.db.ShardCount() {
		facts, err := n.db.ShardFacts(ctx, shard)
		if err != nil {
			return nil, err
		}
		used := false
		if shard == 0 {
			if used, err = n.db.Used(ctx); err != nil {
				return nil, err
			}
		}
		if !used && integrity.IsNew(facts) || facts[integrity.RebuildFact] == integrity.RebuildUnderWay {
			lost = append(lost, shard)
		}
	}
	if len(lost) == 0 {
		return nil, errors.New("the store is not empty: a rebuild fills an empty one only; move it away first (svc admin rebuild --help)")
	}
	return lost, nil
}

// rewindLog makes the next start store everything in the event log for some shards, and returns the number of these
// records.
func (n *node) rewindLog(ctx context.Context, shards []int) (records int64, err error) {
	ranges, err := n.topic.Ranges(ctx)
	if err != nil {
		return 0, err
	}
	back := make([]kafka.Position, 0, len(ranges))
	for partition, at := range ranges {
		if !slices.Contains(shards, partition/n.config.Partitions) {
			continue
		}
		records += at.End - at.Start
		back = append(back, kafka.Position{Partition: partition, Offset: at.Start})
	}
	if err := n.topic.Reset(ctx, intakeGroup, back); err != nil {
		return 0, fmt.Errorf("going back to the beginning of the log (does a server still run?): %w", err)
	}
	return records, nil
}

// progressEvery is the pause between two progress lines of a rebuild.
const progressEvery = 2 * time.Second

// fillState fills the tables of the actors' state, and returns the number of stored records.
func (n *node) fillState(ctx context.Context, stdout io.Writer) (stored uint64, err error) {
	said, partitions := n.now(), make([]uint64, n.config.Partitions)
	err = owned.Rebuild(ctx, n.stateLog, n.config.Partitions, n.db.StateStore, func(partition int, records uint64) {
		stored += records - partitions[partition]
		partitions[partition] = records
		if now := n.now(); now.Sub(said) >= progressEvery {
			said = now
			fmt.Fprintf(stdout, "  %-8s %d records so far\n", stateTopic, stored)
		}
	})
	return stored, err
}
