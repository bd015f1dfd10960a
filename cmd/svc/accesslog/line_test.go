package accesslog_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/cmd/svc/accesslog"
)

// combined reads a line of the combined format.
func combined(line []byte) (accesslog.Line, bool) {
	format, _ := accesslog.Named("combined")
	return format.Parser()(line)
}

func TestParse(t *testing.T) {
	t.Parallel()
	at := time.Date(2015, 5, 17, 10, 5, 3, 0, time.UTC)
	plain := accesslog.Line{
		Address: "83.149.9.216", Time: at, Method: "GET", Target: "/blog?flav=rss20", Status: 200,
		Referrer: "http://example.com/", UserAgent: "Mozilla/5.0 (X11)",
	}
	with := func(change func(*accesslog.Line)) *accesslog.Line {
		line := plain
		change(&line)
		return &line
	}
	for _, test := range []struct {
		name, line string
		want       *accesslog.Line // nil: malformed
	}{
		{"combined", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20 HTTP/1.1" 200 203023 "http://example.com/" "Mozilla/5.0 (X11)"`, &plain},
		{"time zone", `83.149.9.216 - - [17/May/2015:12:05:03 +0200] "GET /blog?flav=rss20 HTTP/1.1" 200 203023 "http://example.com/" "Mozilla/5.0 (X11)"`, &plain},
		{"user with a space", `83.149.9.216 - jane doe [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20 HTTP/1.1" 200 1 "http://example.com/" "Mozilla/5.0 (X11)"`, &plain},
		{"carriage return", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20 HTTP/1.1" 200 - "http://example.com/" "Mozilla/5.0 (X11)"` + "\r", &plain},
		{"more fields", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20 HTTP/1.1" 200 - "http://example.com/" "Mozilla/5.0 (X11)" "10.0.0.1" 0.003`, &plain},
		{"HTTP/0.9", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20" 200 - "http://example.com/" "Mozilla/5.0 (X11)"`, &plain},
		{
			"IPv6", `2001:db8::7 - - [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20 HTTP/1.1" 200 12 "http://example.com/" "Mozilla/5.0 (X11)"`,
			with(func(l *accesslog.Line) { l.Address = "2001:db8::7" }),
		},
		{
			"nothing known", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "-" 408 - "-" "-"`,
			with(func(l *accesslog.Line) {
				l.Method, l.Target, l.Status, l.Referrer, l.UserAgent = "", "", 408, "-", "-"
			}),
		},
		{
			"binary request", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "\x16\x03\x01\x02" 400 226 "-" "-"`,
			with(func(l *accesslog.Line) {
				l.Method, l.Target, l.Status, l.Referrer, l.UserAgent = "", "", 400, "-", "-"
			}),
		},
		{
			"escaped quotes, Apache", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /a\"b HTTP/1.1" 200 1 "-" "say \"hi\" \\o/"`,
			with(func(l *accesslog.Line) { l.Target, l.Referrer, l.UserAgent = `/a"b`, "-", `say "hi" \o/` }),
		},
		{
			"escaped quotes, nginx", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "say \x22hi\x22 \xD0\xB0"`,
			with(func(l *accesslog.Line) { l.Target, l.Referrer, l.UserAgent = "/", "-", `say "hi" а` }),
		},
		{
			"bytes that are no text stay escaped", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "http://\xe4\xe5/" "a\x00b"`,
			with(func(l *accesslog.Line) { l.Target, l.Referrer, l.UserAgent = "/", `http://\xe4\xe5/`, `a\x00b` }),
		},
		{
			"a target with spaces", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /a b c HTTP/1.1" 200 1 "-" "x"`,
			with(func(l *accesslog.Line) { l.Target, l.Referrer, l.UserAgent = "/a b c", "-", "x" }),
		},

		{"empty", "", nil},
		{"common format", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1`, nil},
		{"cut off in the user agent", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla`, nil},
		{"cut off after an escape", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla\`, nil},
		{"escaped closing quote", `83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla\"`, nil},
		{"E1: a host before the address", `www.example.com 83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"a host instead of the address", `client.example.com - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"an address before the address", `10.0.0.1 83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"addresses of proxies first", `83.149.9.216, 10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"no address", ` - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"no such day", `1.2.3.4 - - [31/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"another time format", `1.2.3.4 - - [2015-05-17T10:05:03Z] "GET / HTTP/1.1" 200 1 "-" "x"`, nil},
		{"status is no number", `1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" abc 1 "-" "x"`, nil},
		{"size is no number", `1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 x "-" "x"`, nil},
		{"glued to the closing quote", `1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "x"y`, nil},
		{"JSON", `{"remote_addr":"1.2.3.4","status":200}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, ok := combined([]byte(test.line))
			got.Time = got.Time.UTC()
			switch {
			case ok != (test.want != nil):
				t.Fatalf("ok is %v for %s", ok, test.line)
			case ok && got != *test.want:
				t.Errorf("got  %+v\nwant %+v", got, *test.want)
			}
		})
	}
}

func TestIsPageView(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line accesslog.Line
		path string
		want bool
	}{
		{accesslog.Line{Method: "GET", Status: 200, Target: "/"}, "/", true},
		{accesslog.Line{Method: "GET", Status: 304, Target: "/blog/?page=2.png"}, "/blog/", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/a.html"}, "/a.html", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/release-1.2/"}, "/release-1.2/", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/png"}, "/png", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/a.PNG"}, "/a.PNG", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "http://example.com/a?b"}, "/a", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "http://example.com"}, "/", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/to?u=http://example.com/x.png"}, "/to", true},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/a.tar.gz?x"}, "/a.tar.gz", false},
		{accesslog.Line{Method: "GET", Status: 200, Target: "/.txt"}, "/.txt", false},
		{accesslog.Line{Method: "GET", Status: 206, Target: "/"}, "/", false},
		{accesslog.Line{Method: "GET", Status: 404, Target: "/"}, "/", false},
		{accesslog.Line{Method: "HEAD", Status: 200, Target: "/"}, "/", false},
		{accesslog.Line{Method: "POST", Status: 200, Target: "/"}, "/", false},
		{accesslog.Line{Status: 200}, "", false},
	} {
		if path := test.line.Path(); path != test.path {
			t.Errorf("path of %q is %q, want %q", test.line.Target, path, test.path)
		}
		if got := test.line.IsPageView(); got != test.want {
			t.Errorf("%+v is a page view: %v, want %v", test.line, got, test.want)
		}
	}
}

func TestVisitorIsTheSpecifiedHash(t *testing.T) {
	t.Parallel()
	// printf '1.2.3.4\ncurl/8.0' | sha256sum
	if got := (accesslog.Line{Address: "1.2.3.4", UserAgent: "curl/8.0"}).Visitor(); got != "bab0e7d910219133" {
		t.Error("got", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /blog?flav=rss20 HTTP/1.1" 200 203023 "http://example.com/" "Mozilla/5.0 (X11)"`)
	f.Add(`::1 - - [17/May/2015:10:05:03 +0000] "\x16\x03" 400 - "-" "a\"b\\c\xd0\xb0"`)
	f.Add(`- - - [17/May/2015:10:05:03 +0000] "GET http://h HTTP/1.1" 304 0 "" "" 1`)
	f.Fuzz(func(t *testing.T, raw string) {
		line, ok := combined([]byte(raw))
		if !ok {
			if line != (accesslog.Line{}) {
				t.Errorf("a malformed line left %+v", line)
			}
			return
		}
		if line.Address == "" || strings.Contains(line.Address, " ") || line.Time.IsZero() || line.Status > 999 || (line.Method == "") != (line.Target == "") {
			t.Errorf("impossible line %+v", line)
		}
		if path := line.Path(); strings.Contains(path, "?") {
			t.Errorf("the path %q holds a query", path)
		}
		if visitor := line.Visitor(); len(visitor) != 16 {
			t.Errorf("visitor %q", visitor)
		}
		line.IsPageView()
		if !readable(line.Referrer) || !readable(line.UserAgent) {
			return // such texts are left as they were logged
		}
		// A line's parts, written as a server writes them, parse to the same line.
		again, ok := combined([]byte(line.Address + " - - [" + line.Time.Format("02/Jan/2006:15:04:05 -0700") + `] "-" 200 - "` + quote(line.Referrer) + `" "` + quote(line.UserAgent) + `"`))
		if !ok || again.Referrer != line.Referrer || again.UserAgent != line.UserAgent || !again.Time.Equal(line.Time) {
			t.Errorf("%+v became %+v (%v)", line, again, ok)
		}
	})
}

func readable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// quote escapes a text as servers do.
func quote(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
}
