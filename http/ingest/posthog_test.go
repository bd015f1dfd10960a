package ingest

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/http/route"
)

const posthogKey = "svc_pub_web_p_1"

// capturing is a collector that accepts everything under posthogKey.
func capturing(log *logOf) *Collect {
	collect := testCollect(log)
	collect.Collectors.(collectorsOf)[domain.HashSecret(posthogKey)] = &domain.Collector{
		Kind: domain.KeyPublic, Environment: domain.Environment{Number: 7}, Modules: []domain.Module{domain.ModuleAnalytics, domain.ModuleErrors, domain.ModuleMetrics, domain.ModulePeople}, Origins: []string{"*"}, RetentionDays: 365,
	}
	return collect
}

// capture sends a body as an SDK of PostHog does, without the handler.
func capture(collect *Collect, target, media, body string) (*submission, error) {
	request := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	request.Header.Set("Content-Type", media)
	sub := &submission{}
	sub.reset(collect, &route.Response{ResponseWriter: httptest.NewRecorder()}, request, collectNoon())
	return sub, sub.runPostHog()
}

const captured = `{"event":"order","distinct_id":"ada","uuid":"u1","timestamp":"2026-11-20T09:59:00.000Z","properties":{"total":12,"$lib":"posthog-node","$lib_version":"5.0","$current_url":"https://shop.example/p?x=1","$session_id":"s1","$referrer":"$direct","$feature/x":true}}`

// TestPostHogBodies sends the same event in every form in which SDKs send it.
func TestPostHogBodies(t *testing.T) {
	t.Parallel()
	batch := `{"api_key":"` + posthogKey + `","batch":[` + captured + `],"sent_at":"2026-11-20T10:00:00Z"}`
	token := strings.Replace(captured, `"properties":{`, `"properties":{"token":"`+posthogKey+`",`, 1)
	single := `{"api_key":"` + posthogKey + `",` + captured[1:]
	form := url.Values{"data": {base64.StdEncoding.EncodeToString([]byte(single))}}.Encode()
	for name, sent := range map[string]struct{ target, media, body string }{
		"batch":             {"/batch/", "application/json", batch},
		"batch, gzip":       {"/batch/", "application/json", string(gzipped(t, batch))},
		"one":               {"/capture/", "application/json", single},
		"one, token inside": {"/e/?compression=gzip-js&_=1795168800000", "text/plain", string(gzipped(t, token))},
		"list":              {"/e/", "text/plain", "[" + token + "]"},
		"form":              {"/e/?beacon=1", "application/x-www-form-urlencoded", form},
		"key in address":    {"/i/v0/e/?api_key=" + posthogKey, "application/json", "[" + captured + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &logOf{}
			sub, err := capture(capturing(log), sent.target, sent.media, sent.body)
			if err != nil || len(log.events) != 1 || len(sub.rejected) != 0 {
				t.Fatalf("%v, %d events, rejected %v", err, len(log.events), sub.rejected)
			}
			event := log.events[0]
			if event.Name != "order" || event.DistinctId != "ada" || event.Id != "u1" || event.TsMs != 1795168800000-60_000 || event.SessionId != "s1" ||
				event.Library != "posthog-node/5.0" || event.Path != "/p" || event.Referrer != "" || string(event.Properties) != `{"total":12}` {
				t.Errorf("the event is %v", event)
			}
		})
	}
}

