package ingest

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain/telemetry"
	"svc/http/admission"
)

// TestOnlyAProxySaysForWhomItAsks checks that the address of a request is the connection's, unless a proxy made it.
// Values that the sender wrote before the proxies are ignored.
func TestOnlyAProxySaysForWhomItAsks(t *testing.T) {
	t.Parallel()
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, one := range map[string]struct {
		proxies   Proxies
		from      string
		forwarded []string
		want      string
	}{
		"nobody is a proxy":              {nil, "10.0.0.1:80", []string{"198.51.100.7"}, "10.0.0.1"},
		"not from a proxy":               {proxies, "203.0.113.9:80", []string{"198.51.100.7"}, "203.0.113.9"},
		"one proxy":                      {proxies, "10.0.0.1:80", []string{"198.51.100.7"}, "198.51.100.7"},
		"two proxies":                    {proxies, "10.0.0.1:80", []string{"198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		"two proxies with a header each": {proxies, "10.0.0.1:80", []string{"198.51.100.7", "10.0.0.2"}, "198.51.100.7"},
		"the sender names another":       {proxies, "10.0.0.1:80", []string{"8.8.8.8, 198.51.100.7"}, "198.51.100.7"},
		"the sender names a proxy":       {proxies, "10.0.0.1:80", []string{"10.9.9.9, 198.51.100.7"}, "198.51.100.7"},
		"the sender writes nonsense":     {proxies, "10.0.0.1:80", []string{"<script>, 198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		"nonsense after the proxies":     {proxies, "10.0.0.1:80", []string{"<script>, 10.0.0.2"}, "10.0.0.2"},
		"a proxy says nothing":           {proxies, "10.0.0.1:80", nil, "10.0.0.1"},
		"with a port":                    {proxies, "[fd00::1]:80", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		"IPv4 within IPv6":               {proxies, "[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
	} {
		request := httptest.NewRequest(http.MethodPost, "/", nil)
		request.RemoteAddr, request.Header["X-Forwarded-For"] = one.from, one.forwarded
		if got := one.proxies.of(request); got != one.want {
			t.Errorf("%s: the request is of %q, not %q", name, got, one.want)
		}
	}
}

// TestHeadersOfProxies reads the headers that proxies set (M6): in their order, from trusted proxies only, and not if
// the sender could have written them.
func TestHeadersOfProxies(t *testing.T) {
	t.Parallel()
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	const proxy, sender, visitor, other = "10.0.0.1:80", "203.0.113.9:80", "198.51.100.7", "8.8.8.8"
	for name, one := range map[string]struct {
		from   string
		header http.Header
		want   string
	}{
		"Cf-Connecting-Ip":                     {proxy, http.Header{"Cf-Connecting-Ip": {visitor}}, visitor},
		"X-Real-Ip":                            {proxy, http.Header{"X-Real-Ip": {visitor}}, visitor},
		"Cf-Connecting-Ip before X-Real-Ip":    {proxy, http.Header{"Cf-Connecting-Ip": {visitor}, "X-Real-Ip": {other}}, visitor},
		"X-Forwarded-For before all":           {proxy, http.Header{"X-Forwarded-For": {visitor}, "Forwarded": {"for=" + other}, "Cf-Connecting-Ip": {other}, "X-Real-Ip": {other}}, visitor},
		"Forwarded":                            {proxy, http.Header{"Forwarded": {"for=" + visitor + ";proto=https;by=10.0.0.1"}}, visitor},
		"Forwarded before Cf-Connecting-Ip":    {proxy, http.Header{"Forwarded": {"for=" + visitor}, "Cf-Connecting-Ip": {other}}, visitor},
		"Forwarded with two proxies":           {proxy, http.Header{"Forwarded": {"For=" + other + ", for=" + visitor + ", for=10.0.0.2"}}, visitor},
		"Forwarded of IPv6 with a port":        {proxy, http.Header{"Forwarded": {`proto=http; for="[2001:db8::7]:4711"`}}, "2001:db8::7"},
		"Forwarded of nobody":                  {proxy, http.Header{"Forwarded": {"for=" + other + ", for=unknown"}}, "10.0.0.1"},
		"Forwarded without an address":         {proxy, http.Header{"Forwarded": {"proto=https"}}, "10.0.0.1"},
		"the sender adds a second X-Real-Ip":   {proxy, http.Header{"X-Real-Ip": {other, visitor}}, "10.0.0.1"},
		"nonsense in Cf-Connecting-Ip":         {proxy, http.Header{"Cf-Connecting-Ip": {"<script>"}, "X-Real-Ip": {visitor}}, "10.0.0.1"},
		"the sender itself writes all of them": {sender, http.Header{"Forwarded": {"for=" + visitor}, "Cf-Connecting-Ip": {visitor}, "X-Real-Ip": {visitor}}, "203.0.113.9"},
		"a proxy's own address in X-Real-Ip":   {proxy, http.Header{"X-Real-Ip": {"10.0.0.9"}}, "10.0.0.9"},
	} {
		request := httptest.NewRequest(http.MethodPost, "/", nil)
		request.RemoteAddr, request.Header = one.from, one.header
		if got := proxies.of(request); got != one.want {
			t.Errorf("%s: the request is of %q, not %q", name, got, one.want)
		}
	}
}

// TestAnAddressIsHeldBackWhateverItClaims sends with a public key and a header with another address. The address of the
// connection is bounded and noted; an address that sends with a secret key is not.
func TestAnAddressIsHeldBackWhateverItClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := admission.New(64 << 20)
		control.Share(func(int) time.Duration { return 0 }, func() time.Duration { return time.Second }, 2, time.Now)
		collect := testCollect(&logOf{})
		collect.Admission = control
		sent(t, control, "app_1", "203.0.113.77", 4<<20)
		sent(t, control, "app_1", "198.51.100.7", 100)
		time.Sleep(aLook)
		send := func(key string) telemetry.Fairness {
			sub := requestAt(collect, time.Now(), `{"type":"event","name":"x","distinctId":"u"}`)
			sub.request.Header.Set("Authorization", "Bearer "+key)
			sub.request.RemoteAddr = "203.0.113.77:4711"
			sub.request.Header.Set("X-Forwarded-For", "8.8.8.8")
			if err := sub.run(itemEvent); err != nil {
				t.Fatal(err)
			}
			defer sub.reserved.Release()
			return control.Fairness(sub.collector.AppID, sub.collector.Environment.Number, time.Now())
		}
		if got := send("secret"); len(got.Met) != 0 {
			t.Errorf("with a secret key %+v met the bound", got.Met)
		}
		got := send("public")
		if len(got.Met) != 1 || got.Met[0].ByAddress != 1 || got.Met[0].Delayed != 1 || got.Met[0].Network != "203.0.113.0/24" {
			t.Errorf("with a public key %+v met the bound", got.Met)
		}
	})
}

// aLook is longer than the interval at which the busy senders are computed.
const aLook = 20 * time.Millisecond

// sent sends a request of an application to the log, from an address if there is one.
func sent(t *testing.T, control *admission.Control, app, address string, bytes int64) {
	t.Helper()
	reserved := control.Reserve(app)
	defer reserved.Release()
	reserved.BoundAddress(address)
	if err := reserved.ForLog(t.Context(), 0, bytes); err != nil {
		t.Fatal(err)
	}
}
