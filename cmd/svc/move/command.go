package move

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"svc/actors/move"
	"svc/cmd/svc/cli"
	"svc/cmd/svc/operator"
	"svc/http/admin"
)

const help = `Usage: svc admin move-environment APP ENVIRONMENT STORE [flags]

Has a running server move the rows of an environment to another store of
SVC_CLICKHOUSE_DSN while it serves. APP is organization/application, ENVIRONMENT
a slug, STORE the place of a DSN in the list, from 0. Items that come in meanwhile wait
in the log for moments, reads are answered throughout. No other node may run at the time.

A command that was interrupted leaves the environment in its old place or in its
new one, whole; the same command again completes it. Erasures and changes of
retention wait while rows are copied.

  --addr ADDR     the admin listener (SVC_ADMIN_ADDR)
  --token-file F  the file with the operator's token

Example:

  svc admin move-environment acme/web production 1
`

// Run asks a running server to move an environment.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var words []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		words, args = append(words, args[0]), args[1:]
	}
	flags := flag.NewFlagSet("admin move-environment", flag.ContinueOnError)
	server := operator.Presets()
	server.Flags(flags)
	if err := cli.ParseFlags(flags, args, func(w io.Writer) { fmt.Fprint(w, help) }, stdout, stderr); err != nil {
		return err
	}
	if len(words) != 3 {
		fmt.Fprint(stderr, help)
		return cli.ErrUsage
	}
	store, err := strconv.Atoi(words[2])
	if err != nil {
		return fmt.Errorf("STORE is the place of a DSN in SVC_CLICKHOUSE_DSN, from 0, and not %q", words[2])
	}
	answer, err := server.Ask(ctx, "environments.move", admin.MoveSpec{App: words[0], Environment: words[1], Store: &store})
	if err != nil {
		return err
	}
	var moved move.Moved
	if err := json.Unmarshal(answer, &moved); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if moved.From == moved.To {
		fmt.Fprintf(stdout, "%s of %s lives on store %d, and no other store has rows of it\n", words[1], words[0], moved.To)
		return nil
	}
	fmt.Fprintf(stdout, "moved %s of %s from store %d to store %d; its items waited %d ms at most\n", words[1], words[0], moved.From, moved.To, moved.HeldMs)
	return nil
}