// TestPostHogEvents sends events that have a special meaning, and events that are not stored.
func TestPostHogEvents(t *testing.T) {
	t.Parallel()
	log := &logOf{}
	body := `{"api_key":"` + posthogKey + `","batch":[
		{"event":"$pageview","distinct_id":"dev-1","properties":{"$is_identified":false,"$pathname":"/a","utm_source":"news"}},
		{"event":"$pageleave","distinct_id":"dev-1","properties":{"$is_identified":false,"$prev_pageview_duration":2.5}},
		{"event":"$identify","distinct_id":"ada","properties":{"$anon_distinct_id":"dev-1","$set":{"plan":"pro"},"$set_once":{"plan":"free","$initial_referrer":"x"}}},
		{"event":"$create_alias","distinct_id":"ada","properties":{"alias":"lovelace"}},
		{"event":"$groupidentify","distinct_id":"ada","properties":{"$group_type":"company","$group_key":"acme","$group_set":{"name":"Acme"}}},
		{"event":"upgrade","distinct_id":17,"properties":{"$set":{"plan":"pro"}}},
		{"event":"$web_vitals","distinct_id":"ada","properties":{"$pathname":"/a","$web_vitals_LCP_value":1200.5,"$web_vitals_CLS_value":0.1}},
		{"event":"$exception","distinct_id":"ada","properties":{"$exception_list":[{"type":"TypeError","value":"x is null","mechanism":{"handled":false,"type":"onerror"},"stacktrace":{"frames":[{"filename":"a.js","function":"main","lineno":1},{"filename":"b.js","function":"fail","lineno":2,"in_app":true}]}}]}},
		{"event":"$autocapture","distinct_id":"ada"},{"event":"$feature_flag_called","distinct_id":"ada","properties":{"$feature_flag":"x"}},
		{"event":"","distinct_id":"ada"},{"event":5},{"event":"nobody"}]}`
	sub, err := capture(capturing(log), "/batch/", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	var names, codes []string
	for _, event := range log.events {
		names = append(names, event.Name+" "+event.DistinctId+"/"+event.AnonymousId)
	}
	slices.Sort(names)
	want := []string{"$alias ada/lovelace", "$identify 17/", "$identify ada/", "$identify ada/dev-1", "page_leave /dev-1", "page_view /dev-1", "upgrade 17/"}
	if !slices.Equal(names, want) {
		t.Errorf("the events are %q, want %q", names, want)
	}
	if len(log.points) != 2 || sub.accepted != len(want)+2+1 {
		t.Errorf("%d points, %d items accepted", len(log.points), sub.accepted)
	}
	for _, rejection := range sub.rejected {
		codes = append(codes, rejection.Code)
	}
	if !slices.Equal(codes, []string{"unsupported_event", "missing_value", "missing_value", "missing_value"}) {
		t.Errorf("rejected are %v", sub.rejected)
	}
	if len(sub.counts) != 1 || sub.counts[0].Signal != ingest.SignalFlags || sub.counts[0].Fate != ingest.FateDuplicate || sub.counts[0].Items != 1 {
		t.Errorf("counted are %+v", sub.counts)
	}
}

// TestPostHogKeys sends requests with missing or wrong keys.
func TestPostHogKeys(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"batch":[` + captured + `]}`, `{"api_key":"svc_pub_nobody","batch":[]}`, `{"api_key":"phc_abc","batch":[]}`, ``} {
		if _, err := capture(capturing(&logOf{}), "/batch/", "application/json", body); domain.CodeOf(err) != domain.CodeUnauthorized {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

// FuzzPostHog sends any body: the accepted items are within the limits, and refusals are known errors.
func FuzzPostHog(f *testing.F) {
	limitFuzzing(f)
	for _, body := range deepBodies(f) {
		f.Add(body)
	}
	f.Add(captured)
	f.Add(`[` + captured + `]`)
	f.Add(`{"batch":[` + captured + `,{"event":"$exception","properties":{"$exception_list":[{}]}},{"event":"$web_vitals","properties":{"$web_vitals_LCP_value":"x"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		log := &logOf{}
		sub, err := capture(capturing(log), "/e/?api_key="+posthogKey, "text/plain", body)
		if err != nil {
			if _, known := errors.AsType[*domain.Error](err); !known {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		if sub.accepted < len(log.events)+len(log.points) {
			t.Errorf("%d accepted, %d events, %d points", sub.accepted, len(log.events), len(log.points))
		}
		for _, e := range log.events {
			if e.Id == "" || e.Name == "" || event.Visitor(e.DistinctId, e.AnonymousId) == "" || e.SizeVT() > event.MaxEventBytes+64 {
				t.Errorf("accepted %v", e)
			}
		}
	})
}
