package accesslog_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/accesslog"
)

// TestFormats detects the format of each log and reads all its lines. A nil line is malformed.
func TestFormats(t *testing.T) {
	t.Parallel()
	const request = `[27/Nov/2026:10:00:00 +0000] "GET /a?b=c HTTP/1.1" 200 368`
	const tail = ` "https://ref.example/" "Mozilla/5.0 (X11)"`
	line := func(address string, change func(*accesslog.Line)) *accesslog.Line {
		made := accesslog.Line{
			Address: address, Time: time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC), Method: "GET", Target: "/a?b=c", Status: 200, Referrer: "https://ref.example/", UserAgent: "Mozilla/5.0 (X11)",
		}
		if change != nil {
			change(&made)
		}
		return &made
	}
	bare := func(l *accesslog.Line) { l.Referrer, l.UserAgent = "-", "-" }
	noReferrer := func(l *accesslog.Line) { l.Referrer = "-" }
	directive := &accesslog.Line{}
	one, two, three, four := line("203.0.113.1", nil), line("203.0.113.2", nil), line("203.0.113.3", nil), line("203.0.113.4", nil)
	for _, test := range []struct {
		name, format, log string
		want              []*accesslog.Line
	}{
		{
			"E1: four clients behind a host", "vhost_combined", "www.example.com 203.0.113.1 - - " + request + tail + "\nwww.example.com 203.0.113.2 - - " + request + tail +
				"\nwww.example.com 203.0.113.3 - - " + request + tail + "\nwww.example.com 203.0.113.4 - - " + request + tail,
			[]*accesslog.Line{one, two, three, four},
		},
		{
			"host and port of Debian", "vhost_combined", "www.example.com:443 203.0.113.1 - jane doe " + request + tail + "\n10.0.0.1:80 2001:db8::7 - - " + request + tail + "\n[::1]:80 203.0.113.2 - - " + request + tail + "\n203.0.113.3 - - " + request + tail,
			[]*accesslog.Line{one, line("2001:db8::7", nil), two, nil},
		},
		{
			"E3: four clients behind a proxy", "combined_xff", "10.0.0.7 - - " + request + tail + ` "203.0.113.1"` + "\n10.0.0.7 - - " + request + tail + ` "203.0.113.2, 10.0.0.9"` +
				"\n10.0.0.7 - - " + request + tail + ` "192.168.1.1, 203.0.113.3:4711"` + "\n10.0.0.7 - - " + request + tail + ` "unknown, [2001:db8::4]:80" "shop.example" 0.003`,
			[]*accesslog.Line{one, two, three, line("2001:db8::4", nil)},
		},
		{
			"clients that no proxy named", "combined_xff", "203.0.113.1 - - " + request + tail + ` "-"` + "\n203.0.113.2 - - " + request + tail + ` "<script>"` + "\n203.0.113.3 - - " + request + tail + "\n10.0.0.7 - - " + request + tail + ` "203.0.113.4"`,
			[]*accesslog.Line{one, two, three, four},
		},
		{"another field behind", "combined", "203.0.113.1 - - " + request + tail + ` "-" "session=1"`, []*accesslog.Line{one}},
		{"host and proxy", "vhost_combined_xff", "shop.example:80 10.0.0.7 - - " + request + tail + ` "203.0.113.1"`, []*accesslog.Line{one}},
		{"combined", "combined", "203.0.113.1 - - " + request + tail + "\nwww.example.com - - " + request + tail, []*accesslog.Line{one, nil}},
		{"common", "common", "203.0.113.1 - - " + request + "\n203.0.113.2 - jane " + request + "\n203.0.113.3 - - " + request + " x", []*accesslog.Line{line("203.0.113.1", bare), line("203.0.113.2", bare), nil}},
		{"host and common", "vhost_common", "www.example.com 203.0.113.1 - - " + request, []*accesslog.Line{line("203.0.113.1", bare)}},
		{
			"Caddy", "caddy", `{"level":"info","ts":1795773600,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"10.0.0.7","client_ip":"203.0.113.1","method":"GET","host":"x.example","uri":"/a?b=c","headers":{"User-Agent":["Mozilla/5.0 (X11)"],"Referer":["https://ref.example/"]}},"status":200}
{"ts":"2026-11-27T12:00:00.000+0200","request":{"remote_addr":"203.0.113.2:4711","method":"GET","uri":"/a?b=c","headers":{"User-Agent":["Mozilla/5.0 (X11)"],"Referer":["https://ref.example/"]}},"status":200}
{"level":"info","ts":1795773600,"msg":"serving"}
{"ts":1795773600,"request":{"remote_ip":"203.0.113.3","method":"GET","uri":"/a?b=c"},"status":200}`,
			[]*accesslog.Line{one, two, nil, line("203.0.113.3", bare)},
		},
		{
			"nginx as JSON", "nginx_json", `{"time_iso8601":"2026-11-27T10:00:00+00:00","remote_addr":"203.0.113.1","request":"GET /a?b=c HTTP/1.1","status":"200","http_referer":"https://ref.example/","http_user_agent":"Mozilla/5.0 (X11)"}
{"msec":"1795773600.000","remote_addr":"10.0.0.7","http_x_forwarded_for":"203.0.113.2","request_method":"GET","request_uri":"/a?b=c","status":200,"http_referrer":"https://ref.example/","http_user_agent":"Mozilla/5.0 (X11)"}
{"time_local":"27/Nov/2026:10:00:00 +0000","remote_addr":"203.0.113.3","method":"GET","uri":"/a","args":"b=c","status":200,"referer":"https://ref.example/","user_agent":"Mozilla/5.0 (X11)"}
{"time_local":"27/Nov/2026:10:00:00 +0000","remote_addr":"www.example.com","status":200}`,
			[]*accesslog.Line{one, two, three, nil},
		},
		{
			"CloudFront", "cloudfront", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query x-forwarded-for\n" +
				"2026-11-27\t10:00:00\tFRA2\t368\t203.0.113.1\tGET\td1.cloudfront.net\t/a\t200\thttps://ref.example/\tMozilla/5.0%20(X11)\tb=c\t198.51.100.1\n" +
				"2026-11-27\t10:00:00\tFRA2\t368\t203.0.113.2\tGET\td1.cloudfront.net\t/a\t200\thttps://ref.example/\tMozilla/5.0%2520(X11)\tb=c\t-\n" +
				"2026-11-27\t10:00:00\tFRA2\t368\t203.0.113.2\tGET\td1.cloudfront.net\t/a\t200",
			[]*accesslog.Line{directive, directive, one, two, nil},
		},
		{
			"IIS", "iis", "\uFEFF#Software: Microsoft Internet Information Services 10.0\r\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus time-taken\r\n" +
				"2026-11-27 10:00:00 10.0.0.1 GET /a b=c 443 - 203.0.113.1 Mozilla/5.0+(X11) https://ref.example/ 200 0 15\r\n" +
				"#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) cs(Referer) X-Forwarded-For\r\n" +
				"2026-11-27 10:00:00 10.0.0.7 GET /a b=c 200 Mozilla/5.0+(X11) https://ref.example/ 203.0.113.2,+10.0.0.9\r\n" +
				"2026-11-27 10:00:00 unknown GET /a b=c 200 Mozilla/5.0+(X11) https://ref.example/ -",
			[]*accesslog.Line{directive, directive, one, directive, two, nil},
		},
		{
			"load balancer of AWS", "alb", `https 2026-11-27T10:00:00.000000Z app/web/50dc6c 203.0.113.1:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET https://www.example.com:443/a?b=c HTTP/1.1" "Mozilla/5.0 (X11)" ECDHE TLSv1.2 arn "Root=1-58"
h2 2026-11-27T10:00:00.000000Z app/web/50dc6c [2001:db8::7]:2817 - -1 -1 -1 200 - 34 366 "GET https://www.example.com:443/a?b=c HTTP/2.0" "Mozilla/5.0 (X11)" ECDHE TLSv1.2 arn "Root=1-58"
2026-11-27T10:00:00.000000Z web 203.0.113.2:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/a?b=c HTTP/1.1" "Mozilla/5.0 (X11)" - -
https 2026-11-27T10:00:00.000000Z app/web/50dc6c - 10.0.0.1:80 0 0 0 200 200 34 366 "GET / HTTP/1.1" "x" - -`,
			[]*accesslog.Line{line("203.0.113.1", noReferrer), line("2001:db8::7", noReferrer), line("203.0.113.2", noReferrer), nil},
		},
	} {
		lines := strings.Split(test.log, "\n")
		parse := formatOf(t, lines, test.format)
		if len(lines) != len(test.want) {
			t.Fatalf("%s: %d lines", test.name, len(lines))
		}
		for i, want := range test.want {
			got, ok := parse([]byte(lines[i]))
			if got.Time.IsZero() || !ok {
				got.Time = time.Time{}
			} else {
				got.Time = got.Time.UTC()
			}
			if ok != (want != nil) || ok && got != *want {
				t.Errorf("%s, line %d: %+v %t\nwant %+v", test.name, i+1, got, ok, want)
			}
		}
	}
}

