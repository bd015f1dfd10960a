// Package importer is `svc import`: it replays access logs, files of items, and tables of people and of billing items
// into the ingest path of a running server. A repeated import stores everything only once.
package importer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"svc/cmd/svc/accesslog"
	"svc/cmd/svc/cli"
	"svc/cmd/svc/settings"
	"svc/domain"
)

// importHelp is the help of `svc import`.
const importHelp = `svc import replays files into the ingest path of a running server.

Usage:
  svc import access-log FILE [flags]
  svc import events FILE [flags]
  svc import people FILE [flags]
  svc import billing FILE [flags]

access-log: FILE is the log of a web server or a load balancer, plain or gzip. Its
format is detected by the first lines, unless --format names it. A GET that was answered 200 or 304 and asks for a page (not for an
image, a style sheet, a download …) becomes a page view; the other lines are
counted as skipped, and lines that are not in the format as malformed.

events: FILE holds one item a line, as JSON, plain or gzip: what an item of
POST /api/v1/batch may be. An item without a type is an event. Empty lines are
counted as skipped, lines that are no JSON object as malformed. Times are kept, as
far back as the application keeps events. Lines of an export of events are items
as well; where a visitor was and with what is not imported.

people: FILE is a table in CSV, plain or (.gz) gzip, whose first line names the
columns. Each row becomes an identify of distinctId, of the time ts, else
lastSeenAt, else now. traits holds an object as JSON, and each further column is
a trait of its name; empty values say nothing. anonymousId is tied to the person,
and so is each id of distinctIds, a list as JSON. The file of an export of people
is such a table; what the service computes (visits, counters, stage) and what
members decided (tags, crm) is not imported.

billing: FILE is a table in CSV, plain or (.gz) gzip, whose first line names the
columns: type (subscription, payment, refund or rate), and what an item of
POST /api/v1/revenue has: id, ts, subscriptionId, customerId, plan, status,
currency, amountCents, quantity, interval, intervalCount, trialEndsAt, endsAt,
paymentId, refundId, to, rate, day. percentOff or amountOffCents with
discountEndsAt are a discount. Exchange rates are rows of type rate, so a file may
hold nothing but them. What is wrong is told by its line and column.

Each line of a log, each row, and each item that has no id, is sent with an id made of its
number and its text. So a broken import may simply be started again, and importing
a file twice changes nothing.

Flags:
  --url URL         the server (default: what the bootstrap file says, else what
                    SVC_HTTP_ADDR says, else http://127.0.0.1:8080)
  --key KEY         a secret ingest key, svc_sec_… (default: $SVC_KEY). Public
                    keys will not do: they cannot say who the visitor was.
  --bootstrap FILE  take the key from the file that the server's first start
                    wrote (default: $SVC_BOOTSTRAP_FILE)
  --env NAME        which environment's key of that file (default production)

Flags of access-log:
  --format NAME     the format of the log: combined, common (without user agent),
                    combined_xff (with a quoted X-Forwarded-For behind the user
                    agent, as nginx writes it), the same behind a host
                    (vhost_combined, vhost_common, vhost_combined_xff), caddy,
                    nginx_json, cloudfront, iis (W3C), alb (AWS)
  --align-end TIME  shift all times by one constant, so that the last line falls
                    at TIME: RFC 3339 or now
  --site URL        the address of the logged site, so that links between its own
                    pages do not count as referrals, for example
                    https://example.com

Examples:
  # yesterday's log, its times as they are
  svc import access-log /var/log/nginx/access.log.1 --key svc_sec_prod_…

  # an old log, as if its last visitor had just left
  svc import access-log access.log.gz --bootstrap bootstrap.json --align-end now

  # what another system exported, converted to items
  svc import events history.ndjson.gz --key svc_sec_prod_…

  # people from a CRM
  svc import people customers.csv --key svc_sec_prod_…

  # subscriptions and payments of a billing system, or its exchange rates
  svc import billing subscriptions.csv --key svc_sec_prod_…
`

// The files that can be imported.
const (
	importsLog     = "access-log"
	importsEvents  = "events"
	importsPeople  = "people"
	importsBilling = "billing"
)

// Run replays a file: `svc import access-log FILE`, `svc import events FILE`, `svc import people FILE`, `svc import billing FILE`.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, importHelp)
		return cli.ErrUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, importHelp)
		return nil
	case importsLog, importsEvents, importsPeople, importsBilling:
	default:
		fmt.Fprintf(stderr, "svc import: %q cannot be imported; access-log, events, people and billing can%s\n\n%s", args[0], domain.DidYouMean(args[0], "svc import ", []string{importsLog, importsEvents, importsPeople, importsBilling}), importHelp)
		return cli.ErrUsage
	}
	flags, err := parseImportFlags(args[0], args[1:], os.LookupEnv)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, importHelp)
		return nil
	}
	if err != nil {
		fmt.Fprintf(stderr, "svc import: %v\n\n`svc import --help` explains the flags.\n", err)
		return cli.ErrUsage
	}
	switch flags.what {
	case importsEvents:
		return importEvents(ctx, flags, stdout, stderr)
	case importsPeople:
		return importPeople(ctx, flags, stdout, stderr)
	case importsBilling:
		return importBilling(ctx, flags, stdout, stderr)
	}
	return importAccessLog(ctx, flags, stdout, stderr)
}

