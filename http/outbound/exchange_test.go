package outbound

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain/monitor"
)

// TestHostsAreDialedAsTheDNSHasThem checks the targets of requests.
func TestHostsAreDialedAsTheDNSHasThem(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://svc.example/x":     "svc.example:80",
		"http://svc.example:8080":  "svc.example:8080",
		"http://svc.example:/":     "svc.example:80",
		"http://Bücher.example":    "xn--bcher-kva.example:80",
		"http://[2001:db8::1]":     "[2001:db8::1]:80",
		"http://[2001:db8::1]:81/": "[2001:db8::1]:81",
		"http://a\u00ad-.example":  "",
	} {
		target, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := hostPort(target); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// TestConnectionsAreKept counts the connections of two consecutive checks.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, method string
		answer       http.HandlerFunc
		want         int32
	}{
		{"a small body", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "all is well") }, 1},
		{"no body", "GET", func(http.ResponseWriter, *http.Request) {}, 1},
		{"a body in chunks", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "all is well")
		}, 1},
		{"only a header", "HEAD", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "10") }, 1},
		{"a body that is not read to its end", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2*keptBody)) }, 2},
		{"a request that must not be repeated", "POST", func(http.ResponseWriter, *http.Request) {}, 2},
		{"an end that is announced", "GET", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, 2},
	} {
		server, opened := counting(test.answer)
		t.Cleanup(server.Close)
		probe, spec := NewProbe(loopback(t), "https://svc.example", time.Now), monitor.DefaultMonitor()
		spec.URL, spec.Method = server.URL, test.method
		for range 2 {
			if got := probe.Check(t.Context(), spec); got.Error != "" || got.StatusCode != 200 {
				t.Errorf("%s: %d %q", test.name, got.StatusCode, got.Error)
			}
		}
		if got := opened.Load(); got != test.want {
			t.Errorf("%s: %d connections, want %d", test.name, got, test.want)
		}
	}
}

// counting returns a server that counts its connections.
func counting(answer http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	opened := new(atomic.Int32)
	server := httptest.NewUnstartedServer(answer)
	server.Config.ErrorLog = quiet()
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	return server, opened
}

// moving resolves every name to the currently set address.
type moving struct{ at atomic.Pointer[netip.Addr] }

func (m *moving) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{*m.at.Load()}, nil
}

// TestAConnectionGrowsOld moves a name to an address that is not public while a connection to its old one is reused
// again and again.
func TestAConnectionGrowsOld(t *testing.T) {
	t.Parallel()
	server, opened := counting(func(http.ResponseWriter, *http.Request) {})
	t.Cleanup(server.Close)
	dialer, names := loopback(t), &moving{}
	dialer.Resolver = names
	at, inside := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")
	names.at.Store(&at)
	now := time.Now()
	probe, spec := NewProbe(dialer, "https://svc.example", func() time.Time { return now }), monitor.DefaultMonitor()
	spec.URL = "http://site.example:" + port(server.URL) + "/"
	for after := time.Duration(0); after <= agedTime; after += agedTime / 4 {
		if got := probe.Check(t.Context(), spec); got.Error != "" {
			t.Fatalf("after %s: %q", after, got.Error)
		}
		names.at.Store(&inside)
		now = now.Add(agedTime / 4)
	}
	if got := probe.Check(t.Context(), spec); got.Error != "The address, or one that it redirects to, is not public." {
		t.Errorf("a check after the connection's end: %q", got.Error)
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections", opened.Load())
	}
}

// host is the other side of connections in memory: it answers each request with the text of answer, and sends nothing
// if the text is empty.
type host struct {
	answer func(connection, request int) (text string, end bool)
	opened atomic.Int32
	closed atomic.Int32
}

