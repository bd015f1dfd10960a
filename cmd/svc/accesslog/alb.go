package accesslog

import (
	"strconv"
	"strings"
	"time"
)

// parseALB reads a line of a load balancer of AWS. A classic load balancer writes no type before the time.
//
//	type time balancer client:port target:port seconds seconds seconds status status bytes bytes "request" "user agent" …
func parseALB(line string) (parsed Line, forwarded, ok bool) {
	head, rest, ok := strings.Cut(line, ` "`)
	if !ok {
		return Line{}, false, false
	}
	const withType = 12
	words := strings.Split(head, " ")
	if len(words) == withType {
		words = words[1:]
	}
	if len(words) != withType-1 {
		return Line{}, false, false
	}
	var err error
	if parsed.Time, err = time.Parse(time.RFC3339, words[0]); err != nil || parsed.Time.Year() <= 0 {
		return Line{}, false, false
	}
	if parsed.Address, ok = addressOf(words[2]); !ok {
		return Line{}, false, false
	}
	if words[7] != "-" { // no status was sent
		if parsed.Status, err = strconv.Atoi(words[7]); err != nil || parsed.Status < 0 || parsed.Status > 999 {
			return Line{}, false, false
		}
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return Line{}, false, false
	}
	parsed.Method, parsed.Target = splitRequest(request)
	parsed.Target = originForm(parsed.Target)
	if parsed.Target == "" {
		parsed.Method = ""
	}
	if rest, ok = strings.CutPrefix(rest, ` "`); !ok {
		return Line{}, false, false
	}
	parsed.Referrer = "-"
	parsed.UserAgent, _, ok = cutQuoted(rest)
	return parsed, false, ok
}
