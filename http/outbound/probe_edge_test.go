package outbound

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain/monitor"
)

// TestBodiesAreComparedAsText serves bodies in several encodings. Each body contains "Straße" once.
func TestBodiesAreComparedAsText(t *testing.T) {
	t.Parallel()
	const latin1, utf8Text = "Stra\xdfe", "Straße"
	utf16 := func(order string) string {
		var out strings.Builder
		for _, r := range "<p>" + utf8Text {
			if order == "LE" {
				out.Write([]byte{byte(r), byte(r >> 8)})
			} else {
				out.Write([]byte{byte(r >> 8), byte(r)})
			}
		}
		return out.String()
	}
	const there, missing, present = "", "The body does not contain the text of bodyMatch.", "The body contains the text of bodyAbsent."
	var contentType, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	probe := NewProbe(loopback(t), "https://svc.example", time.Now)
	for _, test := range []struct{ name, contentType, body, want string }{
		{"F1: ISO-8859-1 by header", "text/html; charset=iso-8859-1", latin1, there},
		{"header in capitals and quotes", `text/html; Charset="ISO-8859-1"`, latin1, there},
		{"header with single quotes", `text/html; charset='latin1'`, latin1, there},
		{"header with the parameter twice", `text/html; charset=latin1; charset=latin1`, latin1, there},
		{"F3: meta charset", "text/html", `<meta charset=iso-8859-1><p>` + latin1, there},
		{"meta http-equiv", "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>` + latin1, there},
		{"meta of another alphabet", "text/html", `<meta charset=koi8-r><p>` + "\xf5\xcc\xc9\xc3\xc1 Stra\xdfe", missing},
		{"header before meta", "text/html; charset=iso-8859-1", `<meta charset=utf-8><p>` + latin1, there},
		{"XML declaration", "application/rss+xml", `<?xml version="1.0" encoding="ISO-8859-15"?><a>` + latin1 + `</a>`, there},
		{"XML declaration that lies", "application/xml", `<?xml version="1.0" encoding="UTF-16"?><a>` + utf8Text + `</a>`, there},
		{"UTF-16LE with byte order mark", "text/html", "\xff\xfe" + utf16("LE"), there},
		{"UTF-16BE with byte order mark", "text/plain", "\xfe\xff" + utf16("BE"), there},
		{"UTF-16 by header, with byte order mark", "text/html; charset=utf-16", "\xfe\xff" + utf16("BE"), there},
		{"UTF-16LE by header", "text/html; charset=utf-16le", utf16("LE"), there},
		{"UTF-8 with byte order mark", "text/html", "\xef\xbb\xbf" + utf8Text, there},
		{"UTF-8 with byte order mark and another header", "text/html; charset=koi8-r", "\xef\xbb\xbf" + utf8Text, there},
		{"UTF-8", "text/html; charset=utf-8", utf8Text, there},
		{"UTF-8 without a name, after 1024 bytes", "text/html", strings.Repeat("x", 2000) + utf8Text, there},
		{"UTF-8 as JSON", "application/json", `{"street":"` + utf8Text + `"}`, there},
		{"Latin 1 as UTF-8", "text/html; charset=utf-8", latin1, missing},
		{"unknown name, UTF-8", "text/html; charset=none-such", utf8Text, there},
		{"unknown name, meta", "text/html; charset=none-such", `<meta charset=iso-8859-1><p>` + latin1, there},
		{"encoding that is not decoded", "text/html; charset=hz-gb-2312", utf8Text, there},
	} {
		contentType, body = test.contentType, test.body
		for _, field := range []string{"bodyMatch", "bodyAbsent"} {
			spec, want := monitor.DefaultMonitor(), test.want
			spec.URL, spec.TimeoutMs, spec.BodyMatch = server.URL, 3000, utf8Text
			if field == "bodyAbsent" {
				spec.BodyMatch, spec.BodyAbsent = "", utf8Text
				want = map[string]string{there: present, missing: ""}[want]
			}
			if got := probe.Check(t.Context(), spec).Error; got != want {
				t.Errorf("%s, %s: %q, want %q", test.name, field, got, want)
			}
		}
	}
}

// TestTheTextOfLargeBodiesIsBounded reads a body at the size limit. Its text is longer than its bytes.
func TestTheTextOfLargeBodiesIsBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		_, _ = io.WriteString(w, strings.Repeat("\xe9", monitor.MaxCheckedBody-4)+"Ende and more")
	}))
	t.Cleanup(server.Close)
	spec := monitor.DefaultMonitor()
	spec.URL, spec.TimeoutMs, spec.BodyMatch, spec.BodyAbsent = server.URL, 3000, "éEnde", "and more"
	if got := NewProbe(loopback(t), "https://svc.example", time.Now).Check(t.Context(), spec); got.Error != "" {
		t.Error(got.Error)
	}
}

