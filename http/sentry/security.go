package sentry

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/occurrence"
)

// Security contains the members of a browser's report that other events do not have.
type Security struct {
	// Kind names the policy, for example CSP; Title describes the violation, Culprit the rule. Reports of one kind with
	// the same Group are one issue.
	Kind, Title, Culprit, Group string
	// Ignored is the reason why the application cannot fix the cause of the report, empty if the report is not ignored.
	Ignored string
}

// Report is one report of a browser. Exactly one of Event and Err is set.
type Report struct {
	// Payload is the original report, a part of the bytes that were read.
	Payload json.RawMessage
	// Event has the report in its member Security.
	Event *Event
	// Age is the time between the making and the sending of the report; zero if the report itself has a time, or none.
	Age time.Duration
	// Err is a *Malformed.
	Err error
}

// MaxReports is the maximum number of reports of one request that are read.
const MaxReports = 100

// Bounds of the stored data of one report.
const (
	maxReportMembers = 40
	maxReportText    = 2 << 10
	maxSample        = 128
	maxReportAge     = 366 * 24 * time.Hour
)

// ParseSecurity reads reports in the forms that browsers send: {"csp-report": …} and similar ones, or one report or a
// list of reports of the Reporting API. left is the number of reports beyond MaxReports. It fails with *Malformed if
// there is no report; if one report of several is invalid, that report has the error.
func ParseSecurity(payload []byte) (reports []Report, left int, err error) {
	payload = bytes.TrimLeft(payload, " \t\r\n")
	entries := []json.RawMessage{payload}
	if len(payload) > 0 && payload[0] == '[' && domain.DecodeJSON(payload, &entries) != nil {
		return nil, 0, malformed("invalid report: no JSON")
	}
	if len(entries) == 0 {
		return nil, 0, malformed("no report was sent")
	}
	left = max(0, len(entries)-MaxReports)
	for _, entry := range entries[:len(entries)-left] {
		report := Report{Payload: entry}
		report.Event, report.Age, report.Err = parseReport(entry)
		reports = append(reports, report)
	}
	if len(reports) == 1 && reports[0].Err != nil {
		return nil, 0, reports[0].Err
	}
	return reports, left, nil
}

// holder is a member that contains a report of a kind.
type holder struct{ name, kind string }

// wrappers lists the members that wrap a report that is sent alone; a report about pins has no wrapper.
func wrappers() []holder {
	return []holder{{"cspreport", kindCSP}, {"expectctreport", kindCT}, {"expectstaplereport", kindStaple}}
}

// parseReport reads one report.
func parseReport(payload json.RawMessage) (*Event, time.Duration, error) {
	top := plainMembers(payload)
	if top == nil {
		return nil, 0, malformed("invalid report: no JSON object")
	}
	r := &reportReader{members: top}
	kind, age := "", time.Duration(0)
	for _, wrapper := range wrappers() {
		if kind == "" && !absent(top[wrapper.name]) {
			kind, r.members = wrapper.kind, plainMembers(top[wrapper.name])
		}
	}
	switch {
	case kind != "":
	case !absent(top["knownpins"]):
		kind = kindPins
	case !absent(top["type"]):
		kind = reportKind(r.text("type"))
		r.page, r.agent = r.text("url"), r.text("useragent")
		age = min(max(time.Duration(r.number("age"))*time.Millisecond, 0), maxReportAge)
		r.members = plainMembers(top["body"])
	default:
		return nil, 0, malformed("invalid report: neither csp-report, expect-ct-report, expect-staple-report, known-pins nor type is in it")
	}
	event := &Event{Level: string(occurrence.LevelWarning), Platform: "javascript"}
	if err := r.fill(event, kind, r.typed(top, kind)); err != nil {
		return nil, 0, err
	}
	event.Problems = r.problems
	return event, age, nil
}

// interfaces lists the members of events that contain a report.
func interfaces() []holder {
	return []holder{{"csp", kindCSP}, {"expectct", kindCT}, {"expectstaple", kindStaple}, {"hpkp", kindPins}}
}

// security reads the report in an event. The event's own members take precedence.
func (r *reader) security(event *Event, top object) {
	for _, held := range interfaces() {
		if absent(top[held.name]) {
			continue
		}
		made := &Event{Request: event.Request, Tags: event.Tags, Extra: event.Extra}
		if err := (&reportReader{members: plainMembers(top[held.name])}).fill(made, held.kind, held.kind); err != nil {
			r.problem(held.name)
			continue
		}
		event.Security, event.Request, event.Tags, event.Extra = made.Security, made.Request, made.Tags, made.Extra
		if absent(top["level"]) {
			event.Level = string(occurrence.LevelWarning)
		}
		return
	}
}