// TestNoFormatIsDetected reads files that are not access logs.
func TestNoFormatIsDetected(t *testing.T) {
	t.Parallel()
	for _, log := range []string{"", "junk", "#Fields: date time\n2026-11-27 10:00:00", `{"a":1}`, "\x00\xff", "203.0.113.1, 10.0.0.1 - - [27/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\""} {
		detector := accesslog.NewDetector()
		for line := range strings.SplitSeq(log, "\n") {
			detector.Add([]byte(line))
		}
		if format, ok := detector.Format(); ok {
			t.Errorf("%q has the format %s", log, format.Name)
		}
	}
}

// TestNames checks the names that --format accepts.
func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"combined_xff", "combined", "common", "vhost_combined_xff", "vhost_combined", "vhost_common", "caddy", "nginx_json", "cloudfront", "iis", "alb"}
	if got := accesslog.Names(); !slices.Equal(got, want) {
		t.Errorf("the names are %q", got)
	}
	if _, ok := accesslog.Named("none"); ok {
		t.Error("there is a format that is called none")
	}
}

// FuzzFormats reads any file in every format.
func FuzzFormats(f *testing.F) {
	f.Add("www.example.com:80 203.0.113.1 - - [27/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 368 \"-\" \"x\" \"203.0.113.2, 10.0.0.1\"")
	f.Add(`{"ts":1795773600.5,"request":{"remote_ip":"::1","method":"GET","uri":"/"},"status":200}`)
	f.Add(`{"time":"2026-11-27T10:00:00Z","remote_addr":"::1","request":"GET / HTTP/1.1","status":"200","args":"x"}`)
	f.Add("#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent)\n2026-11-27 10:00:00 ::1 GET / 200 a+b\n2026-11-27\t10:00:00\t::1\tGET\t/\t200\t%2520")
	f.Add(`h2 2026-11-27T10:00:00Z lb [::1]:1 - -1 -1 -1 200 - 1 1 "GET https://x.example?y HTTP/2" "z"`)
	f.Fuzz(func(t *testing.T, file string) {
		detector := accesslog.NewDetector()
		for _, format := range accesslog.Formats() {
			parse := format.Parser()
			for raw := range strings.SplitSeq(file, "\n") {
				line, ok := parse([]byte(raw))
				if !ok || line == (accesslog.Line{}) {
					if !ok && line != (accesslog.Line{}) {
						t.Errorf("%s: a malformed line left %+v", format.Name, line)
					}
					continue
				}
				if _, err := netip.ParseAddr(line.Address); err != nil || line.Status < 0 || line.Status > 999 || (line.Method == "") != (line.Target == "") || line.Referrer == "" && strings.HasPrefix(raw, "{") {
					t.Errorf("%s: impossible line %+v", format.Name, line)
				}
				if strings.Contains(line.Path(), "?") || len(line.Visitor()) != 16 {
					t.Errorf("%s: path %q, visitor %q", format.Name, line.Path(), line.Visitor())
				}
			}
		}
		for raw := range strings.SplitSeq(file, "\n") {
			detector.Add([]byte(raw))
		}
		if format, ok := detector.Format(); ok && !slices.Contains(accesslog.Names(), format.Name) {
			t.Errorf("the format %q is none", format.Name)
		}
	})
}
