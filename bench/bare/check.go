package bare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"svc/bench/harness"
)

// The modes of a bare client that checks a target. A closed loop checks as fast as its workers can, over reused
// connections or a new one for each check. A paced client makes a number of checks per second, each at its time.
const (
	roleKept  = "check-kept"
	roleFresh = "check-fresh"
	rolePaced = "check-paced"
)

// Variables of a bare client: its target, and its rate per second if it is paced.
const (
	targetVariable = "SVC_BENCH_TARGET"
	rateVariable   = "SVC_BENCH_RATE"
)

// CheckText is in the body of a healthy target.
const CheckText = "all is well"

const (
	// checkWorkers is the number of concurrent checks if they are not paced.
	checkWorkers = 64
	// pacedMost limits the connections of a paced client.
	pacedMost = 256
	// checkTime is how long a bare client runs.
	checkTime = 5 * time.Second
)

// Checks measures a bare net/http client against a target, on a processor: the cost of a check without a service around
// it.
func Checks(ctx context.Context, cpu int, target string, rate int) ([]harness.Measurement, error) {
	var rows []harness.Measurement
	for _, role := range []string{roleKept, roleFresh, rolePaced} {
		some, err := run(ctx, role, cpu, targetVariable+"="+target, rateVariable+"="+strconv.Itoa(rate))
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	return rows, nil
}

// checker is a bare client under measurement.
type checker struct {
	client *http.Client
	target string
	bodies sync.Pool

	mu       sync.Mutex
	checks   uint64
	failures uint64
	latency  harness.Latency
}

// measureChecks is the main function of the child.
func measureChecks(role string) ([]harness.Measurement, error) {
	c := &checker{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableKeepAlives: role == roleFresh}, Timeout: 10 * time.Second},
		target: os.Getenv(targetVariable), bodies: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	began := time.Now()
	before, err := harness.ProcessCPU(os.Getpid())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	name := "bare client, connections kept"
	switch role {
	case rolePaced:
		rate, err := strconv.Atoi(os.Getenv(rateVariable))
		if err != nil || rate < 1 {
			return nil, fmt.Errorf("reading the rate: %w", err)
		}
		name = fmt.Sprintf("bare client, kept, %d checks a second", rate)
		c.paced(ctx, rate)
	case roleFresh:
		name = "bare client, connections made anew"
		c.closed(ctx)
	default:
		c.closed(ctx)
	}
	elapsed := time.Since(began)
	after, err := harness.ProcessCPU(os.Getpid())
	if err != nil {
		return nil, err
	}
	spread := c.latency.Spread()
	return []harness.Measurement{{
		Name: name, Kind: harness.KindLimit, Events: c.checks, Seconds: elapsed.Seconds(), EventsPerSecond: float64(c.checks) / elapsed.Seconds(),
		CPUPerEvent: float64((after - before).Microseconds()) / float64(max(c.checks, 1)), Latency: &spread, Failures: c.failures,
	}}, nil
}

// closed makes every worker check again as soon as its check ends.
func (c *checker) closed(ctx context.Context) {
	var workers sync.WaitGroup
	for n := range checkWorkers {
		workers.Go(func() {
			for ctx.Err() == nil {
				c.check(n)
			}
		})
	}
	workers.Wait()
}

// paced begins every check when it is due, unless pacedMost are in progress.
func (c *checker) paced(ctx context.Context, rate int) {
	var checks sync.WaitGroup
	defer checks.Wait()
	slots := make(chan struct{}, pacedMost)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for begun := 0; ; {
		for due := int(time.Since(began).Seconds() * float64(rate)); begun < due && ctx.Err() == nil; begun++ {
			n := begun % rate
			slots <- struct{}{}
			checks.Go(func() { c.check(n); <-slots })
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (c *checker) check(n int) {
	began := time.Now()
	passed := c.passes(n)
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	c.latency.Record(took)
	if !passed {
		c.failures++
	}
}

// passes performs a check of the status and of a text in the body.
func (c *checker) passes(n int) bool {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.target+"/bare/"+strconv.Itoa(n), http.NoBody)
	if err != nil {
		return false
	}
	response, err := c.client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }() // it was read
	body := c.bodies.Get().(*bytes.Buffer)
	defer c.bodies.Put(body)
	body.Reset()
	_, err = body.ReadFrom(io.LimitReader(response.Body, bodyBytes))
	return err == nil && response.StatusCode == http.StatusOK && bytes.Contains(body.Bytes(), []byte(CheckText))
}
