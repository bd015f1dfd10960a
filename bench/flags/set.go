package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// twenty is the number of flags of the small application.
const twenty = 20

// condition, rule, variant and definition are the parts of a flag as it is stored over the API.
type (
	condition struct {
		Field string `json:"field"`
		Op    string `json:"op"`
		Value any    `json:"value"`
	}
	rule struct {
		ID         string      `json:"id"`
		Conditions []condition `json:"conditions"`
		Variant    string      `json:"variant,omitempty"`
	}
	variant struct {
		Key    string  `json:"key"`
		Weight float64 `json:"weight"`
	}
	definition struct {
		Name         string                    `json:"name"`
		Kind         string                    `json:"kind"`
		Variants     []variant                 `json:"variants"`
		Rules        []rule                    `json:"rules"`
		Environments map[string]map[string]any `json:"environments"`
	}
)

// flagOf is a flag of three variants and four rules, of which the last one matches all people: staff, a country with a
// plan, a plan, and a draw. With own, a fifth rule tests for a group unique to the flag.
func flagOf(n int, own bool, rollout float64) definition {
	rules := []rule{
		{ID: "staff", Conditions: []condition{{"trait.email", "ends_with", "@example.com"}}, Variant: "a"},
		{ID: "german", Conditions: []condition{{"country", "eq", "DE"}, {"trait.plan", "eq", "pro"}}, Variant: "b"},
		{ID: "beta", Conditions: []condition{{"trait.plan", "eq", "beta"}}},
	}
	if own {
		rules = append(rules, rule{ID: "group", Conditions: []condition{{"property.version", "eq", fmt.Sprint("9.", n)}}, Variant: "a"})
	}
	return definition{
		Name: "Flag", Kind: "multivariate", Variants: []variant{{"control", 50}, {"a", 25}, {"b", 25}},
		Rules:        append(rules, rule{ID: "rest", Conditions: []condition{}}),
		Environments: map[string]map[string]any{"production": {"enabled": true, "rolloutPercent": rollout}},
	}
}

// The row of the large application's memory.
const largeRow = "definitions of the large application"

// define creates both applications: one with twenty flags, and one with many, whose rollouts are partial.
func (b *bench) define(ctx context.Context) error {
	b.small = application{"/apps/" + b.server.Organization + "/" + b.server.App, b.server.Keys["production"].Public}
	for n := range twenty {
		if err := b.call(ctx, http.MethodPut, fmt.Sprintf("%s/flags/flag-%d", b.small.path, n), flagOf(n, false, 100), nil); err != nil {
			return err
		}
	}
	if err := b.call(ctx, http.MethodPost, "/orgs/"+b.server.Organization+"/apps", map[string]any{"name": "Large", "slug": "large", "platform": "web"}, nil); err != nil {
		return err
	}
	b.large.path = "/apps/" + b.server.Organization + "/large"
	var made struct{ Key string }
	if err := b.call(ctx, http.MethodPost, b.large.path+"/keys", map[string]any{"kind": "public", "environment": "production", "label": "bench"}, &made); err != nil {
		return err
	}
	b.large.key = made.Key
	before, err := b.restarted(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for n := range b.flags {
		if err := b.call(ctx, http.MethodPut, fmt.Sprintf("%s/flags/flag-%d", b.large.path, n), flagOf(n, true, 50), nil); err != nil {
			return err
		}
	}
	took := time.Since(began)
	written, err := b.server.Weigh(ctx)
	if err != nil {
		return err
	}
	after, err := b.restarted(ctx)
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: largeRow, Kind: harness.KindService, Events: uint64(b.flags), Seconds: took.Seconds(), Extra: map[string]float64{
		"flags": float64(b.flags), "liveBytes": after.Live - before.Live, "liveBytesWritten": written.Live - before.Live, "putMs": took.Seconds() * 1000 / float64(b.flags),
	}})
	return nil
}

// restarted restarts the server and measures its memory: the definitions, without the actors that wrote them.
func (b *bench) restarted(ctx context.Context) (harness.Memory, error) {
	if err := b.server.Stop(); err != nil {
		return harness.Memory{}, err
	}
	b.client.CloseIdleConnections()
	if _, err := b.server.Open(ctx); err != nil {
		return harness.Memory{}, err
	}
	return b.server.Weigh(ctx)
}

// againPeople is the number of persons that repeatedly request all of many flags.
const againPeople = 50

