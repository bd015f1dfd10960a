package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"svc/bench/harness"
)

// flips is one feature flag and one telemetry policy that are changed through any node, one change after the other,
// while every node evaluates the flag. A revision has the same content on all nodes, and no node returns to an earlier
// one. At rest all nodes have the last change.
type flips struct {
	flag   register
	policy register
	// enabled says whether the change with a number has switched the events of staging on.
	enabled map[int]bool

	mu sync.Mutex
	// values holds the flag's answer at each revision, seen the latest revision that each node has shown.
	values map[uint64]int
	seen   map[string]uint64
	// force measures when changes are in force; nil if that is not measured.
	force *inForce
}

// lookEvery is the interval at which each node is queried for the flag.
const lookEvery = 10 * time.Millisecond

const flipped = "/apps/acme/web/flags/flip"

// startFlips begins the changes, and a reader of each node.
func (l *load) startFlips(ctx context.Context, random *rand.Rand) {
	l.flips = &flips{enabled: map[int]bool{0: true}, values: map[uint64]int{}, seen: map[string]uint64{}, force: newInForce()}
	own := rand.New(rand.NewPCG(random.Uint64(), 3))
	l.wg.Go(func() { l.flip(ctx, own) })
	for _, n := range l.nodes.all {
		l.wg.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(lookEvery)
				l.lookAtFlag(ctx, n)
			}
		})
	}
}

// flip changes the flag until ctx ends, and the policy every tenth time. The flag evaluates to the number of the change.
func (l *load) flip(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(20+random.IntN(60)) * time.Millisecond)
		at := l.any(random)
		number := l.flips.flag.sent + 1
		l.flips.flag.send(number)
		status, answer := l.call(ctx, at, http.MethodPut, flipped, at.Token, fmt.Appendf(nil,
			`{"name":"Flip","kind":"multivariate","variants":[{"key":"a","weight":100,"value":%d},{"key":"b","weight":0}],"environments":{"production":{"enabled":true,"rolloutPercent":100}}}`, number))
		if status/100 == 2 {
			l.flips.flag.acknowledge(number)
			l.changes.Add(1)
			l.heard(ctx, at, number, answer)
		}
		if number%10 == 0 {
			l.flipPolicy(ctx, at)
		}
	}
}

// heard waits until the node that answered a change evaluates by it, or by a later one. It must do so at once, unless
// the present fault prevented it from receiving the change before its answer.
func (l *load) heard(ctx context.Context, at *node, number int, answer []byte) {
	var flag struct{ Version uint64 }
	if err := json.Unmarshal(answer, &flag); err != nil {
		l.problem("change %d of the flag answers %.200s", number, answer)
		return
	}
	l.flips.force.answered(flag.Version, l.nodes.all)
	for began := time.Now(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		revision, answered := l.lookAtFlag(ctx, at)
		if !answered || revision >= flag.Version {
			return
		}
		if took := time.Since(began); took > inForceTime {
			l.problem("%s answered change %d of the flag as version %d and evaluates by %d %s later", at.name, number, flag.Version, revision, took)
			return
		}
	}
}

// lookAtFlag evaluates the flag on a node and compares the answer with the answers of all nodes for its revision.
func (l *load) lookAtFlag(ctx context.Context, at *node) (revision uint64, answered bool) {
	l.flips.mu.Lock()
	least := l.flips.seen[at.name]
	l.flips.mu.Unlock()
	serves := l.flips.force.serves(at.name)
	status, body := l.call(ctx, at, http.MethodPost, "/flags/evaluate", at.Keys["production"].Secret, []byte(`{"distinctId":"u","keys":["flip"]}`))
	var answer struct {
		Revision uint64
		Flags    map[string]struct{ Value int }
	}
	if serves && ctx.Err() == nil && l.flips.force.evaluated(at.name, status == http.StatusOK) {
		l.problem("%s serves, and answers an evaluation %d %.200s", at.name, status, body)
	}
	if status != http.StatusOK {
		return 0, false
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		l.problem("evaluating through %s: %.200s", at.name, body)
		return 0, false
	}
	value := answer.Flags["flip"].Value
	l.flips.mu.Lock()
	defer l.flips.mu.Unlock()
	if answer.Revision < least {
		l.problem("%s evaluates by revision %d after %d", at.name, answer.Revision, least)
	}
	if known, has := l.flips.values[answer.Revision]; has && known != value {
		l.problem("revision %d of the flag is change %d and, through %s, %d", answer.Revision, known, at.name, value)
	}
	l.flips.values[answer.Revision] = value
	l.flips.seen[at.name] = max(l.flips.seen[at.name], answer.Revision)
	l.flips.force.shows(at.name, answer.Revision)
	return answer.Revision, true
}

// flipPolicy switches the events of staging on or off.
func (l *load) flipPolicy(ctx context.Context, at *node) {
	const path = "/apps/acme/web/telemetry?env=staging"
	status, body := l.call(ctx, at, http.MethodGet, path, at.Token, nil)
	var present struct{ Revision int64 }
	if status != http.StatusOK || json.Unmarshal(body, &present) != nil {
		return
	}
	number := l.flips.policy.sent + 1
	l.flips.policy.send(number)
	l.flips.enabled[number] = number%2 == 0
	// A change without an answer may have taken effect since.
	status, _ = l.call(ctx, at, http.MethodPost, path, at.Token,
		fmt.Appendf(nil, `{"expectedRevision":%d,"policy":{"events":{"enabled":%t}}}`, present.Revision, l.flips.enabled[number]), http.StatusConflict)
	if status/100 == 2 {
		l.flips.policy.acknowledge(number)
		l.changes.Add(1)
	}
}

