package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/publicsuffix"

	"svc/domain"
	"svc/domain/monitor"
)

// Probe performs the checks of monitors. It may be used from any number of goroutines.
type Probe struct {
	targets domain.Targets
	plain   http.RoundTripper
	secure  *http.Transport
	now     func() time.Time
	agent   string
	slots   chan struct{}
	bodies  sync.Pool
	// cleared is the time at which the cached connections of secure were last closed, in seconds since the epoch.
	cleared atomic.Int64
}

// maxChecks is the number of concurrent checks; more wait.
const maxChecks = 4096

// keptBody is the largest buffer that is reused.
const keptBody = 64 << 10

// NewProbe returns a probe over a dialer. about is a URL that explains the checks to the owners of the checked sites.
func NewProbe(dialer *Dialer, about string, now func() time.Time) *Probe {
	p := &Probe{
		targets: dialer.Targets, plain: newExchanger(dialer, now), secure: dialer.transport(), now: now, agent: "svc-monitor/1 (+" + about + ")",
		slots: make(chan struct{}, maxChecks),
	}
	p.cleared.Store(now().Unix())
	p.bodies.New = func() any { return new(bytes.Buffer) }
	return p
}

// WithRoots makes the probe trust other certificates than the system's, and returns it.
func (p *Probe) WithRoots(roots *x509.CertPool) *Probe {
	p.secure.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return p
}

// RoundTrip implements http.RoundTripper: each scheme has its own transport.
func (p *Probe) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "http" {
		return p.plain.RoundTrip(request)
	}
	now, cleared := p.now().Unix(), p.cleared.Load()
	if now-cleared >= int64(agedTime/time.Second) && p.cleared.CompareAndSwap(cleared, now) {
		p.secure.CloseIdleConnections()
	}
	ctx, cancel := boundedByCheck(request.Context())
	response, err := p.secure.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancellingBody{response.Body, cancel}
	return response, nil
}

// Check performs one check within the time-out of a specification.
func (p *Probe) Check(ctx context.Context, spec monitor.Spec) monitor.CheckResult {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return monitor.CheckResult{At: p.now(), Error: "The check was not performed."}
	}
	result := monitor.CheckResult{At: p.now()}
	check := &checkContext{Context: ctx, end: result.At.Add(spec.Timeout()), now: p.now}
	check.times.now = p.now
	if err := p.perform(check, spec, &result); err != nil { //nolint:contextcheck // check is made of ctx
		result.Error = errorText(err, check, spec) //nolint:contextcheck // as before
	}
	result.Phases = check.times.phases(result.At, p.now())
	return result
}

// perform sends the request and evaluates the answer.
func (p *Probe) perform(ctx *checkContext, spec monitor.Spec, result *monitor.CheckResult) error {
	request, err := http.NewRequestWithContext(ctx, spec.Method, spec.URL, http.NoBody)
	if err != nil {
		return err
	}
	if problem := p.targets.Check(spec.URL); problem != nil {
		return ErrNotPublic
	}
	request.Header["User-Agent"] = []string{p.agent}
	request.Header["Accept"] = []string{"*/*"}
	if spec.Method != http.MethodHead {
		request.Header["Accept-Encoding"] = []string{gzipped}
	}
	response, err := p.RoundTrip(request)
	if err == nil && response.Header["Location"] != nil {
		response, err = p.follow(request, response, spec)
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	result.StatusCode = response.StatusCode
	if response.TLS != nil && len(response.TLS.PeerCertificates) > 0 {
		result.CertificateEnds = response.TLS.PeerCertificates[0].NotAfter
	}
	// A cached connection may outlive its certificate.
	if end := result.CertificateEnds; !end.IsZero() && end.Before(p.now()) {
		return errExpired
	}
	return p.judge(response, spec, result)
}

// follow follows the redirects of an answer with net/http's client, which receives the answer for its first request.
// The client sends the cookies that the answers of this check set.
func (p *Probe) follow(request *http.Request, answer *http.Response, spec monitor.Spec) (*http.Response, error) {
	trips := func(next *http.Request) (*http.Response, error) {
		if first := answer; first != nil {
			answer = nil
			return first, nil
		}
		return p.RoundTrip(next)
	}
	cookies, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	client := http.Client{Transport: roundTripper(trips), Jar: cookies, CheckRedirect: func(next *http.Request, via []*http.Request) error {
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
	return client.Do(request)
}

// roundTripper is a function as http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// judge reads as much of the body as the specification needs.
func (p *Probe) judge(response *http.Response, spec monitor.Spec, result *monitor.CheckResult) error {
	body := p.bodies.Get().(*bytes.Buffer)
	body.Reset()
	defer func() {
		if body.Cap() <= keptBody {
			p.bodies.Put(body)
		}
	}()
	limit := int64(keptBody) // The body is read so that the connection can be reused.
	if spec.BodyMatch != "" || spec.BodyAbsent != "" {
		limit = monitor.MaxCheckedBody
	}
	content, err := unpacked(response)
	if err != nil {
		return err
	}
	if _, err := body.ReadFrom(io.LimitReader(content, limit)); err != nil {
		return err
	}
	text := body.Bytes()
	if limit == monitor.MaxCheckedBody {
		text = textOf(response.Header.Get("Content-Type"), text)
	}
	result.Error = spec.Judge(response.StatusCode, text)
	return nil
}

// gzipped is the only content encoding that checks accept.
const gzipped = "gzip"

// unpacked returns the content of an answer.
func unpacked(response *http.Response) (io.Reader, error) {
	if !strings.EqualFold(response.Header.Get("Content-Encoding"), gzipped) || response.Body == http.NoBody {
		return response.Body, nil
	}
	content, err := gzip.NewReader(response.Body)
	if errors.Is(err, io.EOF) { // The body is empty, as in an answer to HEAD.
		return http.NoBody, nil
	}
	return content, err
}

var (
	errRedirects = errors.New("too many redirects")
	errExpired   = errors.New("the certificate has expired")
)

// errorText returns a sentence about an error for users.
func errorText(err error, ctx context.Context, spec monitor.Spec) string { //nolint:revive // the error comes first, as its subject
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
