package main

import (
	"fmt"
	"net/url"
	"reflect"
	"testing"
	"time"
)

// TestPagesOfTheFeedHoldEveryEvent sends events of one instant and one id by several visitors and reads them with every
// page size.
func TestPagesOfTheFeedHoldEveryEvent(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	const visitors = 16
	at := time.Now().Add(-time.Hour)
	var items []map[string]any
	for n := range visitors {
		items = append(items, item("same", fmt.Sprint("u", n), "/", at))
	}
	s.send(items...)
	s.settled()
	for _, limit := range []int{1, 3, 10, visitors} {
		seen, query := map[any]bool{}, url.Values{"limit": {fmt.Sprint(limit)}}
		for {
			page := s.get(appPath + "/events?" + query.Encode())
			for _, row := range page["data"].([]any) {
				seen[row.(map[string]any)["distinctId"]] = true
			}
			cursor, more := page["nextCursor"].(string)
			if !more {
				break
			}
			query.Set("cursor", cursor)
		}
		if len(seen) != visitors {
			t.Errorf("pages of %d hold %d of %d events", limit, len(seen), visitors)
		}
	}
}

// visited is a page view of a visitor's session minutes after an instant.
func visited(visitor, session string, start time.Time, minutes int, agent string) map[string]any {
	page := item(fmt.Sprint(visitor, session, minutes, agent), visitor, "/", start.Add(time.Duration(minutes)*time.Minute))
	page["sessionId"], page["context"] = session, map[string]any{"userAgent": agent}
	return page
}

const (
	chrome  = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

// TestOneVisitorHasManyVisitsAtATime interleaves the pages of several visits of one visitor, as kiosks, shared logins
// and servers send them, with a restart in between.
func TestOneVisitorHasManyVisitsAtATime(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	const visits = 100
	start := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	for minute := range 4 {
		var items []map[string]any
		for n := range visits {
			items = append(items, visited("kiosk", fmt.Sprint("visit ", n), start, minute, chrome))
		}
		s.send(items...)
		if s.settled(); minute == 1 {
			s.stopped()
			s = startServer(t, dir, nil)
		}
	}
	got := s.overview()
	if got["sessions"] != float64(visits) || got["bounceRate"] != 0.0 || got["avgDurationMs"] != 180_000.0 {
		t.Errorf("%v sessions, bounce rate %v, %v ms; want %d, 0 and 180000", got["sessions"], got["bounceRate"], got["avgDurationMs"], visits)
	}
}

// TestBotsMakeVisitsOfTheirOwn lets a person and a bot share a visitor's session: the visits of people are the same as
// without the bot.
func TestBotsMakeVisitsOfTheirOwn(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	start := time.Now().Add(-3 * time.Hour)
	s.send(
		visited("v", "one", start, 0, crawler), visited("v", "one", start, 1, chrome), visited("v", "one", start, 2, chrome),
		visited("v", "two", start, 3, chrome),
	)
	s.settled()
	for query, want := range map[string][2]float64{"": {2, 0.5}, "&includeBots=true": {3, 2. / 3}} {
		got := s.get(appPath + "/analytics/overview?range=24h" + query)
		if got["sessions"] != want[0] || got["bounceRate"] != want[1] {
			t.Errorf("%q: %v sessions, bounce rate %v; want %v", query, got["sessions"], got["bounceRate"], want)
		}
	}
}

// TestEngagementIsADayAtMost sends engagement that no visit can have.
func TestEngagementIsADayAtMost(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	body := `{"items":[{"type":"event","name":"a","distinctId":"v","engagedMs":-5},{"type":"event","name":"b","distinctId":"v","engagedMs":86400001},` +
		`{"type":"event","name":"c","distinctId":"v","engagedMs":86400000},{"type":"event","name":"d","distinctId":"v","engagedMs":0}]}`
	got := object(t, s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Public, []byte(body), nil).body)
	rejected, _ := got["rejected"].([]any)
	if got["accepted"] != 2.0 || len(rejected) != 2 {
		t.Fatalf("got %v", got)
	}
	for _, one := range rejected {
		if row := one.(map[string]any); row["code"] != "invalid_value" || row["message"] != "engagedMs must be from 0 to 86400000, which is a day." {
			t.Errorf("got %v", row)
		}
	}
}

// TestAVisitKeepsWhereItCameFrom sends a visit that begins with a campaign, continues over pages reached within the
// site and by another campaign, and ends in a goal, with a restart in between. All of it counts for the first campaign.
func TestAVisitKeepsWhereItCameFrom(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	start := time.Now().Add(-2 * time.Hour)
	page := func(visitor string, minutes int, query, referrer string) map[string]any {
		p := item(fmt.Sprint(visitor, minutes), visitor, "/p", start.Add(time.Duration(minutes)*time.Minute))
		p["url"], p["referrer"] = "https://acme.example/p"+query, referrer
		return p
	}
	s.post(appPath+"/goals", `{"name":"Order","kind":"event","match":"order"}`)
	s.send(
		page("ada", 0, "?utm_source=News&utm_medium=email&utm_campaign=spring&gclid=g1", "https://mail.example/"),
		page("ada", 1, "", "https://acme.example/"),
		page("bob", 0, "", "https://acme.example/other"),
	)
	s.settled()
	s.stopped()
	s = startServer(t, dir, nil)
	s.send(
		page("ada", 2, "?utm_source=other&fbclid=f1", "https://www.facebook.com/"),
		map[string]any{"type": "event", "id": "order", "name": "order", "distinctId": "ada", "ts": start.Add(3 * time.Minute).UTC().Format(time.RFC3339Nano)},
		page("ada", 60, "", "https://www.bing.com/"), // another visit
	)
	s.settled()
	views := map[any]any{}
	for _, row := range s.get(appPath + "/analytics/breakdown?range=24h&dimension=source")["data"].([]any) {
		views[row.(map[string]any)["value"]] = row.(map[string]any)["pageviews"]
	}
	if want := (map[any]any{"news": 3.0, "bing": 1.0, "direct": 1.0}); !reflect.DeepEqual(views, want) {
		t.Errorf("page views by source: %v, want %v", views, want)
	}
	for filter, want := range map[string]float64{
		"source:news": 1, "medium:email": 1, "utm_campaign:spring": 1, "referrer_domain:mail.example": 1, "source:direct": 0, "utm_source:other": 0, "source:bing": 0,
	} {
		if got := s.get(appPath + "/analytics/overview?range=24h&filter=" + filter); got["conversions"] != want {
			t.Errorf("%s: %v conversions, want %v", filter, got["conversions"], want)
		}
	}
	for _, row := range s.feed() {
		if row["distinctId"] != "ada" || row["id"] == "ada60" {
			continue
		}
		click, _ := row["clickIds"].(map[string]any)
		if row["source"] != "news" || row["utmSource"] != "News" || row["referrer"] != "https://mail.example/" || click["gclid"] != "g1" || click["fbclid"] != nil {
			t.Errorf("%v came from %v, %v, %v, %v", row["id"], row["source"], row["utmSource"], row["referrer"], click)
		}
		if row["id"] == "ada2" && row["url"] != "https://acme.example/p?utm_source=other&fbclid=f1" {
			t.Errorf("the page's own address is %v", row["url"])
		}
	}
}
