package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/monitor"
)

// site is a scripted target: its handler decides the outcome of a check.
func site(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ok":
		_, _ = io.WriteString(w, "all is well")
	case "/agent":
		_, _ = io.WriteString(w, r.UserAgent())
	case "/down":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/slow":
		<-r.Context().Done()
	case "/drip":
		_, _ = w.Write([]byte("be"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "/cut":
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("short"))
	case "/hangup":
		panic(http.ErrAbortHandler)
	case "/big":
		_, _ = w.Write(append(bytes.Repeat([]byte("x"), monitor.MaxCheckedBody), "needle"...))
	case "/gzip":
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		packer := gzip.NewWriter(w)
		_, _ = io.WriteString(packer, "all is packed")
		_ = packer.Close()
	case "/no-gzip":
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "all is well")
	case "/hints":
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "all is well")
	case "/chatter":
		for range 2 * maxInformed {
			w.WriteHeader(http.StatusEarlyHints)
		}
	case "/header":
		w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
	case "/moved":
		http.Redirect(w, r, "/ok", http.StatusFound)
	case "/inside":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	case "/by-name":
		http.Redirect(w, r, "http://inside.example/", http.StatusFound)
	case "/file":
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	case "/secret":
		http.Redirect(w, r, "http://user:password@"+r.Host+"/ok", http.StatusFound)
	case "/round":
		http.Redirect(w, r, "/round", http.StatusFound)
	}
}

