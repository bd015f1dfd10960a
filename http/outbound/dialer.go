package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"svc/domain"
	"svc/domain/monitor"
)

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// ErrNotPublic is the refusal of an address that must not be called.
var ErrNotPublic = errors.New("the address is not public")

// Dialer connects to permitted addresses only.
type Dialer struct {
	Targets  domain.Targets
	Resolver Resolver
	// Connect opens a connection to an address that was checked; nil uses the network.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewDialer returns a dialer over the system's resolver and network.
func NewDialer(targets domain.Targets) *Dialer {
	return &Dialer{Targets: targets, Resolver: net.DefaultResolver}
}

// lookup returns the addresses of a host, all of them permitted: it refuses a name as a whole if any of its addresses
// is not permitted.
func (d *Dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else if addrs, err = d.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	for i, addr := range addrs {
		if !d.Targets.Permits(addr) {
			return nil, ErrNotPublic
		}
		addrs[i] = addr.Unmap()
	}
	return addrs, nil
}

// DialContext connects to the first address of a host that accepts.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address: %w", err)
	}
	addrs, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	connect := d.Connect
	if connect == nil {
		connect = (&net.Dialer{Timeout: monitor.MaxTimeoutMs * time.Millisecond}).DialContext
	}
	var problems []error
	for _, addr := range addrs {
		conn, err := connect(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		problems = append(problems, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(problems...)
}

// lookupTime bounds the lookup of a host when a user enters it.
const lookupTime = 2 * time.Second

// CheckTarget returns the reason why a URL may not be called, after a lookup of its host. A host that is not found is
// accepted: it may exist later.
func (d *Dialer) CheckTarget(ctx context.Context, raw string) *domain.FieldError {
	if problem := d.Targets.Check(raw); problem != nil {
		return problem
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, http.NoBody)
	if err != nil {
		return &domain.FieldError{Field: "url", Code: "url_not_public", Message: "The url does not parse."}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	if _, err := d.lookup(ctx, request.URL.Hostname()); errors.Is(err, ErrNotPublic) {
		return &domain.FieldError{Field: "url", Code: "url_not_public", Message: "The url must be a public http or https address: its name stands for an address that is loopback, private, link-local or reserved."}
	}
	return nil
}

// Pools of connections. Used connections are cached for a short time only, so a check with a longer interval repeats
// the lookup, the connection and the handshake each time. That time is below the five seconds after which servers of
// Node.js close a connection. A request that meets the close gets no answer and cannot be repeated blindly.
const (
	idleTime    = 4 * time.Second
	idlePerHost = 1024
	maxHeader   = 64 << 10
	maxRedirect = 5
)

// Client returns a client over the dialer. It uses no proxy and follows no redirect.
func (d *Dialer) Client() *http.Client {
	return &http.Client{Transport: d.transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// transport returns a transport over the dialer. It uses no proxy.
func (d *Dialer) transport() *http.Transport {
	return &http.Transport{
		DialContext: d.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTime,
		MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: monitor.MaxTimeoutMs * time.Millisecond,
	}
}
