// Package operator sends the operator's commands to a running server, for `svc admin` and `svc backup`. A token in the
// server's data directory authorizes the commands.
package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/cmd/svc/cli"
	"svc/domain"
	"svc/http/admin"
)

const help = `Usage: svc admin <command> [flags]

Operator's commands, sent to the admin listener of a running server
(SVC_ADMIN_ADDR, or --addr) with the token that the server keeps in its data
directory (SVC_DATA_DIR/operator.token, or --token-file).

  login          --email E                         open a console session for 12 hours
  link           --email E                         make a link that signs in to the console, once
  orgs create    --name N --owner E [--slug S]     make an organization with its owner
  orgs delete    --org O                           delete an organization with everything of it
  apps delete    --org O --app A                   delete an application with everything of it
  members list   --org O
  members put    --org O --email E --role R [--name N]
  members remove --org O --email E
  tokens list    [--org O] [--email E]             a person's tokens, or an organization's
  tokens mint    --email E --name N --scopes read,write [--org O] [--expires 2160h]
  tokens revoke  --id ID [--org O] [--email E]
  tokens adopt   --id ID --org O --email E         have an owner stand in for a member who left
  deadletters list   [--environment N]             items that could not be folded or stored
  deadletters show   --id ID
  deadletters replay --id ID,ID | --environment N | --all   send them through the log again
  deadletters drop   --id ID,ID | --environment N | --all
  audit          [--org O] [--app A] [--email E] [--operation P] [--id TOKEN]
                 [--since 24h] [--limit N] [--before T --before-id ID]
                                                   who wrote what, the newest first
  move-environment APP ENVIRONMENT STORE           move rows to another store while serving
                                                   (svc admin move-environment --help)
  rebuild                                          fill an empty store from the log, while no server
                                                   runs (svc admin rebuild --help)

Roles: owner, admin, member, viewer. Scopes: read, write, admin.

Example:

  svc admin members put --org acme --email ada@acme.example --role admin
  svc admin tokens mint --email ada@acme.example --name laptop --scopes read
`

// commandTime limits one command.
const commandTime = 30 * time.Second

// calls maps the words of a command to the operator's call.
func calls() map[string]string {
	return map[string]string{
		"login": "login", "link": "link", "orgs create": "orgs.create", "orgs delete": "orgs.delete", "apps delete": "apps.delete",
		"members list": "members.list", "members put": "members.put", "members remove": "members.remove",
		"tokens list": "tokens.list", "tokens mint": "tokens.mint", "tokens revoke": "tokens.revoke", "tokens adopt": "tokens.adopt",
		"deadletters list": "deadletters.list", "deadletters show": "deadletters.show",
		"deadletters replay": "deadletters.replay", "deadletters drop": "deadletters.drop",
		"audit": "audit.list",
	}
}

// Run sends one operator's command to a running server.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var words []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		words, args = append(words, args[0]), args[1:]
	}
	server, command, err := parseAdmin(args, stdout, stderr)
	if err != nil {
		return err
	}
	spoken := strings.Join(words, " ")
	call, known := calls()[spoken]
	if !known {
		fmt.Fprintf(stderr, "svc admin: there is no command %q%s\n\n%s", spoken, domain.DidYouMean(spoken, "svc admin ", append(slices.Sorted(maps.Keys(calls())), "move-environment", "rebuild")), help)
		return cli.ErrUsage
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	answer, err := server.Ask(ctx, call, command)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, answer, "", "  "); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	_, err = indented.WriteTo(stdout)
	return err
}

// parseAdmin parses the flags of a command.
func parseAdmin(args []string, stdout, stderr io.Writer) (Server, admin.Command, error) {
	var command admin.Command
	server := Presets()
	flags := flag.NewFlagSet("admin", flag.ContinueOnError)
	server.Flags(flags)
	flags.StringVar(&command.Org, "org", "", "organization")
	flags.StringVar(&command.Org, "slug", "", "slug of a new organization")
	flags.StringVar(&command.Name, "name", "", "name")
	flags.StringVar(&command.Email, "email", "", "person")
	flags.StringVar(&command.Email, "owner", "", "owner of a new organization")
	flags.StringVar(&command.ID, "id", "", "token id, or ids of dead letters")
	flags.Uint64Var(&command.Environment, "environment", 0, "number of an environment")
	flags.BoolVar(&command.All, "all", false, "all dead letters")
	flags.StringVar(&command.App, "app", "", "application")
	flags.StringVar(&command.Operation, "operation", "", "operation")
	flags.StringVar(&command.BeforeID, "before-id", "", "the id after which the next page begins")
	flags.IntVar(&command.Limit, "limit", 0, "rows of a page")
	flags.Func("before", "the time after which the next page begins", func(value string) error {
		at, err := time.Parse(time.RFC3339Nano, value)
		command.Before = &at
		return err
	})
	flags.Func("since", "how far back", func(value string) error { return awayFromNow(value, -1, &command.Since) })
	flags.Func("expires", "lifetime", func(value string) error { return awayFromNow(value, 1, &command.ExpiresAt) })
	role := flags.String("role", "", "role")
	scopes := flags.String("scopes", "read", "scopes, comma-separated")
	if err := cli.ParseFlags(flags, args, func(w io.Writer) { fmt.Fprint(w, help) }, stdout, stderr); err != nil {
		return server, command, err
	}
	command.Role = domain.Role(*role)
	for _, scope := range strings.Split(*scopes, ",") {
		command.Scopes = append(command.Scopes, domain.Scope(strings.TrimSpace(scope)))
	}
	return server, command, nil
}

// awayFromNow parses a positive duration into the instant that far from now in a direction.
func awayFromNow(value string, direction time.Duration, into **time.Time) error {
	length, err := time.ParseDuration(value)
	if err != nil {
		return err
	}
	if length <= 0 {
		return errors.New("a duration above zero is needed, for example 2160h")
	}
	at := time.Now().Add(direction * length)
	*into = &at
	return nil
}
