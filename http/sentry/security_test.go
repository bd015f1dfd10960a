package sentry_test

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc/domain/occurrence"
	"svc/http/sentry"
)

// The reports as browsers send them.
const (
	chromeCSP = `{"csp-report":{"document-uri":"https://shop.example/cart?token=s3cret&step=2","referrer":"https://shop.example/","violated-directive":"script-src-elem","effective-directive":"script-src-elem",` +
		`"original-policy":"default-src 'self'; report-uri /csp","disposition":"enforce","blocked-uri":"https://evil.example/a.js?v=1","line-number":12,"column-number":4,"source-file":"https://shop.example/app.js","status-code":200,"script-sample":""}}`
	firefoxCSP = `{"csp-report":{"blocked-uri":"https://EVIL.example:443/b.js","column-number":1,"disposition":"report","document-uri":"https://shop.example/pay","effective-directive":"script-src-elem",` +
		`"line-number":3,"original-policy":"default-src 'self'","referrer":"","source-file":"https://shop.example/pay","status-code":200,"violated-directive":"script-src-elem"}}`
	safariCSP = `{"csp-report":{"document-uri":"https://shop.example/pay","referrer":"","violated-directive":"script-src 'self'","effective-directive":"script-src","original-policy":"script-src 'self'","blocked-uri":"https://evil.example","status-code":0}}`
	reportCSP = `[{"age":53531,"body":{"blockedURL":"https://evil.example/evil.js","columnNumber":39,"disposition":"enforce","documentURL":"https://shop.example/list","effectiveDirective":"script-src-elem","lineNumber":121,` +
		`"originalPolicy":"default-src 'self'; report-to csp","referrer":"https://www.google.com/","sample":"","sourceFile":"https://shop.example/list","statusCode":200},"type":"csp-violation","url":"https://shop.example/list","user_agent":"Mozilla/5.0 (X11; Linux x86_64) Chrome/127.0.0.0"}]`
	nel = `[{"age":0,"type":"network-error","url":"https://api.shop.example/pay","user_agent":"Mozilla/5.0 Chrome/127","body":{"sampling_fraction":0.5,"referrer":"https://shop.example/","server_ip":"192.0.2.7","protocol":"h2","method":"POST",` +
		`"request_headers":{},"response_headers":{},"status_code":0,"elapsed_time":823,"phase":"connection","type":"tcp.reset"}}]`
	expectCT     = `{"expect-ct-report":{"date-time":"2026-11-20T13:00:50Z","effective-expiration-date":"2026-12-20T13:00:50Z","hostname":"www.shop.example","port":443,"scheme":"https","served-certificate-chain":["-----BEGIN CERTIFICATE-----"],"validated-certificate-chain":[],"failure-mode":"enforce","scts":[]}}`
	expectStaple = `{"expect-staple-report":{"date-time":"2026-11-20T13:00:50Z","hostname":"www.shop.example","port":8443,"response-status":"ERROR_RESPONSE","cert-status":"REVOKED","served-certificate-chain":[]}}`
	pins         = `{"date-time":"2026-11-20T13:00:50Z","hostname":"www.shop.example","port":443,"effective-expiration-date":"2026-12-20T13:00:50Z","include-subdomains":false,"noted-hostname":"shop.example","served-certificate-chain":[],"validated-certificate-chain":[],"known-pins":["pin-sha256=\"d6qzRu9z=\""]}`
)

// blocked is a report of Chrome about an address that a directive blocked.
func blocked(directive, address string) string {
	return `{"csp-report":{"document-uri":"https://shop.example/","effective-directive":"` + directive + `","violated-directive":"` + directive + `","blocked-uri":"` + address + `"}}`
}

