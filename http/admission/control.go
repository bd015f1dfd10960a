package admission

import (
	"context"
	"math"
	"runtime"
	"time"

	"svc"
)

// Control bounds the memory and the processors that ingest requests take of a node, and divides
// both fairly between applications. A request passes three pools: in the first its body is read as
// it came, in the second it is inflated, decoded and checked, and in the third it waits for the log.
// The first two have a budget of bytes, of which one application gets half at most. The second has
// places for half of the processors and one more, which waits for a processor, so that the node's other work continues. In the third
// an application gets only as much as keeps the log busy, so that requests of others wait a short
// time. A nil Control bounds nothing.
type Control struct {
	reading, working, sending *pool
	// bodies bounds what one address takes of the first pool.
	bodies openBodies
	// processors are taken by requests that have a place; nil where there are always enough.
	processors Processors
	// sent counts what applications sent. throttle delays those that send more than their part while the
	// store lags, pace those that send much while the processors are short; nil delays none.
	sent     *sentBytes
	throttle *throttle
	pace     *pace
	// fromAddresses counts what public addresses sent with public keys, addressPace delays the one that sends much while others send.
	fromAddresses *sentAddresses
	addressPace   *pace
	// met notes who was held back.
	met fairness
}

const (
	// readingShare is the part of the budget that is for bodies as they came.
	readingShare = 4
	// bodiesShare is the part of the first pool that the open bodies of one address may take, a quarter of an application's.
	bodiesShare = 8
	// admissionTime is how long a request waits for one pool, as long as for the log.
	admissionTime = 4 * time.Second
	// smallClaim is the length up to which a request may pass the queue.
	smallClaim = 1 << 20
	// sendingShare is how many bytes of one application may wait for the log; a longer request
	// goes alone.
	sendingShare = 512 << 10
	// retryAfter is when a refused request may come again.
	retryAfter = time.Second
)

// Share divides the node between applications that send at the same time. Those that send more than
// their part are delayed while the oldest record of their shard that is not stored is older than maxLag, and while
// the node's processors, so many, are short.
func (c *Control) Share(lag func(shard int) time.Duration, maxLag func() time.Duration, processors int, now func() time.Time) {
	c.sent = newSentBytes(now)
	c.throttle = &throttle{sent: c.sent, lag: lag, maxLag: maxLag, now: now}
	c.pace = newPace(c.sent, processors, now)
	c.fromAddresses = newSentAddresses(now, paceTime, paceMuch)
	c.addressPace = newPace(c.fromAddresses, processors, now)
}

// Processors divides the node's processors between all work that keeps one busy for
// milliseconds. Work of microseconds does not take one.
type Processors interface {
	// Take waits for a processor, first come first served.
	Take(ctx context.Context) error
	// Give returns the processor.
	Give()
}

// UseProcessors makes requests that have a place wait for a processor as well.
func (c *Control) UseProcessors(processors Processors) { c.processors = processors }

// New returns a control with a budget of bytes.
func New(budget int64) *Control {
	reading := budget / readingShare
	working := budget - reading
	return &Control{
		bodies:  openBodies{most: reading / bodiesShare, by: map[string]int64{}},
		reading: newPool(reading, reading/2, 0),
		working: newPool(working, working/2, runtime.GOMAXPROCS(0)/2+1),
		sending: newPool(math.MaxInt64, sendingShare, 0),
	}
}

// errBusy is the refusal of a request that waited in vain.
func errBusy() error {
	return &svc.Error{
		Code: svc.CodeUnavailable, Accepted: svc.AcceptedNone, RetryAfter: retryAfter,
		Message: "The service is taking in as much as it can hold; nothing was accepted.",
	}
}