// TestChecksSendTheCookiesOfTheirRedirects checks sites that require a cookie. It checks each site twice: the next
// check must not send an earlier cookie.
func TestChecksSendTheCookiesOfTheirRedirects(t *testing.T) {
	t.Parallel()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		seen = append(seen, host+r.URL.Path+" "+r.Header.Get("Cookie"))
		away := func(host, path, cookie string) {
			w.Header().Set("Set-Cookie", cookie)
			http.Redirect(w, r, "http://"+host+":"+port(r.Host)+path, http.StatusFound)
		}
		switch {
		case r.Header.Get("Cookie") != "" || r.URL.Path == "/end":
		case r.URL.Path == "/own":
			away(host, "/own", "s=1")
		case r.URL.Path == "/other":
			away("other.example", "/end", "s=1")
		case r.URL.Path == "/domain":
			away("b.site.example", "/end", "s=1; Domain=site.example")
		case r.URL.Path == "/suffix":
			away("b.co.uk", "/end", "s=1; Domain=co.uk")
		case r.URL.Path == "/secure":
			away(host, "/end", "s=1; Secure")
		case r.URL.Path == "/path":
			away(host, "/end", "s=1; Path=/else")
		}
	}))
	t.Cleanup(server.Close)
	probe := NewProbe(loopback(t), "https://svc.example", time.Now)
	for _, test := range []struct {
		name, host, path string
		want             []string
	}{
		{"F5: redirect to itself", "site.example", "/own", []string{"site.example/own ", "site.example/own s=1"}},
		{"another host", "site.example", "/other", []string{"site.example/other ", "other.example/end "}},
		{"the site's other host", "a.site.example", "/domain", []string{"a.site.example/domain ", "b.site.example/end s=1"}},
		{"a public suffix", "a.co.uk", "/suffix", []string{"a.co.uk/suffix ", "b.co.uk/end "}},
		{"a cookie for TLS", "site.example", "/secure", []string{"site.example/secure ", "site.example/end "}},
		{"another path", "site.example", "/path", []string{"site.example/path ", "site.example/end "}},
	} {
		spec := monitor.DefaultMonitor()
		spec.URL, spec.TimeoutMs = "http://"+test.host+":"+port(server.URL)+test.path, 3000
		for range 2 {
			seen = nil
			if got := probe.Check(t.Context(), spec); got.Error != "" || got.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %q", test.name, got.StatusCode, got.Error)
			}
			if !slices.Equal(seen, test.want) {
				t.Errorf("%s: requests %q, want %q", test.name, seen, test.want)
			}
		}
	}
}

// TestChecksSayWhatTheyAccept covers F7: some servers answer 406 to a request without Accept.
func TestChecksSayWhatTheyAccept(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Accept") != "*/*" || !strings.HasPrefix(r.UserAgent(), "svc-monitor/1 "):
			w.WriteHeader(http.StatusNotAcceptable)
		case r.URL.Path == "/":
			http.Redirect(w, r, "/end", http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		spec := monitor.DefaultMonitor()
		spec.Method, spec.URL, spec.TimeoutMs = method, server.URL, 3000
		if got := NewProbe(loopback(t), "https://svc.example", time.Now).Check(t.Context(), spec); got.Error != "" {
			t.Errorf("%s: %q", method, got.Error)
		}
	}
}
