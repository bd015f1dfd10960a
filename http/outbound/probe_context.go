package outbound

import (
	"context"
	"crypto/tls"
	"io"
	"net/http/httptrace"
	"sync"
	"time"

	"svc/domain/monitor"
)

// checkContext is the context of one check: it holds the check's deadline and collects its phases. It has no timer: a
// cached connection ends by its own deadline, everything else runs under boundedByCheck.
type checkContext struct {
	context.Context //nolint:containedctx // it is one
	end             time.Time
	now             func() time.Time
	times           phaseTimes
}

// Deadline implements context.Context.
func (c *checkContext) Deadline() (time.Time, bool) { return c.end, true }

// Err implements context.Context.
func (c *checkContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if c.now().Before(c.end) {
		return nil
	}
	return context.DeadlineExceeded
}

// checkKey is the key of the check's context in contexts derived from it.
type checkKey struct{}

// Value implements context.Context.
func (c *checkContext) Value(key any) any {
	if key == (checkKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// checkOf returns the check of a context, nil if the context has no check.
func checkOf(ctx context.Context) *checkContext {
	check, _ := ctx.Value(checkKey{}).(*checkContext)
	return check
}

// boundedByCheck returns a context that ends with the check, and reports its phases to it.
func boundedByCheck(ctx context.Context) (context.Context, context.CancelFunc) {
	check := checkOf(ctx)
	if check == nil {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(httptrace.WithClientTrace(ctx, check.times.trace()), check.end)
}

// cancellingBody cancels the context of a body when the body is closed.
type cancellingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body.
func (b *cancellingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// phaseTimes collects the phases of one check, including its redirects. It has a lock because the transport may still
// connect after the check has ended.
type phaseTimes struct {
	now func() time.Time

	mu        sync.Mutex
	begun     [phaseCount]time.Time
	took      [phaseCount]time.Duration
	firstByte time.Time
}

// The phases with their own beginning and end.
const (
	phaseDNS = iota
	phaseConnect
	phaseTLS
	phaseCount
)

func (t *phaseTimes) begin(phase int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun[phase] = t.now()
}

func (t *phaseTimes) end(phase int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun[phase].IsZero() {
		t.took[phase] += t.now().Sub(t.begun[phase])
		t.begun[phase] = time.Time{}
	}
}

func (t *phaseTimes) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { t.begin(phaseDNS) },
		DNSDone:              func(httptrace.DNSDoneInfo) { t.end(phaseDNS) },
		ConnectStart:         func(string, string) { t.begin(phaseConnect) },
		ConnectDone:          func(string, string, error) { t.end(phaseConnect) },
		TLSHandshakeStart:    func() { t.begin(phaseTLS) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { t.end(phaseTLS) },
		GotFirstResponseByte: t.answered,
	}
}

// answered records the beginning of the answer.
func (t *phaseTimes) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.firstByte = t.now()
}

// phases returns the collected phases of a check that ends now.
func (t *phaseTimes) phases(begun, now time.Time) monitor.CheckPhases {
	t.mu.Lock()
	defer t.mu.Unlock()
	micros := func(d time.Duration) uint32 { return uint32(max(d, 0).Microseconds()) }
	out := monitor.CheckPhases{DNS: micros(t.took[phaseDNS]), Connect: micros(t.took[phaseConnect]), TLS: micros(t.took[phaseTLS]), Total: micros(now.Sub(begun))}
	if !t.firstByte.IsZero() {
		out.FirstByte = micros(t.firstByte.Sub(begun))
	}
	return out
}
