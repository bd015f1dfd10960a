// Command flags measures evaluations of feature flags through the server: one flag by two protocols and twenty in a
// call, alternating with a handler that does not evaluate. It also measures an application with a thousand flags, and
// many subscribers that are notified of changes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	seconds     int
	rounds      int
	people      int
	flags       int
	subscribers int
	changes     int
	only        string
}

// Parts of a run.
const (
	onlyEvaluate  = "evaluate"
	onlySubscribe = "subscribers"
)

func main() { harness.Main("flags", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	var o options
	o.Flags(20 * time.Minute)
	flag.IntVar(&o.seconds, "seconds", 3, "length of one run of a load; 5 by hand")
	flag.IntVar(&o.rounds, "rounds", 1, "rounds in turns with the bare handler; 5 by hand")
	flag.IntVar(&o.people, "people", 5000, "persons who ask again and again")
	flag.IntVar(&o.flags, "flags", 1000, "flags of the large application, of five rules each")
	flag.IntVar(&o.subscribers, "subscribers", 1000, "subscribers who are told of changes; 10000 by hand")
	flag.IntVar(&o.changes, "changes", 20, "changes that they are told of")
	flag.StringVar(&o.only, "only", "", "evaluate or subscribers; empty is both")
	flag.Parse()
	return o.Within(ctx, "flags", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement, and a bare handler.
type bench struct {
	*options
	server *harness.Server
	bare   *bare.Handler
	result *harness.Result
	client *http.Client
	// small and large are the applications.
	small, large application
	// version is the version of the first flag of the small application.
	version uint64
}

// application is an application whose flags are evaluated.
type application struct{ path, key string }

func measure(ctx context.Context, o *options, dir string) error {
	server, err := harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: "os", CPU: o.CPU(), Environment: []string{"SVC_LOG_LEVEL=warn"}})
	if err != nil {
		return err
	}
	defer server.Kill()
	b := &bench{options: o, server: server, result: harness.NewResult(ctx, "flags", o.Binary, o.Pin), client: &http.Client{Timeout: time.Minute}}
	b.result.Notes = []string{
		"a second and core: the number of calls divided by the CPU time that the server's process used for them; the bounds apply to this number",
		"again: " + fmt.Sprint(againPeople) + " persons; new: a person who was never seen, for each call",
		"told: from the answer to the change until a subscriber has read of it, zero for who hears before the answer; the subscribers share the generator's processor",
		"memory of the large application: live after a restart, which every node holds; written is live with the actors that have just made it",
		"bytes a subscriber: live is heap and stacks after a collection, resident the process's own memory, connections included, less those before",
	}
	if b.bare, err = bare.StartHandler(ctx, bare.Flags, o.CPU(), dir); err != nil {
		return err
	}
	defer b.bare.Kill()
	if _, err := server.Open(ctx); err != nil {
		return err
	}
	if err := b.parts(ctx); err != nil {
		return err
	}
	if err := o.Keep(b.result); err != nil {
		return err
	}
	return server.Stop()
}

// parts measures, and compares the measurements with the goals.
func (b *bench) parts(ctx context.Context) error {
	for _, part := range []struct {
		name, only string
		run        func(*bench, context.Context) error
	}{
		{"making flags", b.only, (*bench).define},
		{"evaluating", onlyEvaluate, (*bench).alternate},
		{"half load", onlyEvaluate, (*bench).paced},
		{"goals", onlyEvaluate, (*bench).judgeEvaluations},
		{"subscribers", onlySubscribe, (*bench).subscribe},
		{"goals", onlySubscribe, (*bench).judgeSubscribers},
	} {
		if b.only != "" && b.only != part.only {
			continue
		}
		if err := part.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	for _, ratio := range b.result.Ratios {
		fmt.Printf("  %s: %.3g (%v)\n", ratio.Name, ratio.Value, ratio.Met)
	}
	fmt.Println("  bottleneck:", b.result.Bottleneck)
	return nil
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

// call makes a call of the management API and decodes its answer.
func (b *bench) call(ctx context.Context, method, path string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+b.server.Address+"/api/v1"+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+b.server.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := b.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %.300s", method, path, response.StatusCode, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// judgeEvaluations compares the figures with the goals and names the bottleneck.
func (b *bench) judgeEvaluations(context.Context) error {
	cost := func(name string) float64 {
		return b.result.Median(name, func(m *harness.Measurement) float64 { return m.CPUPerEvent })
	}
	p99 := func(name string) float64 {
		return b.result.Median(name, func(m *harness.Measurement) float64 { return m.Latency.P99 })
	}
	b.result.Ratios = append(b.result.Ratios,
		harness.AtMost("G10", "one flag, native: µs / bare µs", cost(nativeRow)/cost(bareNativeRow), 1.3),
		harness.AtMost("G10", "one flag, OFREP: µs / bare µs", cost(ofrepRow)/cost(bareOFREPRow), 1.3),
		harness.AtLeast("G10", "one flag, native: calls a second and core", 1e6/cost(nativeRow), 49_000),
		harness.AtLeast("G10", "one flag, OFREP: calls a second and core", 1e6/cost(ofrepRow), 49_000),
		harness.AtMost("G10", "one flag at half load, native: p99 in ms", p99(nativeRow+halfLoad), 5),
		harness.AtMost("G10", "one flag at half load, OFREP: p99 in ms", p99(ofrepRow+halfLoad), 5),
		harness.AtLeast("G11", "20 flags: calls a second and core", 1e6/cost(twentyRow), 32_000),
		harness.AtMost("flags", "20 of the large application: µs / µs of 20", cost(someRow)/cost(twentyRow), 3),
		harness.AtMost("flags", "all of the large application, again: µs / µs of 20", cost(againRow)/cost(twentyRow), 3),
		harness.AtMost("flags", "all of the large application, new: µs / µs of 20", cost(newRow)/cost(twentyRow), 3),
	)
	b.result.Bottleneck = fmt.Sprintf("the HTTP server of Go, which takes %.0f %% of one flag; an answer as long as all of the large application takes the bare handler %.0f %% of what it costs who comes again, and hashing is most of the rest for who is new",
		100*cost(bareNativeRow)/cost(nativeRow), 100*cost(bareLargeRow)/cost(againRow))
	return nil
}

// judgeSubscribers compares memory and subscribers with the goals.
func (b *bench) judgeSubscribers(context.Context) error {
	extra := func(name, figure string) float64 {
		return b.result.Median(name, func(m *harness.Measurement) float64 { return m.Extra[figure] })
	}
	b.result.Ratios = append(b.result.Ratios,
		harness.AtMost("flags", "memory of the large application, live kB", extra(largeRow, "liveBytes")/1000, 4000),
		harness.AtMost("flags", "memory of a subscriber, live kB", extra(subscribersRow, "liveBytesEach")/1000, 40),
		harness.AtMost("flags", "memory of a subscriber, resident kB", extra(subscribersRow, "residentBytesEach")/1000, 40),
		harness.AtMost("G13", "the last subscriber is told, ms, longest", extra(toldRow, "lastMaxMs"), 1000),
	)
	if b.result.Bottleneck == "" {
		b.result.Bottleneck = "writing to each connection, one after the other on the processors there are"
	}
	return nil
}
