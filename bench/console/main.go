// Command console loads events of the last month and measures the time that Chromium takes from the navigation to the
// console's overview until its last number is drawn, each time in a browser with empty caches. It needs the packages
// that `make browser` installs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	events, days, times int
}

const (
	// loadTime limits the sending of the events, the wait until they are counted, and the counting of past days.
	loadTime = 20 * time.Minute
	// boundP95 is in milliseconds.
	boundP95 = 500
	// navigations is the program that drives the browser.
	navigations = "test/browser/navigations.mjs"
)

func main() { harness.Main("console", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(40 * time.Minute)
	flag.IntVar(&o.events, "events", 200_000, "events to load; 10000000 by hand")
	flag.IntVar(&o.days, "days", 29, "days that the events are spread over")
	flag.IntVar(&o.times, "times", 60, "navigations to each address")
	flag.Parse()
	return o.Within(ctx, "console", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

func measure(ctx context.Context, o *options, dir string) error {
	server, err := harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: "os", CPU: o.CPU()})
	if err != nil {
		return err
	}
	defer server.Kill()
	if _, err := drive(ctx, server, "", "", 0); err != nil { // before the events are loaded, which takes minutes
		return err
	}
	if err := fill(ctx, o, server); err != nil {
		return err
	}
	result := harness.NewResult(ctx, "console", o.Binary, o.Pin)
	result.Bottleneck = "the browser's start of a page; the server answers a dozen questions"
	page, err := mostVisited(ctx, server)
	if err != nil {
		return err
	}
	for _, address := range []struct{ name, query string }{
		{"overview 30d", "range=30d"},
		{"overview 7d, as it opens", ""},
		{"overview 30d, one page", "range=30d&" + url.Values{"filter": {"path:" + page}}.Encode()},
	} {
		row, err := navigate(ctx, o, server, address.query)
		if err != nil {
			return fmt.Errorf("%s: %w", address.name, err)
		}
		row.Name = address.name
		result.Rows = append(result.Rows, row)
		fmt.Print(harness.Line(&row))
	}
	text := fmt.Sprintf("overview 30d on %d events, navigation to last number, p95 ms", o.events)
	result.Ratios = append(result.Ratios, harness.AtMost("console", text, result.Rows[0].Latency.P95, boundP95))
	if err := o.Keep(result); err != nil {
		return err
	}
	return server.Stop()
}

// fill loads the events and waits until past days are counted, as on a server that has run for a while.
func fill(ctx context.Context, o *options, server *harness.Server) error {
	if _, err := server.Open(ctx); err != nil {
		return err
	}
	if _, _, err := server.Past(ctx, o.events, o.days, loadTime); err != nil {
		return err
	}
	if err := server.Stop(); err != nil {
		return err
	}
	if _, err := server.Open(ctx); err != nil {
		return err
	}
	return server.AwaitPastDays(ctx, loadTime)
}

// mostVisited returns the path of the page with the most visitors.
func mostVisited(ctx context.Context, server *harness.Server) (string, error) {
	var pages struct {
		Data []struct {
			Value string `json:"value"`
		} `json:"data"`
	}
	if err := server.Read(ctx, "/analytics/breakdown", url.Values{"dimension": {"path"}, "range": {"30d"}, "limit": {"1"}}, &pages); err != nil {
		return "", err
	}
	if len(pages.Data) == 0 {
		return "", errors.New("nobody saw a page")
	}
	return pages.Data[0].Value, nil
}

// navigate opens one address repeatedly. The processor time includes only the server.
func navigate(ctx context.Context, o *options, server *harness.Server, query string) (harness.Measurement, error) {
	session, err := server.Login(ctx, "owner@acme.example")
	if err != nil {
		return harness.Measurement{}, err
	}
	meter, err := harness.StartMeter(server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	took, err := drive(ctx, server, session, query, o.times)
	if err != nil {
		return harness.Measurement{}, err
	}
	usage, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	if len(took) == 0 {
		return harness.Measurement{}, errors.New("the browser was driven nowhere")
	}
	var latency harness.Latency
	for _, ms := range took {
		latency.Record(time.Duration(ms * float64(time.Millisecond)))
	}
	spread := latency.Spread()
	return harness.Measurement{Kind: harness.KindService, Latency: &spread, Extra: map[string]float64{
		"firstMs": took[0], "serverCPUMs": float64(usage.Server.Milliseconds()) / float64(len(took)),
	}}, nil
}

// drive starts a browser, opens an address a number of times, and returns the milliseconds of each.
func drive(ctx context.Context, server *harness.Server, session, query string, times int) (took []float64, err error) {
	// The arguments are the program's own flags.
	command := exec.CommandContext(ctx, "node", navigations, "http://"+server.Address, session, server.Organization+"/"+server.App, query, strconv.Itoa(times))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("driving the browser: %w", err)
	}
	if err := json.Unmarshal(out, &took); err != nil {
		return nil, fmt.Errorf("reading what the browser took: %w", err)
	}
	return took, nil
}
