package admission

import (
	"context"
	"math"
	"runtime"
	"time"

	"svc/domain"
)

// Control bounds the memory and the processors of a node that ingest requests use, and divides both fairly between
// applications. A request passes three pools: in the first its body is read as it came, in the second it is inflated,
// decoded and checked, and in the third it waits for the log.
//
// The first two pools have a budget of bytes, of which one application gets half at most. The second has places for
// half of the processors and one more, which waits for a processor, so that the node's other work continues. In the
// third an application gets only as much as fills the log's capacity, so that requests of others wait a short time. A
// nil Control bounds nothing.
type Control struct {
	reading, working, sending *pool
	// bodies bounds the share of one address in the first pool.
	bodies openBodies
	// processors are taken by requests that have a place; nil means that there are always enough.
	processors Processors
	// sent counts the bytes of applications. While the store lags, throttle delays applications that send more than
	// their part. While the processors are short, pace delays applications that send much. nil delays none.
	sent     *sentBytes
	throttle *throttle
	pace     *pace
	// fromAddresses counts the bytes that public addresses sent with public keys. addressPace delays an address that
	// sends much while others send.
	fromAddresses *sentAddresses
	addressPace   *pace
	// met records the senders that were delayed.
	met fairness
}

const (
	// readingShare is the divisor of the budget for bodies as they came.
	readingShare = 4
	// bodiesShare is the divisor of the first pool for the open bodies of one address: a quarter of an application's
	// part.
	bodiesShare = 8
	// admissionTime is the maximum wait of a request for one pool, and for the log.
	admissionTime = 4 * time.Second
	// smallClaim is the maximum length of a request that may pass the queue.
	smallClaim = 1 << 20
	// sendingShare is the number of bytes of one application that may wait for the log; a longer request goes alone.
	sendingShare = 512 << 10
	// retryAfter is the time after which a refused request may be repeated.
	retryAfter = time.Second
)

// Share divides the node between applications that send at the same time. Two conditions delay an application that
// sends more than its part: the oldest unstored record of its shard is older than maxLag, or the node's processors are
// short. processors is their number.
func (c *Control) Share(lag func(shard int) time.Duration, maxLag func() time.Duration, processors int, now func() time.Time) {
	c.sent = newSentBytes(now)
	c.throttle = &throttle{sent: c.sent, lag: lag, maxLag: maxLag, now: now}
	c.pace = newPace(c.sent, processors, now)
	c.fromAddresses = newSentAddresses(now, paceTime, paceMuch)
	c.addressPace = newPace(c.fromAddresses, processors, now)
}

// Processors divides the node's processors between all work that uses one for milliseconds. Work of microseconds does
// not take one.
type Processors interface {
	// Take waits for a processor, first come first served.
	Take(ctx context.Context) error
	// Give returns the processor.
	Give()
}

// UseProcessors lets requests with a place wait for a processor as well.
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

// errBusy refuses a request that waited in vain.
func errBusy() error {
	return &domain.Error{
		Code: domain.CodeUnavailable, Accepted: domain.AcceptedNone, RetryAfter: retryAfter,
		Message: "The service is taking in as much as it can hold; nothing was accepted.",
	}
}
