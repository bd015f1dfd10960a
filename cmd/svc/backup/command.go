package backup

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operator"
	"svc/http/admin"
)

const help = `Usage: svc backup DIR [flags]

Has a running server copy everything into the folder DIR, which does not exist or is
empty, while it serves: the tables, what was accepted and is not stored yet, and the
master key. The folder holds secrets; keep it as you keep the data directory.

  --store PLACE   where a ClickHouse server copies its tables to, in its own words:
                  "Disk('backups', 'svc-1')" or "S3('https://…', 'key', 'secret')"; once for
                  each server that SVC_CLICKHOUSE_DSN lists, in that order
  --without-key   leave the master key out; without it, channels and credentials of
                  model providers in the backup cannot be read
  --addr ADDR     the admin listener (SVC_ADMIN_ADDR)
  --token-file F  the file with the operator's token
`

// Run asks a running server to make a backup.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("backup", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, help) }
	var spec admin.BackupSpec
	server := operator.Presets()
	server.Flags(flags)
	flags.Func("store", "where a ClickHouse server copies to", func(place string) error {
		spec.Stores = append(spec.Stores, place)
		return nil
	})
	flags.BoolVar(&spec.WithoutKey, "without-key", false, "leave the master key out")
	dir, err := cli.FolderAndFlags(flags, args)
	if err != nil {
		return err
	}
	if spec.Dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("resolving the folder: %w", err)
	}
	if len(spec.Stores) == 1 {
		spec.Store, spec.Stores = spec.Stores[0], nil
	}
	answer, err := server.Ask(ctx, "backup", spec)
	if err != nil {
		return err
	}
	var made Manifest
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	fmt.Fprintf(stdout, "backed up to %s at %s\n", spec.Dir, made.MadeAt.Format("2006-01-02 15:04:05 MST"))
	for shard, one := range made.Shards() {
		if len(made.Others) > 0 {
			fmt.Fprintf(stdout, "store %d, in %s\n", shard, one.Place)
		}
		for _, table := range slices.Sorted(maps.Keys(one.Snapshot.Rows)) {
			fmt.Fprintf(stdout, "  %-16s %d rows\n", table, one.Snapshot.Rows[table])
		}
	}
	fmt.Fprintf(stdout, "  %-16s %d records that were accepted and not stored yet\n  %-16s %s\n", "log", made.Records, "master key", made.Key)
	return nil
}
