package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"svc/cmd/svc/cli"
	"svc/http/admin"
)

const backupHelp = `Usage: svc backup DIR [flags]

Has a running server copy everything into the folder DIR, which does not exist or is
empty, while it serves: the tables, what was accepted and is not stored yet, and the
master key. The folder holds secrets; keep it as you keep the data directory.

  --store PLACE   where a ClickHouse server copies its tables to, in its own words:
                  "Disk('backups', 'svc-1')" or "S3('https://…', 'key', 'secret')"
  --without-key   leave the master key out; without it, channels and credentials of
                  model providers in the backup cannot be read
  --addr ADDR     the admin listener (SVC_ADMIN_ADDR)
  --token-file F  the file with the operator's token
`

// runBackup has a running server make a backup.
func runBackup(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("backup", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, backupHelp) }
	var spec admin.BackupSpec
	server := adminPresets()
	flags.StringVar(&server.addr, "addr", server.addr, "the admin listener")
	flags.StringVar(&server.tokenFile, "token-file", server.tokenFile, "the file with the operator's token")
	flags.StringVar(&spec.Store, "store", "", "where a ClickHouse server copies to")
	flags.BoolVar(&spec.WithoutKey, "without-key", false, "leave the master key out")
	dir, err := cli.FolderAndFlags(flags, args)
	if err != nil {
		return err
	}
	if spec.Dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("resolving the folder: %w", err)
	}
	made, err := askForBackup(ctx, server, spec)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "backed up to %s at %s\n", spec.Dir, made.MadeAt.Format("2006-01-02 15:04:05 MST"))
	for _, table := range slices.Sorted(maps.Keys(made.Snapshot.Rows)) {
		fmt.Fprintf(stdout, "  %-16s %d rows\n", table, made.Snapshot.Rows[table])
	}
	fmt.Fprintf(stdout, "  %-16s %d records that were accepted and not stored yet\n  %-16s %s\n", "log", made.Records, "master key", made.Key)
	return nil
}

// askForBackup sends the command and waits for as long as the copy takes.
func askForBackup(ctx context.Context, server adminServer, spec admin.BackupSpec) (*manifest, error) {
	token, err := readOperatorToken(server.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("%w; name the server's data directory with SVC_DATA_DIR, or the file with --token-file", err)
	}
	body, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the command: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+server.addr+"/admin/v1/backup", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("addressing the server: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		if _, refused := errors.AsType[*net.OpError](err); refused {
			return nil, fmt.Errorf("no server answers at %s; a backup is made by the running server", server.addr)
		}
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server refused: %s", strings.TrimSpace(string(answer)))
	}
	var made manifest
	if err := json.Unmarshal(answer, &made); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return &made, nil
}
