package domain_test

import (
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/metric"
)

func TestExclusions(t *testing.T) {
	key, now := []byte("key"), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var none domain.Exclusions
	rules, problems := none.Replace(key, "app_1", []domain.ExclusionItem{
		{Kind: domain.ExcludeAddress, Value: "203.0.113.7", Label: "Office"},
		{Kind: domain.ExcludeAddress, Value: "2001:db8::/48"},
		{Kind: domain.ExcludeHostname, Value: "*.Staging.example"},
		{Kind: domain.ExcludePath, Value: "/admin/*"},
		{Kind: domain.ExcludeUserAgent, Value: "Pingdom"},
	}, now)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, item := range rules.Items {
		if strings.Contains(item.Value+item.Hash+item.ID, "203.0.113") {
			t.Errorf("an address is kept: %+v", item)
		}
	}
	set := rules.Compile("app_1")
	for name, tc := range map[string]struct {
		address, agent, url, path string
		want                      domain.ExclusionKind
	}{
		"a visitor":          {"198.51.100.1", "Firefox", "https://shop.example/", "/", ""},
		"the office":         {"203.0.113.7", "Firefox", "https://shop.example/", "/", domain.ExcludeAddress},
		"mapped":             {"::ffff:203.0.113.7", "", "", "", domain.ExcludeAddress},
		"its neighbour":      {"203.0.113.8", "", "", "", ""},
		"a network":          {"2001:db8::1:2:3", "", "", "", domain.ExcludeAddress},
		"another network":    {"2001:db9::1", "", "", "", ""},
		"a host":             {"", "", "https://a.staging.example/x", "/x", domain.ExcludeHostname},
		"the host above":     {"", "", "https://staging.example/x", "/x", ""},
		"a path":             {"", "", "https://shop.example/admin/x", "/admin/x", domain.ExcludePath},
		"a path beside":      {"", "", "", "/administration", ""},
		"a robot":            {"", "Mozilla (pingdom.com_bot)", "", "", domain.ExcludeUserAgent},
		"what is no address": {"office", "", "", "", ""},
	} {
		if got := set.Reason(key, tc.address, tc.agent, event.HostOf(tc.url), tc.path); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if rules.Compile("app_2").Reason(key, "203.0.113.7", "", "", "") != "" || set.Reason([]byte("other"), "203.0.113.7", "", "", "") != "" {
		t.Error("a hash holds for another application or key")
	}
	kept, problems := rules.Replace(key, "app_1", []domain.ExclusionItem{{ID: rules.Items[0].ID, Label: "Home"}}, now)
	if len(problems) > 0 || len(kept.Items) != 1 || kept.Items[0].Hash != rules.Items[0].Hash || kept.Items[0].Label != "Home" {
		t.Errorf("%+v, %v", kept, problems)
	}
	if none.Compile("app_1").Reason(key, "203.0.113.7", "", "", "") != "" {
		t.Error("no rules exclude something")
	}
}

func TestVitalsAreJudged(t *testing.T) {
	bins := metric.VitalBins{Totals: metric.Totals{Min: 1000, Max: 5000}}
	for _, value := range []float64{1000, 2000, 3000, 5000} {
		bins.Keys, bins.Counts = append(bins.Keys, metric.SketchKey(value)), append(bins.Counts, 1)
	}
	score := bins.Score("LCP")
	if score.Samples != 4 || score.Good != 0.5 || score.Poor != 0.25 || score.Rating != metric.VitalFair || score.P75 < 2970 || score.P75 > 3030 {
		t.Errorf("%+v", score)
	}
	if (&metric.VitalBins{}).Score("LCP") != nil {
		t.Error("nothing is judged")
	}
	for agent, want := range map[string]string{
		"": "", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148": "mobile", "Mozilla/5.0 (iPad; CPU OS 18_0)": "tablet",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) Mobile Safari": "mobile", "Mozilla/5.0 (Linux; Android 15; Tab)": "tablet", "Mozilla/5.0 (X11; Linux x86_64)": "desktop",
	} {
		if got := metric.VitalDevice(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

func TestJourneysAreFolded(t *testing.T) {
	links := []analytics.JourneyLink{
		{Step: 1, To: "/a", Sessions: 5},
		{Step: 1, To: "/b", Sessions: 3},
		{Step: 1, To: "/c", Sessions: 2},
		{Step: 1, End: true, Sessions: 9},
		{Step: 2, Value: "/b", To: "/d", Sessions: 3},
		{Step: 2, Value: "/c", To: "/d", Sessions: 1},
		{Step: 2, Value: "/a", End: true, Sessions: 5},
	}
	want := []analytics.JourneyLink{
		{Step: 1, End: true, Sessions: 9},
		{Step: 1, Other: true, Sessions: 5},
		{Step: 1, To: "/a", Sessions: 5},
		{Step: 2, Value: "/a", End: true, Sessions: 5},
		{Step: 2, FromOther: true, To: "/d", Sessions: 4},
	}
	got := analytics.FoldJourneys(links, 1)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}