func (h *host) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	connection := int(h.opened.Add(1))
	go func() {
		defer h.closed.Add(1)
		defer func() { _ = far.Close() }()
		reader := bufio.NewReader(far)
		for n := 1; ; n++ {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			_ = request.Body.Close()
			text, end := h.answer(connection, n)
			if _, err := io.WriteString(far, text); err != nil || end {
				return
			}
		}
	}()
	return near, nil
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// get sends a request and reads the answer.
func get(ctx context.Context, p *exchanger) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://site.example/", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := p.RoundTrip(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return string(text), errors.Join(err, response.Body.Close())
}

func onHost(t *testing.T, answer func(connection, request int) (string, bool), test func(t *testing.T, h *host, p *exchanger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &host{answer: answer}
		p := newExchanger(&Dialer{}, time.Now)
		p.dial = h.dial
		test(t, h, p)
		<-time.After(2 * idleTime)
		synctest.Wait()
		if len(p.idle) != 0 || h.opened.Load() != h.closed.Load() {
			t.Errorf("%d connections are kept, %d of %d ended", len(p.idle), h.closed.Load(), h.opened.Load())
		}
	})
}

// TestAnIdleConnectionEnds uses a connection up to the end of its time.
func TestAnIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	onHost(t, func(int, int) (string, bool) { return fine, false }, func(t *testing.T, h *host, p *exchanger) {
		for range 3 {
			if text, err := get(t.Context(), p); err != nil || text != "ok" {
				t.Fatalf("%q, %v", text, err)
			}
			<-time.After(idleTime - time.Second)
		}
		if h.opened.Load() != 1 {
			t.Errorf("%d connections were made", h.opened.Load())
		}
	})
}

// TestAConnectionThatEndedMeanwhile uses a host that ends connections after their first answer, and once in the middle
// of the second.
func TestAConnectionThatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	onHost(t, func(int, int) (string, bool) { return fine, true }, func(t *testing.T, h *host, p *exchanger) {
		for range 3 {
			if text, err := get(t.Context(), p); err != nil || text != "ok" {
				t.Fatalf("%q, %v", text, err)
			}
		}
		if h.opened.Load() != 3 {
			t.Errorf("%d connections were made", h.opened.Load())
		}
	})
	half := func(_, request int) (string, bool) { return fine[:len(fine)-(request-1)], request == 2 }
	onHost(t, half, func(t *testing.T, _ *host, p *exchanger) {
		if _, err := get(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := get(t.Context(), p); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("half an answer: %v", err)
		}
	})
}

// TestWhatFollowsAnAnswerIsNotTheNext uses a host that sends two answers to one request.
func TestWhatFollowsAnAnswerIsNotTheNext(t *testing.T) {
	t.Parallel()
	more := strings.ReplaceAll(fine, "ok", "no")
	onHost(t, func(int, int) (string, bool) { return fine + more, false }, func(t *testing.T, h *host, p *exchanger) {
		for range 2 {
			if text, err := get(t.Context(), p); err != nil || text != "ok" {
				t.Fatalf("%q, %v", text, err)
			}
		}
		if h.opened.Load() != 2 {
			t.Errorf("%d connections were made", h.opened.Load())
		}
	})
}

// TestTheEndOfTheContextEndsTheExchange cancels a request to a host that sends nothing, and to one that does not
// finish.
func TestTheEndOfTheContextEndsTheExchange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "HTTP/1.1 200 OK\r\n", fine[:len(fine)-1]} {
		onHost(t, func(int, int) (string, bool) { return text, false }, func(t *testing.T, _ *host, p *exchanger) {
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if got, err := get(ctx, p); err == nil || time.Since(began) != time.Second {
				t.Errorf("%q: %q, %v after %s", text, got, err, time.Since(began))
			}
			check := &checkContext{Context: t.Context(), end: time.Now().Add(2 * time.Second), now: time.Now}
			check.times.now = time.Now
			if got, err := get(check, p); err == nil || check.Err() == nil || time.Since(began) != 3*time.Second {
				t.Errorf("%q: %q, %v after %s", text, got, err, time.Since(began))
			}
		})
	}
}
