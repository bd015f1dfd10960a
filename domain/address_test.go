package domain_test

import (
	"net/netip"
	"net/url"
	"testing"

	"svc/domain"
)

// TestTargetsRefuse tests forms of addresses that lead into a private network or nowhere.
func TestTargetsRefuse(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		// Loopback and this host.
		"http://127.0.0.1/", "http://127.0.0.1:8081/metrics", "http://127.255.255.254/", "http://0.0.0.0/", "http://0.1.2.3/", "http://[::1]/", "http://[::]/",
		"http://localhost/", "http://LOCALHOST:80/", "http://localhost./", "http://a.localhost/", "http://localhost.localdomain/",
		// The same in other notations.
		"http://127.1/", "http://127.0.1/", "http://2130706433/", "http://017700000001/", "http://0177.0.0.1/", "http://0x7f000001/", "http://0x7f.0.0.1/",
		"http://0x7F.1/", "http://127.0.0.1./", "http://127.000.000.001/", "http://example.0x7f/", "http://１２７.0.0.1/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/",
		"http://127.0.0.1%00.example.com/", "http://%31%32%37.0.0.1/", "http://127.0.0.1%2f@example.com/", "http://0/",
		// Private and shared networks.
		"http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/", "http://100.64.0.1/", "http://100.127.255.255/",
		"http://[fc00::1]/", "http://[fd12:3456:789a::1]/", "http://[fec0::1]/",
		// Link-local, metadata services.
		"http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fd00:ec2::254]/",
		"http://metadata.google.internal/", "http://metadata/", "http://0xA9FEA9FE/", "http://2852039166/", "http://100.100.100.200/",
		"http://168.63.129.16/machine?comp=goalstate",
		// IPv4 within IPv6.
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:a00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/",
		"http://[64:ff9b::169.254.169.254]/", "http://[64:ff9b:1::a00:1]/", "http://[2002:7f00:1::]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[::ffff:0:127.0.0.1]/",
		// Reserved, documentation, multicast, broadcast.
		"http://192.0.0.1/", "http://192.0.2.1/", "http://198.18.0.1/", "http://198.51.100.1/", "http://203.0.113.1/", "http://192.88.99.1/", "http://224.0.0.1/",
		"http://239.255.255.250:1900/", "http://240.0.0.1/", "http://255.255.255.255/", "http://[ff02::1]/", "http://[2001:db8::1]/", "http://[100::1]/", "http://[3fff::1]/",
		// Other schemes, credentials, no host, broken.
		"ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "//example.com/", "example.com", "", "http://", "http:///path", "https:example.com",
		"http://user@example.com/", "http://user:password@example.com/", "http://example.com@127.0.0.1/", "http://127.0.0.1#@example.com/", "http://example.com:0/", "http://example.com:70000/",
		"http://example.com:/", "http://exa mple.com/", " http://example.com/", "http://example.com\\@127.0.0.1/", "http://[::1", "http://-./", "http://a..b/",
		"http://printer/", "http://nas.local/", "http://db.internal/", "http://router.lan/", "http://x.home.arpa/", "http://wiki.corp/",
	} {
		if problem := (domain.Targets{}).Check(raw); problem == nil {
			t.Errorf("%q is permitted", raw)
		} else if problem.Field != "url" || problem.Code != "url_not_public" {
			t.Errorf("%q: %+v", raw, problem)
		}
	}
}

func TestTargetsPermit(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"http://example.com", "https://example.com/", "https://EXAMPLE.com:8443/a?b=c#d", "http://93.184.215.14/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
		"https://xn--bcher-kva.example/", "https://a_b.example.com/", "http://example.com./", "http://172.32.0.1/", "http://168.63.129.17/", "http://100.128.0.1/", "https://1.1.1.1/", "https://[::ffff:8.8.8.8]/", "https://[::ffff:0808:0808]/", "https://123.example.com/",
	} {
		if problem := (domain.Targets{}).Check(raw); problem != nil {
			t.Errorf("%q: %+v", raw, problem)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	targets, err := domain.ParseAllow("127.0.0.0/8, ::1,10.1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for raw, permitted := range map[string]bool{
		"http://127.0.0.1:99/": true, "http://[::1]/": true, "http://10.1.2.3/": true, "http://10.1.2.4/": false, "http://localhost/": true,
		"http://[::ffff:127.0.0.1]/": true, "http://127.1/": false, "http://user@127.0.0.1/": false, "ftp://127.0.0.1/": false,
	} {
		if got := targets.Check(raw) == nil; got != permitted {
			t.Errorf("%q: permitted %t", raw, got)
		}
	}
	for _, text := range []string{"localhost", "10.0.0.0/33", "fe80::1%eth0"} {
		if _, err := domain.ParseAllow(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// FuzzTargets asserts for any URL that an address in it is permitted only if it is public.
func FuzzTargets(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1/", "https://example.com/a", "http://[::ffff:10.0.0.1]:80/", "http://0x7f.1/", "http://a@b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if (domain.Targets{}).Check(raw) != nil {
			return
		}
		host := hostOf(t, raw)
		if addr, err := netip.ParseAddr(host); err == nil && (addr.Unmap().IsPrivate() || addr.Unmap().IsLoopback() || addr.Unmap().IsLinkLocalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified() || addr.IsMulticast()) {
			t.Errorf("%q is permitted", raw)
		}
	})
}

func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname()
}