// load is a load of requests. ofrep selects the protocol, keys are the requested flags, people is the number of persons
// that ask; zero is a new one for each call.
func (b *bench) load(path, key string, ofrep bool, keys []string, people int) harness.Load {
	asked := ""
	if len(keys) > 0 {
		asked = `,"keys":["` + strings.Join(keys, `","`) + `"]`
	}
	return harness.Load{
		Path: path, Key: key, Connections: 64, Batch: 1, Duration: time.Duration(b.seconds) * time.Second,
		Bodies: func(stream int) func(out []byte, size int, ts time.Time) []byte {
			random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(stream)))
			return func(out []byte, _ int, _ time.Time) []byte {
				who := random.IntN(1 << 40)
				if people > 0 {
					who %= people
				}
				id := `{"distinctId":"user-%012d","context":{`
				if ofrep {
					id = `{"context":{"targetingKey":"user-%012d",`
				}
				out = fmt.Appendf(out, id+`"country":"FR","plan":"free","email":"user-%012d@mail.example","device":"mobile","version":"3.14.1"}`, who, who)
				return append(append(out, asked...), '}')
			}
		},
	}
}

func names(flags int) (keys []string) {
	for n := range flags {
		keys = append(keys, fmt.Sprint("flag-", n))
	}
	return keys
}

// Names of rows that are compared.
const (
	bareNativeRow = "bare handler, one flag, native"
	bareOFREPRow  = "bare handler, one flag, OFREP"
	bareTwentyRow = "bare handler, 20 flags"
	bareLargeRow  = "bare handler, 1,000 flags"
	nativeRow     = "one flag, native"
	ofrepRow      = "one flag, OFREP"
	twentyRow     = "20 flags"
	someRow       = "20 of the large application"
	againRow      = "all of the large application, again"
	newRow        = "all of the large application, new"
	halfLoad      = ", half load"
)

// turn is one load of a round, against the bare handler or the server.
type turn struct {
	name string
	bare bool
	load harness.Load
}

func (b *bench) turns() []turn {
	one := names(1)
	native, ofrep := b.load(bare.FlagsPath, b.small.key, false, one, b.people), b.load(bare.OFREPPath, b.small.key, true, nil, b.people)
	all := b.load(bare.FlagsPath, b.small.key, false, nil, b.people)
	bareAll := all
	bareAll.Path = bare.AllFlagsPath
	bareLarge := bareAll
	bareLarge.Path = bare.ManyFlagsPath
	return []turn{
		{bareNativeRow, true, native},
		{nativeRow, false, native},
		{bareOFREPRow, true, ofrep},
		{ofrepRow, false, ofrep},
		{bareTwentyRow, true, bareAll},
		{twentyRow, false, all},
		{someRow, false, b.load(bare.FlagsPath, b.large.key, false, names(twenty), b.people)},
		{bareLargeRow, true, bareLarge},
		{againRow, false, b.load(bare.FlagsPath, b.large.key, false, nil, againPeople)},
		{newRow, false, b.load(bare.FlagsPath, b.large.key, false, nil, 0)},
	}
}

// alternate measures the bare handler and the server in turns, so that a slow minute of the machine affects both.
func (b *bench) alternate(ctx context.Context) error {
	for round := range b.rounds {
		for _, turn := range b.turns() {
			row, err := b.drive(ctx, turn)
			if err != nil {
				return err
			}
			row.Round = round + 1
			b.add(row)
		}
	}
	return nil
}

// drive runs one load. The server is warm: it answered the same before.
func (b *bench) drive(ctx context.Context, turn turn) (row harness.Measurement, err error) {
	warm := turn.load
	warm.Duration = time.Second / 2
	if turn.bare {
		if _, err := b.bare.Measure(ctx, turn.name, warm); err != nil {
			return row, err
		}
		row, err = b.bare.Measure(ctx, turn.name, turn.load)
	} else {
		warm.Address = b.server.Address
		warm.Run(ctx)
		row, err = b.evaluate(ctx, turn)
	}
	if err == nil && (row.Failures > 0 || row.Events == 0) {
		err = fmt.Errorf("%s: %d of %d requests failed: %s", turn.name, row.Failures, row.Failures+row.Events, row.Failure)
	}
	if row.CPUPerEvent > 0 {
		row.Extra = map[string]float64{"perCore": 1e6 / row.CPUPerEvent}
	}
	return row, err
}

func (b *bench) evaluate(ctx context.Context, turn turn) (harness.Measurement, error) {
	load := turn.load
	load.Address = b.server.Address
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	outcome := load.Run(ctx)
	usage, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	return outcome.Fill(turn.name, harness.KindService, usage), nil
}

// paced measures latency at half of the rate that the server reached, with the bare handler at the same rate as the
// floor. It runs in rounds: during the first one, the exposures of the earlier new persons are still being stored.
func (b *bench) paced(ctx context.Context) error {
	for range b.rounds {
		for _, name := range []string{nativeRow, ofrepRow} {
			rate := b.result.Median(name, func(m *harness.Measurement) float64 { return m.EventsPerSecond }) / 2
			for _, turn := range b.turns() {
				if turn.name != name && turn.name != "bare handler, "+name {
					continue
				}
				turn.name += halfLoad
				turn.load.Rate = rate
				row, err := b.drive(ctx, turn)
				if err != nil {
					return err
				}
				b.add(row)
			}
		}
	}
	return nil
}
