package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc/bench/harness"
)

const (
	// evaluated is the flag whose evaluations are counted, in an environment that sends no other ones.
	evaluated            = "crash"
	evaluatedEnvironment = "staging"
	// evaluationsEach is the number of evaluations at a time.
	evaluationsEach = 40
	// countedTime limits the wait until evaluations are counted, on a busy machine.
	countedTime = 60 * time.Second
	// firstBarrier is beyond the numbers of the run's own barriers.
	firstBarrier = 100
	// forgotten is the kind of violation in which counted evaluations disappear or count twice.
	forgotten = "evaluations counted wrongly"
)

// evaluations evaluates a feature flag around kills. Counting is not guaranteed: evaluations are counted in memory and
// recorded every two seconds. But a counted evaluation remains counted, and none counts twice, both in the usage of
// telemetry and in the counts of the flag.
type evaluations struct {
	server *harness.Server
	// counted has the last counts, which included every answered evaluation; open is the number of evaluations answered
	// since.
	counted [2]uint64
	open    uint64
	// barriers counts the requested barriers.
	barriers int
	// lost sums the losses by kills, for each count.
	lost     [2]uint64
	problems []string
}

// The two counts of an evaluation.
func countNames() [2]string { return [2]string{"the usage of telemetry", "the counts of the flag"} }

// prepare creates the flag.
func (e *evaluations) prepare(ctx context.Context) error {
	path := "/api/v1/apps/" + e.server.Organization + "/" + e.server.App + "/flags/" + evaluated
	return e.call(ctx, http.MethodPut, path, e.server.Token, `{"name":"Crash","kind":"boolean","environments":{"`+evaluatedEnvironment+`":{"enabled":true,"rolloutPercent":100}}}`)
}

func (e *evaluations) call(ctx context.Context, method, path, bearer, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+e.server.Address+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+bearer)
	if _, err := answerOf(request); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// evaluate evaluates the flag.
func (e *evaluations) evaluate(ctx context.Context) error {
	for range evaluationsEach {
		if err := e.call(ctx, http.MethodPost, "/api/v1/flags/evaluate", e.server.Keys[evaluatedEnvironment].Secret, `{"distinctId":"u","keys":["`+evaluated+`"]}`); err != nil {
			return err
		}
		e.open++
	}
	return nil
}

// read returns both counts.
func (e *evaluations) read(ctx context.Context) (counts [2]uint64, err error) {
	days, err := e.server.Fates(ctx, evaluatedEnvironment)
	if err != nil {
		return counts, err
	}
	for _, signals := range days {
		counts[0] += signals["flagEvaluations"].Stored
	}
	var flags struct {
		Data []struct {
			Key   string
			Spark []uint64
		}
	}
	if err := e.server.Read(ctx, "/flags", map[string][]string{"env": {evaluatedEnvironment}}, &flags); err != nil {
		return counts, err
	}
	for _, flag := range flags.Data {
		for _, count := range flag.Spark {
			counts[1] += count
		}
	}
	return counts, nil
}

// before waits until evaluations are counted, and then makes further ones, which are in memory at the kill.
func (e *evaluations) before(ctx context.Context) error {
	if err := e.settle(ctx); err != nil {
		return err
	}
	return e.evaluate(ctx)
}

// settle evaluates and waits until the counts have grown by exactly that amount.
func (e *evaluations) settle(ctx context.Context) error {
	if err := e.look(ctx); err != nil {
		return err
	}
	if err := e.evaluate(ctx); err != nil {
		return err
	}
	var got [2]uint64
	err := harness.Poll(ctx, "counted evaluations", countedTime, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		read, err := e.read(ctx)
		if err != nil {
			return false, err.Error()
		}
		got = read
		return got[0] >= e.counted[0]+e.open && got[1] >= e.counted[1]+e.open, fmt.Sprintf("%d, %d and %d more are expected", got, e.counted, e.open)
	})
	if err != nil {
		return err
	}
	for n, name := range countNames() {
		if got[n] > e.counted[n]+e.open {
			e.problems = append(e.problems, fmt.Sprintf("%s are %d, after %d and %d answers", name, got[n], e.counted[n], e.open))
		}
	}
	e.counted, e.open = got, 0
	return nil
}

// look compares the counts after a restart with the earlier ones: all of them are included, and at most the ones
// answered since in addition.
func (e *evaluations) look(ctx context.Context) error {
	if e.open == 0 {
		return nil
	}
	// The log's evaluations are stored before a barrier.
	e.barriers++
	if err := e.server.Barrier(ctx, firstBarrier+e.barriers, settleTime); err != nil {
		return err
	}
	got, err := e.read(ctx)
	if err != nil {
		return err
	}
	for n, name := range countNames() {
		if got[n] < e.counted[n] || got[n] > e.counted[n]+e.open {
			e.problems = append(e.problems, fmt.Sprintf("%s are %d after a restart, before it %d and %d answers", name, got[n], e.counted[n], e.open))
		}
		e.lost[n] += e.counted[n] + e.open - min(got[n], e.counted[n]+e.open)
	}
	e.counted, e.open = got, 0
	return nil
}

// check compares the counts a last time.
func (e *evaluations) check(ctx context.Context, found *findings) error {
	if err := e.settle(ctx); err != nil {
		return err
	}
	for _, problem := range e.problems {
		found.violate(forgotten, "%s", problem)
	}
	return nil
}