// names resolves every name to the target, but inside.example to another address.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	switch host {
	case "inside.example":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	case "gone.example":
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func loopback(t *testing.T) *Dialer {
	t.Helper()
	targets, err := domain.ParseAllow("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return &Dialer{Targets: targets, Resolver: names{}}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(site))
	server.Config.ErrorLog = quiet()
	server.Start()
	t.Cleanup(server.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	probe := NewProbe(loopback(t), "https://svc.example", time.Now)
	const notPublic = "The address, or one that it redirects to, is not public."
	for _, test := range []struct {
		name   string
		path   string
		change func(*monitor.Spec)
		status int
		want   string
	}{
		{name: "passes", path: "/ok", status: 200},
		{name: "says who asks", path: "/agent", change: func(s *monitor.Spec) { s.BodyMatch = "svc-monitor/1 (+https://svc.example)" }, status: 200},
		{name: "by name", path: "http://site.example:" + port(server.URL) + "/ok", status: 200},
		{name: "another status", path: "/down", status: 503, want: "The status was 503, not 200."},
		{name: "the status that is wished for", path: "/down", change: func(s *monitor.Spec) { s.ExpectedStatus = 503 }, status: 503},
		{name: "the text is there", path: "/ok", change: func(s *monitor.Spec) { s.BodyMatch = "is well" }, status: 200},
		{name: "the text is not there", path: "/ok", change: func(s *monitor.Spec) { s.BodyMatch = "is bad" }, status: 200, want: "The body does not contain the text of bodyMatch."},
		{name: "the other text is there", path: "/ok", change: func(s *monitor.Spec) { s.BodyMatch, s.BodyAbsent = "all", "well" }, status: 200, want: "The body contains the text of bodyAbsent."},
		{name: "neither", path: "/ok", change: func(s *monitor.Spec) { s.BodyMatch, s.BodyAbsent = "all", "bad" }, status: 200},
		{name: "a text after the limit", path: "/big", change: func(s *monitor.Spec) { s.BodyMatch = "needle" }, status: 200, want: "The body does not contain the text of bodyMatch."},
		{name: "no answer", path: "/slow", want: "There was no whole answer within 300 ms."},
		{name: "half an answer", path: "/drip", status: 200, want: "There was no whole answer within 300 ms."},
		{name: "a body that is cut off", path: "/cut", status: 200, want: "The connection was closed before the answer was whole."},
		{name: "no answer but an end", path: "/hangup", want: "The connection was closed before the answer was whole."},
		{name: "a packed text", path: "/gzip", change: func(s *monitor.Spec) { s.BodyMatch = "packed" }, status: 200},
		{name: "a text that is not packed as it says", path: "/no-gzip", status: 200, want: "The request failed."},
		{name: "an answer to HEAD", path: "/gzip", change: func(s *monitor.Spec) { s.Method = "HEAD" }, status: 200},
		{name: "hints before the answer", path: "/hints", change: func(s *monitor.Spec) { s.BodyMatch = "well" }, status: 200},
		{name: "hints without an answer", path: "/chatter", want: "The request failed."},
		{name: "a header without an end", path: "/header", want: "The request failed."},
		{name: "a redirect", path: "/moved", status: 200},
		{name: "a redirect that is wished for", path: "/moved", change: func(s *monitor.Spec) { s.ExpectedStatus = 302 }, status: 302},
		{name: "a redirect to a private address", path: "/inside", want: notPublic},
		{name: "a redirect to a private name", path: "/by-name", want: notPublic},
		{name: "a redirect to a file", path: "/file", want: notPublic},
		{name: "a redirect with credentials", path: "/secret", want: notPublic},
		{name: "a redirect to itself", path: "/round", want: "There were more than 5 redirects."},
		{name: "nobody listens", path: closed.URL, want: "The connection was refused."},
		{name: "no such name", path: "http://gone.example/", want: "The host's name was not found."},
		{name: "a private name", path: "http://inside.example/", want: notPublic},
		{name: "a private address", path: "http://10.0.0.1/", want: notPublic},
	} {
		spec := monitor.DefaultMonitor()
		spec.URL, spec.TimeoutMs = test.path, 3000
		if strings.HasPrefix(test.path, "/") {
			spec.URL = server.URL + test.path
		}
		if test.path == "/slow" || test.path == "/drip" {
			spec.TimeoutMs = 300
		}
		if test.change != nil {
			test.change(&spec)
		}
		got := probe.Check(t.Context(), spec)
		if got.Error != test.want || got.StatusCode != test.status {
			t.Errorf("%s: %d %q, want %d %q", test.name, got.StatusCode, got.Error, test.status, test.want)
		}
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(site))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	probe := NewProbe(loopback(t), "https://svc.example", time.Now).WithRoots(roots)
	spec := monitor.DefaultMonitor()
	spec.URL = server.URL + "/ok"
	first, second := probe.Check(t.Context(), spec), probe.Check(t.Context(), spec)
	if p := first.Phases; first.Error != "" || p.Connect == 0 || p.TLS == 0 || p.FirstByte < p.Connect+p.TLS || p.Total < p.FirstByte {
		t.Errorf("a new connection: %q %+v", first.Error, p)
	}
	if p := second.Phases; second.Error != "" || p.DNS+p.Connect+p.TLS != 0 || p.FirstByte == 0 {
		t.Errorf("a kept connection: %q %+v", second.Error, p)
	}
	if !first.CertificateEnds.Equal(server.Certificate().NotAfter) {
		t.Errorf("the certificate ends %s", first.CertificateEnds)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, test := range []struct {
		name    string
		host    string
		ends    time.Time
		trusted bool
		want    string
	}{
		{"good", "site.example", now.Add(time.Hour), true, ""},
		{"expired", "site.example", now.Add(-time.Hour), true, "The certificate has expired or does not hold yet."},
		{"another host's", "other.example", now.Add(time.Hour), true, "The certificate is for another host."},
		{"unknown", "site.example", now.Add(time.Hour), false, "The certificate is not trusted."},
	} {
		certificate, parsed := issue(t, test.host, test.ends)
		server := httptest.NewUnstartedServer(http.HandlerFunc(site))
		server.Config.ErrorLog = quiet()
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
		t.Cleanup(server.Close)
		roots := x509.NewCertPool()
		if test.trusted {
			roots.AddCert(parsed)
		}
		spec := monitor.DefaultMonitor()
		spec.URL = "https://site.example:" + port(server.URL) + "/ok"
		got := NewProbe(loopback(t), "https://svc.example", time.Now).WithRoots(roots).Check(t.Context(), spec)
		if got.Error != test.want {
			t.Errorf("%s: %q, want %q", test.name, got.Error, test.want)
		}
	}
}

// issue makes a self-signed certificate.
func issue(t *testing.T, host string, ends time.Time) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: ends.Add(-48 * time.Hour), NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, certErr := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	parsed, parseErr := x509.ParseCertificate(der)
	if err := errors.Join(err, certErr, parseErr); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, parsed
}

func port(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