// TestSecurityReports checks the title, culprit and group of every kind of report.
func TestSecurityReports(t *testing.T) {
	t.Parallel()
	evil := "CSP | Blocked 'script' from 'evil.example' | script-src-elem | script-src evil.example"
	for name, tc := range map[string]struct{ body, want string }{
		"Chrome":            {chromeCSP, evil},
		"Firefox":           {firefoxCSP, evil},
		"Safari":            {safariCSP, "CSP | Blocked 'script' from 'evil.example' | script-src | script-src evil.example"},
		"Reporting API":     {reportCSP, evil},
		"Safari, no list":   {strings.Trim(reportCSP, "[]"), evil},
		"another port":      {blocked("connect-src", "wss://evil.example:8443/live"), "CSP | Blocked 'connect' from 'evil.example:8443' | connect-src | connect-src evil.example:8443"},
		"numbered hosts":    {blocked("img-src", "https://cdn1.example/x.png"), "CSP | Blocked 'image' from 'cdn1.example' | img-src | img-src cdn1.example"},
		"inline":            {blocked("script-src-attr", "inline"), "CSP | Blocked unsafe inline 'script' | script-src-attr | script-src-attr inline"},
		"inline, old":       {blocked("style-src", ""), "CSP | Blocked unsafe inline 'style' | style-src | style-src inline"},
		"eval":              {blocked("script-src", "eval"), "CSP | Blocked unsafe eval 'script' | script-src | script-src eval"},
		"self":              {blocked("frame-ancestors", "self"), "CSP | Blocked 'ancestor' from 'self' | frame-ancestors | frame-ancestors self"},
		"data":              {blocked("img-src", "data"), "CSP | Blocked 'image' from 'data:' | img-src | img-src data:"},
		"data whole":        {blocked("img-src", "data:image/png;base64,AA"), "CSP | Blocked 'image' from 'data:' | img-src | img-src data:"},
		"blob":              {blocked("worker-src", "blob:https://shop.example/1"), "CSP | Blocked 'worker' from 'blob:' | worker-src | worker-src blob:"},
		"IPv6":              {blocked("img-src", "http://[2001:db8::1]/x"), "CSP | Blocked 'image' from '2001:db8::1' | img-src | img-src 2001:db8::1"},
		"an odd address":    {blocked("img-src", "https://%zz/"), "CSP | Blocked 'image' from 'https:' | img-src | img-src https:"},
		"chrome extension":  {blocked("script-src", "chrome-extension://abc/x.js"), "ignored: The report is about a browser extension."},
		"chrome, short":     {blocked("script-src", "chrome-extension"), "ignored: The report is about a browser extension."},
		"firefox extension": {strings.Replace(firefoxCSP, `"source-file":"https://shop.example/pay"`, `"source-file":"moz-extension"`, 1), "ignored: The report is about a browser extension."},
		"safari extension":  {blocked("img-src", "safari-web-extension://abc"), "ignored: The report is about a browser extension."},
		"network error":     {nel, "NEL | tcp.reset at 'api.shop.example' | tcp.reset | network-error tcp.reset api.shop.example"},
		"network success":   {strings.Replace(nel, "tcp.reset", "ok", 1), "ignored: The report is about a request that succeeded."},
		"deprecation": {
			`[{"type":"deprecation","age":10,"url":"https://shop.example/","body":{"id":"WebSQL","message":"WebSQL is gone in 2027.","sourceFile":"https://cdn.example/a.js","lineNumber":1}}]`,
			"Deprecation | WebSQL is gone in 2027. | WebSQL | deprecation WebSQL cdn.example",
		},
		"crash":         {`[{"type":"crash","age":10,"url":"https://shop.example/","body":{"reason":"oom"}}]`, "Crash | oom at 'shop.example' | oom | crash oom shop.example"},
		"permissions":   {`[{"type":"permissions-policy-violation","url":"https://shop.example/","body":{"policyId":"geolocation","disposition":"enforce"}}]`, "Permissions-Policy | geolocation at 'shop.example' | geolocation | permissions-policy-violation geolocation shop.example"},
		"unknown type":  {`[{"type":"novelty","url":"https://shop.example/"}]`, "Report | novelty at 'shop.example' | novelty | novelty  shop.example"},
		"Expect-CT":     {expectCT, "Expect-CT | Expect-CT failed for 'www.shop.example' | www.shop.example | www.shop.example"},
		"Expect-Staple": {expectStaple, "Expect-Staple | Expect-Staple failed for 'www.shop.example:8443' | www.shop.example:8443 | www.shop.example:8443"},
		"pins":          {pins, "HPKP | Public key pinning failed for 'www.shop.example' | www.shop.example | www.shop.example"},
		"empty":         {``, "refused: invalid report: no JSON object"},
		"noise":         {`<html>`, "refused: invalid report: no JSON object"},
		"broken list":   {`[{"type"`, "refused: invalid report: no JSON"},
		"empty list":    {`[]`, "refused: no report was sent"},
		"null":          {`null`, "refused: invalid report: no JSON object"},
		"other object":  {`{"a":1}`, "refused: invalid report: neither csp-report, expect-ct-report, expect-staple-report, known-pins nor type is in it"},
		"text for it":   {`{"csp-report":"x"}`, "refused: invalid report: CSP says nothing"},
		"no directive":  {`{"csp-report":{"blocked-uri":"inline"}}`, "refused: invalid report: effective-directive and violated-directive name no directive"},
		"odd directive": {blocked("<b>", "inline"), "refused: invalid report: effective-directive and violated-directive name no directive"},
		"no host":       {`{"expect-ct-report":{"port":1}}`, "refused: invalid report: hostname names no host"},
	} {
		if got := told(sentry.ParseSecurity([]byte(tc.body))); got != tc.want {
			t.Errorf("%s:\n got  %s\n want %s", name, got, tc.want)
		}
	}
}

