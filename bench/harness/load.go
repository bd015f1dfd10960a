package harness

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Load describes a load of ingest requests.
type Load struct {
	Address string
	Path    string
	Key     string
	// Connections send at the same time.
	Connections int
	// Batch is the number of events in a request: 1 sends single events.
	Batch int
	// Issues is the number of issues of the errors in a list; 0 sends no errors.
	Issues int
	// Rate is the number of requests per second of an open loop; zero is a closed loop.
	Rate float64
	// Duration limits the time of the load, Events the number of events if it is not zero.
	Duration time.Duration
	Events   int
	Seed     uint64
	// Time gives the timestamp of events; nil is the present.
	Time func(sent int) time.Time
	// Bodies returns the renderer of a connection's bodies, each with size items of a time; nil sends reference events.
	// Media is their type, JSON if it is empty.
	Bodies func(stream int) func(out []byte, size int, ts time.Time) []byte
	Media  string
}

// Outcome is the result of a load. Answers other than 2xx and broken connections are failures and do not count as
// events.
type Outcome struct {
	Requests uint64
	Events   uint64
	Failures uint64
	// FirstFailure describes the first of them.
	FirstFailure string
	Elapsed      time.Duration
	// Latency counts from the scheduled time in an open loop and from the sending in a closed one.
	Latency Latency
	// Late is the delay from the scheduled time to the sending: the generator's own floor.
	Late Latency
}

// EventsPerSecond is the rate of accepted events.
func (o *Outcome) EventsPerSecond() float64 {
	if o.Elapsed <= 0 {
		return 0
	}
	return float64(o.Events) / o.Elapsed.Seconds()
}

// Run drives the load until its time or number of events is reached.
func (l Load) Run(ctx context.Context) Outcome {
	ctx, cancel := context.WithTimeout(ctx, l.Duration)
	defer cancel()
	began := time.Now()
	shots := l.schedule(ctx, began)
	outcomes := make([]Outcome, l.Connections)
	var wg sync.WaitGroup
	for n := range l.Connections {
		wg.Go(func() { l.drive(ctx, uint64(n), shots, began, &outcomes[n]) })
	}
	wg.Wait()
	total := Outcome{Elapsed: time.Since(began)}
	for n := range outcomes {
		total.add(&outcomes[n])
	}
	return total
}

func (o *Outcome) add(other *Outcome) {
	o.Requests += other.Requests
	o.Events += other.Events
	o.Failures += other.Failures
	if o.FirstFailure == "" {
		o.FirstFailure = other.FirstFailure
	}
	o.Latency.Merge(&other.Latency)
	o.Late.Merge(&other.Late)
}

// drive sends the requests of one connection.
func (l Load) drive(ctx context.Context, stream uint64, shots <-chan time.Duration, began time.Time, outcome *Outcome) {
	agents := UserAgents()
	conn := NewMediaConn(l.Address, l.Path, l.Key, agents[stream%uint64(len(agents))], cmp.Or(l.Media, "application/json"))
	defer conn.Close()
	render := l.renderer(stream)
	budget := l.share(int(stream))
	var body []byte
	for sent := 0; ctx.Err() == nil && (l.Events == 0 || sent < budget); {
		size := l.Batch
		if l.Events > 0 {
			size = min(size, budget-sent)
		}
		body = render(body[:0], size, l.time(sent))
		due := time.Now()
		if shots != nil {
			shot, open := await(ctx, shots, began)
			if !open {
				return
			}
			due = shot
			outcome.Late.Record(time.Since(due))
		}
		reply, err := conn.Post(body)
		outcome.note(reply, err, size, time.Since(due))
		sent += size
	}
}

// share returns the number of events that a connection sends.
func (l Load) share(stream int) int {
	share := l.Events / l.Connections
	if stream < l.Events%l.Connections {
		share++
	}
	return share
}

// renderer returns the renderer of a connection's bodies. It is called before a request is due.
func (l Load) renderer(stream uint64) func(out []byte, size int, ts time.Time) []byte {
	if l.Bodies != nil {
		return l.Bodies(int(stream))
	}
	generator := NewGenerator(l.Seed, stream)
	return func(out []byte, size int, ts time.Time) []byte {
		switch {
		case l.Issues > 0:
			return generator.AppendErrors(out, size, l.Issues, ts)
		case l.Batch == 1:
			return generator.AppendEvent(out, ts)
		}
		return generator.AppendBatch(out, size, ts)
	}
}

func (l Load) time(sent int) time.Time {
	if l.Time == nil {
		return time.Now()
	}
	return l.Time(sent)
}

// note counts one answer.
func (o *Outcome) note(reply Reply, err error, size int, took time.Duration) {
	o.Requests++
	switch {
	case err != nil:
		o.fail(err.Error())
	case reply.Status/100 != 2:
		o.fail(fmt.Sprintf("status %d: %.300s", reply.Status, reply.Body))
	default:
		o.Events += uint64(size)
		o.Latency.Record(took)
	}
}

func (o *Outcome) fail(reason string) {
	if o.Failures++; o.FirstFailure == "" {
		o.FirstFailure = reason
	}
}

// await returns when the next shot is due.
func await(ctx context.Context, shots <-chan time.Duration, began time.Time) (time.Time, bool) {
	select {
	case offset, open := <-shots:
		return began.Add(offset), open
	case <-ctx.Done():
		return time.Time{}, false
	}
}
