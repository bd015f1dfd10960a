// Command assistant measures how the server relays a model's answer: many turns at once,
// each of so many frames a second, from a scripted model in this process, through the
// server, back to clients in this process. Every fragment carries the instant at which
// the model sent it, so the added time of each frame is known.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	binary  string
	results string
	turns   int
	rate    int
	seconds int
	pin     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "assistant:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func start(ctx context.Context) error {
	var o options
	flag.StringVar(&o.binary, "server", "bin/svc", "the server's program")
	flag.StringVar(&o.results, "results", "bench/results", "folder of results; empty writes none")
	flag.IntVar(&o.turns, "turns", 100, "turns at once")
	flag.IntVar(&o.rate, "rate", 50, "frames a second and turn; 0 sends as fast as they are taken")
	flag.IntVar(&o.seconds, "seconds", 5, "how long each turn's model speaks")
	flag.BoolVar(&o.pin, "pin", false, "give processor 1 to the server, processor 0 to this process")
	flag.Parse()
	if flag.NArg() > 0 || o.turns < 1 || o.rate < 0 || o.seconds < 1 {
		return errors.New("the flags make no scenario; see -help")
	}
	return run(ctx, o)
}

// questionsEach is how many questions a member may ask in an hour.
const questionsEach = 30

func run(ctx context.Context, o options) error {
	model, err := serveModel(ctx, o)
	if err != nil {
		return err
	}
	defer model.close()
	folder, err := os.MkdirTemp("", "svc-assistant-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system clears what is left
	settings := harness.Settings{Binary: o.binary, Dir: folder, Sync: "os", CPU: harness.Unpinned, Environment: []string{
		"SVC_RATE_LIMIT=0", "SVC_AI_PROVIDER=openai", "SVC_AI_API_KEY=scripted", "SVC_AI_BASE_URL=" + model.url,
	}}
	if o.pin {
		settings.CPU = 1
		if err := harness.PinSelf(0); err != nil {
			return err
		}
	}
	server, err := harness.NewServer(ctx, settings)
	if err != nil {
		return err
	}
	if _, err := server.Open(ctx); err != nil {
		return fmt.Errorf("%w (its log: %s)", err, filepath.Clean(server.LogFile()))
	}
	defer server.Kill()
	result := harness.NewResult(ctx, "assistant", o.binary, o.pin)
	row, err := measure(ctx, o, server)
	if err != nil {
		return err
	}
	result.Rows = append(result.Rows, row)
	fmt.Println(harness.Line(&row))
	if o.results != "" {
		if _, err := result.Write(o.results); err != nil {
			return err
		}
	}
	return server.Stop()
}

// measure opens all turns and counts what comes back.
func measure(ctx context.Context, o options, server *harness.Server) (harness.Measurement, error) {
	tokens, err := members(ctx, server, (o.turns+questionsEach-1)/questionsEach)
	if err != nil {
		return harness.Measurement{}, err
	}
	_, before, err := harness.ProcessRSS(server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	meter, err := harness.StartMeter(server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0, MaxIdleConnsPerHost: o.turns}}
	listeners := make([]listener, o.turns)
	began := time.Now()
	var turns sync.WaitGroup
	for n := range listeners {
		turns.Go(func() { listeners[n].err = listeners[n].listen(ctx, client, server, tokens[n/questionsEach]) })
	}
	peak := watchMemory(ctx, server.PID(), &turns)
	usage, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	whole := harness.Outcome{Elapsed: time.Since(began)}
	var first harness.Latency
	for n := range listeners {
		l := &listeners[n]
		if l.err != nil {
			whole.Failures++
			whole.FirstFailure = l.err.Error()
		}
		whole.Events += l.frames
		whole.Latency.Merge(&l.added)
		first.Merge(&l.first)
	}
	row := whole.Fill("frames relayed", harness.KindService, usage)
	row.Extra = map[string]float64{
		"turns": float64(o.turns), "rate": float64(o.rate),
		"bytesPerTurn": float64(max(peak-before, 0) / int64(o.turns)),
		"firstP50Ms":   first.Spread().P50,
	}
	if usage.Server > 0 {
		row.Extra["framesPerCore"] = float64(whole.Events) / usage.Server.Seconds()
	}
	return row, nil
}

// watchMemory returns the most anonymous memory of the server until the turns end.
func watchMemory(ctx context.Context, pid int, turns *sync.WaitGroup) (most int64) {
	ended := make(chan struct{})
	go func() { turns.Wait(); close(ended) }()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if _, anonymous, err := harness.ProcessRSS(pid); err == nil {
				most = max(most, anonymous)
			}
		case <-ended:
			return most
		case <-ctx.Done():
			<-ended
			return most
		}
	}
}