// importFlags are the parsed words and flags.
type importFlags struct {
	// what is the kind of the file.
	what string
	file string
	url  string
	key  domain.Secret
	// format is the name of the log's format, empty until it is detected.
	format string
	// site is the logged site's scheme and host, empty if unknown.
	site string
	// align shifts all times so that the last line falls at end.
	align bool
	end   time.Time
}

// parseImportFlags parses the flags, which may precede and follow the file.
func parseImportFlags(what string, args []string, lookup func(string) (string, bool)) (importFlags, error) {
	parsed := importFlags{what: what}
	var key, bootstrap, environment, end string
	set := flag.NewFlagSet("import "+what, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&parsed.url, "url", "", "")
	set.StringVar(&key, "key", "", "")
	set.StringVar(&bootstrap, "bootstrap", "", "")
	set.StringVar(&environment, "env", "production", "")
	if what == importsLog {
		set.StringVar(&end, "align-end", "", "")
		set.StringVar(&parsed.site, "site", "", "")
		set.StringVar(&parsed.format, "format", "", "")
	}
	var files []string
	for rest := args; ; {
		if err := set.Parse(rest); err != nil {
			return parsed, err
		}
		if rest = set.Args(); len(rest) == 0 {
			break
		}
		files, rest = append(files, rest[0]), rest[1:]
	}
	if len(files) != 1 {
		return parsed, fmt.Errorf("name one file; %d are named", len(files))
	}
	parsed.file = files[0]
	if err := parsed.chooseKey(key, bootstrap, environment, lookup); err != nil {
		return parsed, err
	}
	if err := parsed.chooseURLs(lookup); err != nil {
		return parsed, err
	}
	if _, known := accesslog.Named(parsed.format); parsed.format != "" && !known {
		return parsed, fmt.Errorf("--format %s is none of %s", parsed.format, strings.Join(accesslog.Names(), ", "))
	}
	return parsed, parsed.chooseEnd(end, time.Now())
}

// chooseKey takes the key from the flag, else from the bootstrap file, else from the environment; it must be a secret
// key.
func (f *importFlags) chooseKey(key, bootstrap, environment string, lookup func(string) (string, bool)) error {
	fromEnv, _ := lookup("SVC_KEY")
	bootstrapFromEnv, _ := lookup("SVC_BOOTSTRAP_FILE")
	if key == "" && bootstrap == "" {
		key, bootstrap = fromEnv, bootstrapFromEnv
	}
	if key == "" && bootstrap == "" {
		return errors.New("no ingest key: give --key svc_sec_…, set SVC_KEY, or name the bootstrap file with --bootstrap")
	}
	if key == "" {
		var err error
		if key, err = f.readBootstrap(bootstrap, environment); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(key, domain.KeyPrefix(domain.KeySecret, "")) {
		return errors.New("the key is no secret ingest key (svc_sec_…); only those may say which address and user agent an event came from")
	}
	f.key = domain.Secret(key)
	return nil
}

// readBootstrap returns the secret key of an environment from the file that the first start wrote. It takes the
// server's URL from the file if none was given.
func (f *importFlags) readBootstrap(name, environment string) (string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	var bootstrap struct {
		URL  string `json:"url"`
		Keys map[string]struct {
			Secret string `json:"secret"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(content, &bootstrap); err != nil {
		return "", fmt.Errorf("reading the bootstrap file %s: %w", name, err)
	}
	key := bootstrap.Keys[environment].Secret
	if key == "" {
		return "", fmt.Errorf("the bootstrap file %s has no secret key for the environment %q", name, environment)
	}
	if f.url == "" {
		f.url = bootstrap.URL
	}
	return key, nil
}

// chooseURLs checks the server's address and the logged site's.
func (f *importFlags) chooseURLs(lookup func(string) (string, bool)) error {
	listener, _ := lookup("SVC_HTTP_ADDR")
	switch {
	case f.url != "":
	case listener != "":
		f.url = new(settings.Config).URLAt(listener)
	default:
		f.url = "http://127.0.0.1:8080"
	}
	for _, address := range []struct {
		flag  string
		value *string
	}{{"--url", &f.url}, {"--site", &f.site}} {
		if *address.value == "" {
			continue
		}
		parsed, err := url.Parse(*address.value)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
			return fmt.Errorf("%s %s is no http or https address", address.flag, *address.value)
		}
		*address.value = strings.TrimSuffix(*address.value, "/")
	}
	return nil
}

// chooseEnd parses --align-end.
func (f *importFlags) chooseEnd(end string, now time.Time) error {
	switch end {
	case "":
		return nil
	case "now":
		f.end = now.Truncate(time.Second)
	default:
		at, err := time.Parse(time.RFC3339, end)
		if err != nil {
			return fmt.Errorf("--align-end %s is neither now nor a time like %s", end, now.UTC().Format(time.RFC3339))
		}
		f.end = at
	}
	f.align, f.end = true, f.end.UTC()
	return nil
}
