package accesslog

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// caddyLine holds the members that the parser reads from a line of Caddy.
type caddyLine struct {
	Ts      json.RawMessage
	Status  int
	Request *struct {
		ClientIP   string `json:"client_ip"`
		RemoteIP   string `json:"remote_ip"`
		RemoteAddr string `json:"remote_addr"`
		Method     string
		URI        string
		Headers    map[string][]string
	}
}

// parseCaddy reads a line of Caddy.
func parseCaddy(line string) (parsed Line, forwarded, ok bool) {
	var read caddyLine
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &read) != nil || read.Request == nil {
		return Line{}, false, false
	}
	request := read.Request
	if parsed.Address, ok = addressOf(cmp.Or(request.ClientIP, request.RemoteIP, request.RemoteAddr)); !ok {
		return Line{}, false, false
	}
	if parsed.Time, ok = timeOf(word(read.Ts)); !ok || read.Status < 0 || read.Status > 999 {
		return Line{}, false, false
	}
	parsed.Status = read.Status
	parsed.Method, parsed.Target = splitRequest(request.Method + " " + request.URI)
	header := func(name string) string { return cmp.Or(strings.Join(request.Headers[name], ", "), "-") }
	parsed.Referrer, parsed.UserAgent = header("Referer"), header("User-Agent")
	return parsed, false, true
}

// parseJSON reads an object of flat members, as a log_format of nginx writes it. The members have the names of nginx's
// variables, or other usual names.
func parseJSON(line string) (parsed Line, forwarded, ok bool) {
	var members map[string]json.RawMessage
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &members) != nil {
		return Line{}, false, false
	}
	field := func(names ...string) string {
		for _, name := range names {
			if value := word(members[name]); value != "" && value != "-" {
				return value
			}
		}
		return ""
	}
	client, named := clientOf(field("http_x_forwarded_for", "x_forwarded_for", "xff"))
	if parsed.Address, ok = addressOf(field("remote_addr", "remote_ip", "client_ip", "client", "ip")); !ok && !named {
		return Line{}, false, false
	}
	if named {
		parsed.Address = client
	}
	stamp := field("time_iso8601", "msec", "time_local", "@timestamp", "timestamp", "time", "ts", "date")
	if parsed.Time, ok = timeOf(stamp); !ok {
		return Line{}, false, false
	}
	status, err := strconv.Atoi(cmp.Or(field("status", "response_code", "status_code"), "0"))
	if err != nil || status < 0 || status > 999 {
		return Line{}, false, false
	}
	parsed.Status = status
	method, target := field("request_method", "method"), field("request_uri", "uri", "url", "path")
	if query := field("args", "query_string"); query != "" && target != "" && !strings.Contains(target, "?") {
		target += "?" + query
	}
	request := method + " " + target
	if method == "" || target == "" {
		request = field("request")
	}
	parsed.Method, parsed.Target = splitRequest(request)
	parsed.Referrer = cmp.Or(field("http_referer", "http_referrer", "referer", "referrer"), "-")
	parsed.UserAgent = cmp.Or(field("http_user_agent", "user_agent", "useragent", "agent"), "-")
	return parsed, false, true
}

// word returns a text or a number of a JSON value. It returns "" for any other value.
func word(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// timeOf reads a time in one of the forms of JSON logs. A number counts seconds, or milliseconds if it is large.
func timeOf(text string) (time.Time, bool) {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		const milliseconds = 1e11
		if math.Abs(number) >= milliseconds {
			number /= 1000
		}
		if !(number > 0 && number < milliseconds) {
			return time.Time{}, false
		}
		return time.UnixMicro(int64(math.Round(number * 1e6))).UTC(), true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", timeLayout, "2006/01/02 15:04:05", time.DateTime} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 {
			return at, true
		}
	}
	return time.Time{}, false
}