// told describes the only report of a body.
func told(reports []sentry.Report, left int, err error) string {
	switch {
	case err != nil:
		return "refused: " + err.Error()
	case len(reports) != 1 || left != 0:
		return "several"
	}
	said := reports[0].Event.Security
	if said.Ignored != "" {
		return "ignored: " + said.Ignored
	}
	o := reports[0].Event.Occurrence()
	return strings.Join([]string{o.Name, o.Message, o.Culprit, o.Template}, " | ")
}

// TestReportAsOccurrence checks the other fields of a report's occurrence.
func TestReportAsOccurrence(t *testing.T) {
	t.Parallel()
	reports, _, err := sentry.ParseSecurity([]byte(reportCSP))
	if err != nil {
		t.Fatal(err)
	}
	event := reports[0].Event
	o := event.Occurrence()
	o.Normalise()
	if o.Level != occurrence.LevelWarning || !o.Handled || o.Mechanism != "report" || o.URL != "https://shop.example/list" || o.Referrer != "https://www.google.com/" || o.Former != nil {
		t.Errorf("%+v", o)
	}
	if reports[0].Age != 53531*time.Millisecond || !strings.Contains(event.Request.UserAgent, "Chrome/127") || o.Tags["effective-directive"] != "script-src-elem" || o.Tags["disposition"] != "enforce" {
		t.Errorf("age %s, agent %q, tags %v", reports[0].Age, event.Request.UserAgent, o.Tags)
	}
	var extra struct {
		Report map[string]any `json:"report"`
	}
	if err := json.Unmarshal(o.Extra, &extra); err != nil || extra.Report["originalpolicy"] != "default-src 'self'; report-to csp" || extra.Report["linenumber"] != 121.0 {
		t.Errorf("extra %s, %v", o.Extra, err)
	}
	reports, _, err = sentry.ParseSecurity([]byte(nel))
	if err != nil || strings.Contains(string(reports[0].Event.Occurrence().Extra), "192.0.2.7") {
		t.Errorf("the address of the server is kept, or %v", err)
	}
	reports, _, err = sentry.ParseSecurity([]byte(pins))
	if err != nil || !reports[0].Event.Timestamp.Equal(time.Date(2026, 11, 20, 13, 0, 50, 0, time.UTC)) {
		t.Errorf("%v, %v", reports, err)
	}
}

