// Package bridge is `svc mcp`: it relays the Model Context Protocol between standard input and output and a running
// server, for clients that start their servers themselves.
package bridge

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"svc/cmd/svc/cli"
	"svc/domain"
	"svc/http/mcp"
)

// help explains `svc mcp`.
const help = `svc mcp speaks the Model Context Protocol at standard input and output, for
clients that start their servers themselves, and asks a running server.

Usage:
  svc mcp [flags]

Flags:
  --url URL      the server (default: $SVC_URL, else http://127.0.0.1:8080)
  --token TOKEN  an access token, svc_pat_… or svc_org_… (default: $SVC_TOKEN).
                 Other programs of this machine can read flags; prefer the variable
  --tools all    list all tools at once instead of the usual ones and a search

Example, the configuration of a client:
  {"mcpServers": {"svc": {"command": "svc", "args": ["mcp"],
    "env": {"SVC_URL": "https://svc.example.com", "SVC_TOKEN": "svc_pat_…"}}}}
`

// answerTime limits one message of `svc mcp`; a query may take 30 seconds.
const answerTime = 90 * time.Second

// Run relays messages between standard input and output and a server.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	server := flags.String("url", cmp.Or(os.Getenv("SVC_URL"), "http://127.0.0.1:8080"), "")
	token := flags.String("token", os.Getenv("SVC_TOKEN"), "")
	listed := flags.String("tools", "", "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, help)
		return nil
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is no flag", flags.Arg(0))
	case *listed != "" && *listed != "all":
		err = fmt.Errorf("--tools %q: only all can be listed at once", *listed)
	}
	if err != nil {
		fmt.Fprintf(stderr, "svc mcp: %v\n\n`svc mcp --help` explains the flags.\n", err)
		return cli.ErrUsage
	}
	address, err := addressOf(*server, *listed)
	if err != nil {
		return err
	}
	if *token == "" {
		return errors.New("no token: set SVC_TOKEN, or use --token")
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}
	bridge := &mcp.Bridge{URL: address, Token: domain.Secret(*token), Client: &http.Client{Transport: transport, Timeout: answerTime}}
	return bridge.Run(ctx, os.Stdin, stdout)
}

// addressOf returns the address of a server's /mcp.
func addressOf(server, listed string) (string, error) {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", fmt.Errorf("%q is not an http or https URL", server)
	}
	parsed.Path = strings.TrimSuffix(strings.TrimSuffix(parsed.Path, "/"), "/mcp") + "/mcp"
	if listed != "" {
		parsed.RawQuery = "tools=" + listed
	}
	return parsed.String(), nil
}
