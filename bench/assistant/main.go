// Command assistant measures how the server relays a model's answers, from a scripted model in this process, through
// the server, to clients in this process. It measures the frames that one core relays, compared with a bare writer and
// a bare relay of streams in the same run. It measures many turns at a pace, with the delay of each frame, compared
// with the bare relay. It also measures the memory of open turns and of idle conversations. Every fragment carries the
// instant at which the model sent it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	rounds  int
	lanes   int
	frames  int
	turns   int
	rate    int
	seconds int
	firsts  int
	idle    int
	asking  time.Duration
	desks   bool
	settle  time.Duration
	only    string
}

func main() { harness.Main("assistant", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	var o options
	o.Flags(40 * time.Minute)
	flag.IntVar(&o.rounds, "rounds", 3, "how often limit and service relay in turns")
	flag.IntVar(&o.lanes, "lanes", 8, "turns at once that relay as fast as they can")
	flag.IntVar(&o.frames, "frames", 100_000, "frames of each of them")
	flag.IntVar(&o.turns, "turns", 1000, "turns at once at a pace, and open ones that are weighed")
	flag.IntVar(&o.rate, "rate", 50, "frames a second of each of them")
	flag.IntVar(&o.seconds, "seconds", 8, "how long all of them run at once")
	flag.IntVar(&o.firsts, "firsts", 200, "turns one after another whose first frame is timed")
	flag.IntVar(&o.idle, "idle", 10_000, "conversations that fall idle")
	flag.DurationVar(&o.asking, "asking", 75*time.Second, "how long they may be asked; those that were count")
	flag.BoolVar(&o.desks, "desks", false, "wait until members' desks and tokens leave memory as well, which takes five minutes, and weigh what stays")
	flag.DurationVar(&o.settle, "settle", 8*time.Minute, "how long they may take to leave memory")
	flag.StringVar(&o.only, "only", "", "scenarios to run, with commas: relay, pace, memory, first, idle")
	flag.Parse()
	if flag.NArg() > 0 || min(o.rounds, o.lanes, o.frames, o.turns, o.rate, o.seconds, o.firsts, o.idle) < 1 || o.seconds+int(float64(o.turns)*stagger.Seconds()) > 100 {
		return errors.New("the flags make no scenario (a turn lasts 120 seconds at most); see -help")
	}
	return o.Within(ctx, "assistant", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement, with its model.
type bench struct {
	*options
	dir    string
	server *harness.Server
	model  *scripted
	result *harness.Result
	client *http.Client
	seats  seats
	began  time.Time
}

func measure(ctx context.Context, o *options, dir string) error {
	b := &bench{options: o, dir: dir, began: time.Now(), result: harness.NewResult(ctx, "assistant", o.Binary, o.Pin)}
	b.result.Bottleneck = "the CPU of the server's process: reading and decoding the provider's stream, then a write for each frame that comes alone; the inserts of the record are what the first frame waits for"
	b.result.Notes = append(b.result.Notes,
		"a bare relay reads the same model's stream line by line and hands every fragment on undecoded; like the service, it flushes when it has read no more. The bare writer reads nothing and flushes every frame.",
		"a turn's memory is heap and stacks of the server, with its HTTP/1.1 connections to the client and to the model")
	b.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: max(o.turns, o.lanes)}}
	var err error
	if b.model, err = serveModel(ctx); err != nil {
		return err
	}
	defer b.model.close()
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: "os", CPU: o.CPU(), Environment: []string{
		"SVC_AI_PROVIDER=openai", "SVC_AI_API_KEY=scripted", "SVC_AI_BASE_URL=" + b.model.url,
	}})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	b.seats.server = b.server
	for _, scenario := range []struct {
		name string
		run  func(context.Context) error
	}{{"first", b.first}, {"relay", b.relay}, {"pace", b.pace}, {"memory", b.memory}, {"idle", b.idleness}} {
		if b.only != "" && !slices.Contains(strings.Split(b.only, ","), scenario.name) {
			continue
		}
		b.tell("%s", scenario.name)
		if err := scenario.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
	}
	return errors.Join(b.write(), b.server.Stop())
}

// tell prints the progress of the run.
func (b *bench) tell(format string, args ...any) {
	fmt.Printf("%4.0f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// write prints the ratios and stores the result.
func (b *bench) write() error {
	for _, ratio := range b.result.Ratios {
		fmt.Printf("%-10s %-70s %12.4g (goal %g) met %v\n", ratio.Goal, ratio.Name, ratio.Value, ratio.Bound, ratio.Met)
	}
	return b.Keep(b.result)
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

func (b *bench) goal(ratio harness.Ratio) { b.result.Ratios = append(b.result.Ratios, ratio) }