// TestReportsAreBounded sends a sample, a policy and a list beyond the bounds.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100_000)
	body := `{"csp-report":{"effective-directive":"script-src","blocked-uri":"https://` + long + `/","script-sample":"` + long + `","original-policy":"` + long + `"}}`
	reports, _, err := sentry.ParseSecurity([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	o := reports[0].Event.Occurrence()
	if len(o.Extra) > 8<<10 || !utf8.ValidString(o.Message) || len(o.Message) > 300 || strings.Count(string(o.Extra), "ä") > 2200 {
		t.Errorf("message %d, extra %d", len(o.Message), len(o.Extra))
	}
	reports, left, err := sentry.ParseSecurity([]byte("[" + strings.Repeat(`{"type":"crash","url":"https://a.example/","body":{}},`, 150) + "7]"))
	if err != nil || len(reports) != sentry.MaxReports || left != 51 {
		t.Errorf("%d reports, %d left, %v", len(reports), left, err)
	}
	reports, _, err = sentry.ParseSecurity([]byte("[7," + strings.Trim(reportCSP, "[]") + "]"))
	if err != nil || len(reports) != 2 || reports[0].Err == nil || reports[1].Event == nil {
		t.Errorf("%v, %v", reports, err)
	}
}

// TestReportInAnEvent sends a report as a member of an event. The report determines title, culprit and group, and the
// event's own members stay.
func TestReportInAnEvent(t *testing.T) {
	t.Parallel()
	const csp = `"csp":{"effective_directive":"img-src","blocked_uri":"https://evil.example/a.png","document_uri":"https://shop.example/"}`
	o := parse(t, `{"message":"older words",`+csp+`}`).Occurrence()
	if o.Name != "CSP" || o.Message != "Blocked 'image' from 'evil.example'" || o.Culprit != "img-src" || o.Template != "img-src evil.example" || o.Level != occurrence.LevelWarning || o.URL != "https://shop.example/" {
		t.Errorf("%+v", o)
	}
	o = parse(t, `{"level":"info","request":{"url":"https://own.example/"},"tags":{"disposition":"mine"},"extra":{"a":1},`+csp+`}`).Occurrence()
	if o.Level != occurrence.LevelInfo || o.URL != "https://own.example/" || o.Tags["disposition"] != "mine" || string(o.Extra) != `{"a":1}` {
		t.Errorf("%+v", o)
	}
	for _, member := range []string{`"expectct":{"hostname":"a.example"}`, `"expectstaple":{"hostname":"a.example"}`, `"hpkp":{"hostname":"a.example"}`} {
		if o := parse(t, "{"+member+"}").Occurrence(); o.Culprit != "a.example" || !strings.Contains(o.Message, "failed for 'a.example'") {
			t.Errorf("%s is %+v", member, o)
		}
	}
	if o := parse(t, `{"message":"m","csp":7}`).Occurrence(); o.Name != "Message" || len(o.Details.Problems) != 1 || o.Details.Problems[0].Field != "csp" {
		t.Errorf("%+v", o)
	}
}

// FuzzParseSecurity checks that every report has a kind, a title and a group, or an error.
func FuzzParseSecurity(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add([]byte(`[{"csp-report":` + strings.Repeat("[", 1<<20)))
	for _, seed := range []string{chromeCSP, firefoxCSP, safariCSP, reportCSP, nel, expectCT, expectStaple, pins, blocked("img-src", "data"), `[7,{"type":"x","body":[]}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		reports, left, err := sentry.ParseSecurity(payload)
		if err != nil {
			if text(err) == "" || len(reports) > 0 {
				t.Errorf("%d reports, no reason: %v", len(reports), err)
			}
			return
		}
		if len(reports) == 0 || len(reports) > sentry.MaxReports || left < 0 {
			t.Errorf("%d reports, %d left", len(reports), left)
		}
		for _, report := range reports {
			if report.Err != nil {
				continue
			}
			o := report.Event.Occurrence()
			if o.Name == "" || o.Message == "" || o.Culprit == "" || o.Template == "" || !utf8.ValidString(o.Message+o.Template+string(o.Extra)) || report.Age < 0 {
				t.Errorf("%s is %+v", report.Payload, o)
			}
		}
	})
}