// checkFlips queries every node at rest, a second after the last change: all have the last change of the flag and of
// the policy.
func (l *load) checkFlips(ctx context.Context) {
	var last uint64
	time.Sleep(time.Second)
	for n, at := range l.nodes.all {
		revision, answered := l.lookAtFlag(ctx, at)
		if !answered || n > 0 && revision != last {
			l.problem("at rest %s evaluates by revision %d, the node before by %d", at.name, revision, last)
		}
		last = revision
		if value := l.flips.values[revision]; !l.flips.flag.allows(value) {
			l.problem("at rest %s evaluates change %d of the flag; %d was acknowledged, %d was sent last", at.name, value, l.flips.flag.acked, l.flips.flag.sent)
		}
		l.checkPolicy(ctx, at)
	}
}

// checkPolicy sends an event to staging: its acceptance shows which change of the policy is in force on a node.
func (l *load) checkPolicy(ctx context.Context, at *node) {
	body := fmt.Appendf(nil, `{"items":[{"type":"event","name":"flip","distinctId":"u","id":"flip-%s"}]}`, at.name)
	status, answer := l.call(ctx, at, http.MethodPost, "/batch", at.Keys["staging"].Secret, body, http.StatusBadRequest)
	for number := range l.flips.policy.sent + 1 {
		possible := number == l.flips.policy.acked || l.flips.policy.open[number]
		if possible && l.flips.enabled[number] == (status == http.StatusAccepted) {
			return
		}
	}
	l.problem("at rest %s answers an event by another policy than change %d: %d %.200s", at.name, l.flips.policy.acked, status, answer)
}

// inForceChanges is the number of changes of the flag and the policy, inForceTime the time within which a node must
// know one.
const (
	inForceChanges = 200
	inForceTime    = 10 * time.Second
)

// changesInForce changes a flag and a telemetry policy through each node in turn. It measures the time from the answer
// until the last node evaluates by the change, or accepts events by it. The nodes are queried one after the other, so
// the figures include the time of these requests.
func changesInForce(ctx context.Context, _ *options, c *nodes, result *harness.Result) error {
	l := newLoad(c, nil, 1)
	l.flips = &flips{enabled: map[int]bool{0: true}, values: map[uint64]int{}, seen: map[string]uint64{}}
	var flag, policy harness.Latency
	for number := range inForceChanges {
		at := c.all[number%len(c.all)]
		status, answer := l.call(ctx, at, http.MethodPut, flipped, at.Token, fmt.Appendf(nil,
			`{"name":"Flip","kind":"multivariate","variants":[{"key":"a","weight":100,"value":%d},{"key":"b","weight":0}],"environments":{"production":{"enabled":true,"rolloutPercent":100}}}`, number))
		answered := time.Now()
		var changed struct{ Version uint64 }
		if err := json.Unmarshal(answer, &changed); err != nil || status/100 != 2 {
			return fmt.Errorf("change %d of the flag is answered %d %.200s", number, status, answer)
		}
		l.everywhere(ctx, &flag, answered, func(n *node) bool {
			revision, ok := l.lookAtFlag(ctx, n)
			return ok && revision >= changed.Version
		})
		l.flipPolicy(ctx, at)
		answered = time.Now()
		wanted := l.flips.enabled[l.flips.policy.acked]
		l.everywhere(ctx, &policy, answered, func(n *node) bool { return l.takesEvents(ctx, n) == wanted })
	}
	for n, latency := range []*harness.Latency{&flag, &policy} {
		what := []string{"flag", "policy"}[n]
		spread := latency.Spread()
		result.Rows = append(result.Rows, harness.Measurement{
			Name: fmt.Sprintf("a changed %s in force on %d nodes", what, len(c.all)), Kind: harness.KindService, Latency: &spread,
			Extra: map[string]float64{"changes": float64(latency.Count()), "p50Ms": spread.P50, "p99Ms": spread.P99, "maxMs": spread.Max},
		})
		fmt.Println("a changed", what, "p50", latency.Percentile(0.5), "p99", latency.Percentile(0.99), "max", latency.Max())
	}
	return errors.Join(ctx.Err(), l.failed())
}

// everywhere waits until a change is in force on every node and records the time.
func (l *load) everywhere(ctx context.Context, latency *harness.Latency, answered time.Time, inForce func(n *node) bool) {
	for _, n := range l.nodes.all {
		for !inForce(n) {
			if ctx.Err() != nil || time.Since(answered) > inForceTime {
				l.problem("%s does not have a change %s after its answer", n.name, time.Since(answered))
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	latency.Record(time.Since(answered))
}

// takesEvents reports whether a node accepts events of staging.
func (l *load) takesEvents(ctx context.Context, n *node) bool {
	body := fmt.Appendf(nil, `{"items":[{"type":"event","name":"flip","distinctId":"u","id":"flip-%s"}]}`, n.name)
	status, _ := l.call(ctx, n, http.MethodPost, "/batch", n.Keys["staging"].Secret, body, http.StatusBadRequest)
	return status == http.StatusAccepted
}
