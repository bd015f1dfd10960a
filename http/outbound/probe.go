package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"syscall"
	"time"

	"svc"
)

// Probe performs the checks of monitors. It may be used from any number of goroutines.
type Probe struct {
	targets   svc.Targets
	transport *http.Transport
	now       func() time.Time
	agent     string
	slots     chan struct{}
	bodies    sync.Pool
}

// maxChecks is how many checks run at once; more wait.
const maxChecks = 4096

// keptBody is the largest buffer that is used again.
const keptBody = 64 << 10

// NewProbe returns a probe over a dialer. about is a URL that tells those who are checked
// who checks them.
func NewProbe(dialer *Dialer, about string, now func() time.Time) *Probe {
	p := &Probe{
		targets: dialer.Targets, transport: dialer.transport(), now: now, agent: "svc-monitor/1 (+" + about + ")",
		slots: make(chan struct{}, maxChecks),
	}
	p.bodies.New = func() any { return new(bytes.Buffer) }
	return p
}

// WithRoots has the probe trust other certificates than the system's, and returns it.
func (p *Probe) WithRoots(roots *x509.CertPool) *Probe {
	p.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return p
}

// Check performs one check within the time-out of a specification.
func (p *Probe) Check(ctx context.Context, spec svc.MonitorSpec) svc.CheckResult {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return svc.CheckResult{At: p.now(), Error: "The check was not performed."}
	}
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout())
	defer cancel()
	result := svc.CheckResult{At: p.now()}
	times := &phaseTimes{now: p.now}
	err := p.perform(httptrace.WithClientTrace(ctx, times.trace()), spec, times, &result)
	if err != nil {
		result.Error = words(err, ctx, spec)
	}
	result.Phases = times.phases(result.At, p.now())
	return result
}

// perform sends the request and judges the answer.
func (p *Probe) perform(ctx context.Context, spec svc.MonitorSpec, times *phaseTimes, result *svc.CheckResult) error {
	request, err := http.NewRequestWithContext(ctx, spec.Method, spec.URL, http.NoBody)
	if err != nil {
		return err
	}
	if problem := p.targets.Check(spec.URL); problem != nil {
		return ErrNotPublic
	}
	request.Header.Set("User-Agent", p.agent)
	client := http.Client{Transport: p.transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch {
		case spec.ExpectedStatus >= 300 && spec.ExpectedStatus < 400:
			return http.ErrUseLastResponse
		case len(via) >= maxRedirect:
			return errRedirects
		case p.targets.Check(next.URL.String()) != nil:
			return ErrNotPublic
		}
		return nil
	}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	result.StatusCode = response.StatusCode
	if response.TLS != nil && len(response.TLS.PeerCertificates) > 0 {
		result.CertificateEnds = response.TLS.PeerCertificates[0].NotAfter
	}
	// A connection may have been kept for longer than its certificate lasts.
	if end := result.CertificateEnds; !end.IsZero() && end.Before(times.now()) {
		return errExpired
	}
	return p.judge(response, spec, result)
}

// judge reads as much of the body as the specification asks for.
func (p *Probe) judge(response *http.Response, spec svc.MonitorSpec, result *svc.CheckResult) error {
	body := p.bodies.Get().(*bytes.Buffer)
	body.Reset()
	defer func() {
		if body.Cap() <= keptBody {
			p.bodies.Put(body)
		}
	}()
	limit := int64(keptBody) // read, so that the connection can be used again
	if spec.BodyMatch != "" || spec.BodyAbsent != "" {
		limit = svc.MaxCheckedBody
	}
	if _, err := body.ReadFrom(io.LimitReader(response.Body, limit)); err != nil {
		return err
	}
	result.Error = spec.Judge(response.StatusCode, body.Bytes())
	return nil
}

var (
	errRedirects = errors.New("too many redirects")
	errExpired   = errors.New("the certificate has expired")
)

// words says what went wrong in a sentence that users may read.
func words(err error, ctx context.Context, spec svc.MonitorSpec) string { //nolint:revive // the error is what it is about
	dns, isDNS := errors.AsType[*net.DNSError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, wrongHost := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, ErrNotPublic):
		return "The address, or one that it redirects to, is not public."
	case errors.Is(err, errRedirects):
		return fmt.Sprintf("There were more than %d redirects.", maxRedirect)
	case errors.Is(err, errExpired), isInvalid && invalid.Reason == x509.Expired:
		return "The certificate has expired or does not hold yet."
	case wrongHost:
		return "The certificate is for another host."
	case unknown, isInvalid:
		return "The certificate is not trusted."
	case ctx.Err() != nil:
		return fmt.Sprintf("There was no whole answer within %d ms.", spec.TimeoutMs)
	case isDNS && dns.IsNotFound:
		return "The host's name was not found."
	case isDNS:
		return "The host's name could not be looked up."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "The connection was closed before the answer was whole."
	}
	return "The request failed."
}

// phaseTimes gathers the phases of one check, those of its redirects together. The
// transport may go on connecting after the check has ended, hence the lock.
type phaseTimes struct {
	now func() time.Time

	mu        sync.Mutex
	begun     [phaseCount]time.Time
	took      [phaseCount]time.Duration
	firstByte time.Time
}

// The phases with a beginning and an end of their own.
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
		DNSStart:          func(httptrace.DNSStartInfo) { t.begin(phaseDNS) },
		DNSDone:           func(httptrace.DNSDoneInfo) { t.end(phaseDNS) },
		ConnectStart:      func(string, string) { t.begin(phaseConnect) },
		ConnectDone:       func(string, string, error) { t.end(phaseConnect) },
		TLSHandshakeStart: func() { t.begin(phaseTLS) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { t.end(phaseTLS) },
		GotFirstResponseByte: func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.firstByte = t.now()
		},
	}
}

// phases returns what was gathered of a check that ended now.
func (t *phaseTimes) phases(begun, now time.Time) svc.CheckPhases {
	t.mu.Lock()
	defer t.mu.Unlock()
	micros := func(d time.Duration) uint32 { return uint32(max(d, 0).Microseconds()) }
	out := svc.CheckPhases{DNS: micros(t.took[phaseDNS]), Connect: micros(t.took[phaseConnect]), TLS: micros(t.took[phaseTLS]), Total: micros(now.Sub(begun))}
	if !t.firstByte.IsZero() {
		out.FirstByte = micros(t.firstByte.Sub(begun))
	}
	return out
}