// reportReader reads the members of a report. Browsers differ in the names, so they are compared without case, hyphens
// and underscores, and a final url counts as uri.
type reportReader struct {
	reader
	members object
	// page and agent are the page and the user agent that the report names outside its body.
	page, agent string
}

// plainMembers returns the members of an object by their normalized names, nil if the value is not an object.
func plainMembers(raw json.RawMessage) object {
	var members object
	if domain.DecodeJSON(raw, &members) != nil || members == nil {
		return nil
	}
	plain := make(object, len(members))
	for name, value := range members {
		name = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
		if before, found := strings.CutSuffix(name, "url"); found && before != "" {
			name = before + "uri"
		}
		plain[name] = value
	}
	return plain
}

// text reads a member as a text; empty if it has another form.
func (r *reportReader) text(name string) string { return r.reader.text(name, r.members[name]) }

// number reads a member as a whole number.
func (r *reportReader) number(name string) int { return r.reader.number(name, r.members[name]) }

// fill reads a report of a kind into an event; word is the sender's name of the kind.
func (r *reportReader) fill(event *Event, kind, word string) error {
	if len(r.members) == 0 && r.page == "" {
		return malformed("invalid report: %s says nothing", word)
	}
	page := r.text("documenturi")
	if page == "" {
		page = r.page
	}
	said := &Security{Kind: kind}
	var err error
	switch kind {
	case kindCSP:
		err = r.policy(said)
	case kindCT, kindStaple, kindPins:
		err = r.certificate(said)
		event.Timestamp, _ = parseTime(r.members["datetime"])
	default:
		r.general(said, word, page)
	}
	if err != nil {
		return err
	}
	if isExtension(r.text("blockeduri")) || isExtension(r.text("sourcefile")) || isExtension(page) {
		said.Ignored = "The report is about a browser extension."
	}
	event.Security = said
	setMissing(&event.Request.URL, page)
	setMissing(&event.Request.Referrer, r.text("referrer"))
	setMissing(&event.Request.UserAgent, r.agent)
	if event.Tags == nil {
		event.Tags = map[string]string{}
	}
	for tag, member := range map[string]string{"effective-directive": "effectivedirective", "disposition": "disposition"} {
		if value := r.text(member); value != "" && event.Tags[tag] == "" {
			event.Tags[tag] = value
		}
	}
	if len(event.Extra) == 0 {
		event.Extra = r.kept()
	}
	return nil
}

func setMissing(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// kept returns the texts, numbers and truth values of a report. It cuts long values and omits network addresses.
func (r *reportReader) kept() json.RawMessage {
	names := make([]string, 0, len(r.members))
	for name := range r.members {
		if name != "serverip" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	kept := map[string]any{}
	for _, name := range names {
		word, ok := scalar(r.members[name])
		if !ok || word == "" || len(name) > occurrence.MaxTagBytes || len(kept) == maxReportMembers {
			continue
		}
		limit := maxReportText
		if name == "scriptsample" || name == "sample" {
			limit = maxSample
		}
		if r.members[name][0] == '"' {
			kept[name] = strings.ToValidUTF8(word[:min(len(word), limit)], "")
		} else {
			kept[name] = r.members[name]
		}
	}
	if len(kept) == 0 {
		return nil
	}
	encoded, err := json.Marshal(map[string]any{"report": kept})
	if err != nil {
		return nil
	}
	return encoded
}

// extensionScheme begins the addresses of extensions and of the browser's own pages.
var extensionScheme = regexp.MustCompile(`(?i)^(chrome|moz|safari|safari-web|ms-browser|edge|opera)-extension(:|$)|^webkit-masked-url:|^(resource|chrome):`)

// isExtension reports whether an address or its scheme belongs to a browser extension.
func isExtension(address string) bool { return extensionScheme.MatchString(address) }

// hostOf returns the host of an address in lower case, with a port that is not the default one. For an address without
// a host it returns the scheme with a colon.
func hostOf(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	scheme, _, hasScheme := strings.Cut(address, ":")
	if !hasScheme || strings.ContainsAny(scheme, "./") {
		address, scheme = "https://"+address, "https"
	}
	switch scheme {
	case "http", "https", "ws", "wss", "ftp":
	default:
		return bounded(scheme) + ":"
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return scheme + ":"
	}
	host := strings.TrimSuffix(parsed.Hostname(), ".")
	if port := parsed.Port(); port != "" && port != "443" && port != "80" {
		host += ":" + port
	}
	return bounded(host)
}

// bounded cuts a host or scheme to the length of a host name.
func bounded(word string) string { return strings.ToValidUTF8(word[:min(len(word), 255)], "") }
