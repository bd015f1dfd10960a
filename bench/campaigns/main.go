// Command campaigns measures a large sending of e-mail to a mail server in this process: the cost of a message and
// whether memory stays bounded. Then, with a kill every few seconds, it checks whether each recipient gets at most one
// message and is accounted for.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"time"

	"svc/bench/harness"
	"svc/http/mailing/mailtest" //nolint:depguard // a mail server, no part of the service
)

// options are the flags.
type options struct {
	harness.Run

	people int
	rate   int
	every  time.Duration
}

func main() { harness.Main("campaigns", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.people, "people", 100_000, "recipients of each of the two sendings")
	flag.IntVar(&o.rate, "rate", 2000, "messages a second at most")
	flag.DurationVar(&o.every, "every", 10*time.Second, "time from readiness to the next kill")
	flag.Parse()
	return o.Within(ctx, "campaigns", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement, and its mail server.
type bench struct {
	*options
	server *harness.Server
	mail   *mailtest.Server
	store  string
	client *http.Client
	result *harness.Result
	// author and second are sessions; the second one was opened with a passkey.
	author, second string
	// before is the number of messages that each address had before a sending.
	before map[string]int
}

// measure fills a server and sends to all people, twice.
func measure(ctx context.Context, o *options, dir string) error {
	b := &bench{options: o, mail: &mailtest.Server{}, client: &http.Client{Timeout: time.Minute}, result: harness.NewResult(ctx, "campaigns", o.Binary, o.Pin)}
	b.result.Bottleneck = "one loop a campaign, which has each claim stored before the message is handed over"
	b.result.Notes = []string{
		fmt.Sprintf("%d people with an address each; both sendings go to all of them, over SMTP to a server in the generator's process", o.people),
		"growth: the most memory of its own (RssAnon) that the server had during the second half of a sending, over the most during the first",
		"an uncertain recipient was claimed when the server died or a connection broke; inTheWindow counts those of them who did get the message",
	}
	if err := b.mail.Start("127.0.0.1:0"); err != nil {
		return fmt.Errorf("starting the mail server: %w", err)
	}
	defer b.mail.Close()
	if err := b.open(ctx, dir); err != nil {
		return err
	}
	defer b.server.Kill()
	for _, part := range []struct {
		name string
		run  func(*bench, context.Context) error
	}{{"making people known", (*bench).fill}, {"signing in", (*bench).signIn}, {"sending", (*bench).whole}, {"sending across kills", (*bench).killed}} {
		if err := part.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if err := o.Keep(b.result); err != nil {
		return err
	}
	return b.server.Stop()
}

// open starts the server. It is accessed by a host name, because passkeys belong to a name.
func (b *bench) open(ctx context.Context, dir string) (err error) {
	if b.store, err = harness.FreeAddress(ctx); err != nil {
		return err
	}
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: b.Binary, Dir: dir, Sync: "os", CPU: b.CPU()})
	if err != nil {
		return err
	}
	b.server.Environment = []string{
		"SVC_CLICKHOUSE_LISTEN=" + b.store, "SVC_MAIL_SERVER=" + b.mail.URL(), "SVC_MAIL_FROM=news@acme.example", "SVC_PUBLIC_URL=" + b.origin(), "SVC_LOG_LEVEL=warn",
	}
	_, err = b.server.Open(ctx)
	return err
}

// origin is the origin of the console in a browser.
func (b *bench) origin() string {
	_, port, _ := net.SplitHostPort(b.server.Address) // the harness chose it
	return "http://" + net.JoinHostPort(party, port)
}

// party is the name that passkeys belong to.
const party = "localhost"

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

func (b *bench) compare(ratio harness.Ratio) {
	b.result.Ratios = append(b.result.Ratios, ratio)
	fmt.Printf("  %s: %.3f (%v)\n", ratio.Name, ratio.Value, ratio.Met)
}

// violate records a violation.
func (b *bench) violate(format string, args ...any) {
	if len(b.result.Violations) < 20 {
		b.result.Violations = append(b.result.Violations, fmt.Sprintf(format, args...))
	}
}
