package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"svc/bench/harness"
)

const (
	// keyChanges is the number of keys that are created and revoked, keyPauses the number of pauses of a node
	// meanwhile.
	keyChanges, keyPauses = 100, 5
	// keyPause is longer than a node may answer from its last known state.
	keyPause = 3 * time.Second
)

// keysInForce creates and revokes keys through each node in turn. It measures the time from the answer until the last
// node accepts events with the key, or refuses them. Then it revokes keys while a node is paused, which must never
// accept events with them once it runs again.
func keysInForce(ctx context.Context, _ *options, c *nodes, result *harness.Result) error {
	l := newLoad(c, nil, 1)
	var usable, refused harness.Latency
	for number := range keyChanges {
		at := c.all[number%len(c.all)]
		id, secret, err := l.mint(ctx, at, number)
		if err != nil {
			return err
		}
		l.everywhere(ctx, &usable, time.Now(), func(n *node) bool { return l.sendBy(ctx, n, secret) == http.StatusAccepted })
		if err := l.revoke(ctx, at, id); err != nil {
			return err
		}
		l.everywhere(ctx, &refused, time.Now(), func(n *node) bool { return l.sendBy(ctx, n, secret) == http.StatusUnauthorized })
	}
	taken, err := l.revokeAsleep(ctx)
	if err != nil {
		return err
	}
	for n, latency := range []*harness.Latency{&usable, &refused} {
		what := []string{"a key usable", "a revoked key refused"}[n]
		spread := latency.Spread()
		result.Rows = append(result.Rows, harness.Measurement{
			Name: fmt.Sprintf("%s on %d nodes", what, len(c.all)), Kind: harness.KindService, Latency: &spread,
			Extra: map[string]float64{"keys": float64(latency.Count()), "p50Ms": spread.P50, "p99Ms": spread.P99, "maxMs": spread.Max, "takenAfterSIGCONT": float64(taken)},
		})
		fmt.Println(what, "p50", latency.Percentile(0.5), "p99", latency.Percentile(0.99), "max", latency.Max())
	}
	return errors.Join(ctx.Err(), l.failed())
}

// mint creates a key and returns its id and secret.
func (l *load) mint(ctx context.Context, at *node, number int) (id, secret string, err error) {
	status, answer := l.call(ctx, at, http.MethodPost, "/apps/acme/web/keys", at.Token, fmt.Appendf(nil, `{"kind":"secret","environment":"staging","label":"k%d"}`, number))
	var made struct{ ID, Key string }
	if err := json.Unmarshal(answer, &made); err != nil || status/100 != 2 || made.Key == "" {
		return "", "", fmt.Errorf("making key %d: %d %.200s", number, status, answer)
	}
	return made.ID, made.Key, nil
}

func (l *load) revoke(ctx context.Context, at *node, id string) error {
	if status, answer := l.call(ctx, at, http.MethodDelete, "/apps/acme/web/keys/"+id, at.Token, nil); status/100 != 2 {
		return fmt.Errorf("revoking a key: %d %.200s", status, answer)
	}
	return nil
}

// sendBy sends an event with a key and returns the status.
func (l *load) sendBy(ctx context.Context, n *node, secret string) int {
	status, _ := l.call(ctx, n, http.MethodPost, "/batch", secret, []byte(`{"items":[{"type":"event","name":"key","distinctId":"u"}]}`), http.StatusUnauthorized)
	return status
}

// revokeAsleep revokes keys while a node is paused. It sends events to the node as soon as it runs again, and returns
// the number of accepted ones.
func (l *load) revokeAsleep(ctx context.Context) (taken int, err error) {
	first, asleep := l.nodes.all[0], l.nodes.all[len(l.nodes.all)-1]
	for number := range keyPauses {
		id, secret, err := l.mint(ctx, first, keyChanges+number)
		if err != nil {
			return taken, err
		}
		var latency harness.Latency
		l.everywhere(ctx, &latency, time.Now(), func(n *node) bool { return l.sendBy(ctx, n, secret) == http.StatusAccepted })
		if err := syscall.Kill(asleep.PID(), syscall.SIGSTOP); err != nil {
			return taken, fmt.Errorf("pausing: %w", err)
		}
		// If the application is on the paused node, the others take it over first.
		revoking := harness.Poll(ctx, "a key to be revoked", time.Minute, 100*time.Millisecond, func(ctx context.Context) (bool, string) {
			status, answer := l.call(ctx, first, http.MethodDelete, "/apps/acme/web/keys/"+id, first.Token, nil, http.StatusNotFound)
			return status/100 == 2 || status == http.StatusNotFound, fmt.Sprintf("%d %.200s", status, answer)
		})
		time.Sleep(keyPause)
		if err := errors.Join(revoking, syscall.Kill(asleep.PID(), syscall.SIGCONT)); err != nil {
			return taken, err
		}
		for status := 0; status != http.StatusUnauthorized && ctx.Err() == nil; {
			if status = l.sendBy(ctx, asleep, secret); status == http.StatusAccepted {
				taken++
				l.problem("%s took an event by a key that was revoked while it stood still", asleep.name)
			}
		}
	}
	return taken, ctx.Err()
}
