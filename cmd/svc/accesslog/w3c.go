package accesslog

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// w3c reads the extended log format of W3C. The directive #Fields names the fields. IIS separates the fields by spaces,
// CloudFront by tabs.
type w3c struct {
	tabs bool
	// fields has the number of each field. count is the number of fields in a line.
	fields map[string]int
	count  int
}

func (w *w3c) parse(line string) (parsed Line, forwarded, ok bool) {
	if strings.HasPrefix(line, "#") {
		w.direct(line)
		return Line{}, false, true
	}
	var words []string
	if w.tabs {
		words = strings.Split(line, "\t")
	} else {
		words = strings.Fields(line)
	}
	if len(words) != w.count {
		return Line{}, false, false
	}
	field := func(name string) string {
		if at, found := w.fields[name]; found && words[at] != "-" {
			return words[at]
		}
		return ""
	}
	var err error
	if parsed.Time, err = time.Parse(time.DateTime, field("date")+" "+field("time")); err != nil {
		return Line{}, false, false
	}
	if parsed.Address, ok = addressOf(field("c-ip")); !ok {
		return Line{}, false, false
	}
	if parsed.Status, err = strconv.Atoi(field("sc-status")); err != nil {
		parsed.Status = 0 // CloudFront writes 000 if the client went away, other servers write nothing
	}
	parsed.Method, parsed.Target = splitRequest(field("cs-method") + " " + field("cs-uri-stem"))
	if query := field("cs-uri-query"); query != "" && parsed.Target != "" {
		parsed.Target += "?" + query
	}
	parsed.Referrer, parsed.UserAgent = cmp.Or(w.text(field("cs(referer)")), "-"), cmp.Or(w.text(field("cs(user-agent)")), "-")
	if !w.tabs { // CloudFront logs the address of the client itself
		if client, named := clientOf(w.text(cmp.Or(field("x-forwarded-for"), field("cs(x-forwarded-for)")))); named {
			parsed.Address = client
		}
	}
	return parsed, false, parsed.Status >= 0 && parsed.Status <= 999
}

// direct reads a directive. Only #Fields has an effect here.
func (w *w3c) direct(line string) {
	names, found := strings.CutPrefix(line, "#Fields:")
	if !found {
		return
	}
	w.fields, w.count = map[string]int{}, 0
	for name := range strings.FieldsSeq(names) {
		w.fields[strings.ToLower(name)] = w.count
		w.count++
	}
}

// text reverses the encoding of a header. IIS writes + for spaces. CloudFront percent-encodes spaces, in part twice.
func (w *w3c) text(header string) string {
	if !w.tabs {
		return strings.ReplaceAll(strings.ReplaceAll(header, "++", " +"), "+", " ")
	}
	for range 2 {
		decoded, err := url.PathUnescape(header)
		if err != nil || !printable(decoded) {
			return header
		}
		header = decoded
	}
	return header
}
