package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/importer"
)

// recounted holds the counts of a simple independent reading of the log. It shares no code with the service.
type recounted struct {
	sent, skipped, malformed int
	paths, days, referrers   map[string]int
	visitors                 map[string]bool
}

var (
	combined = regexp.MustCompile(`^(\S+) \S+ \S+ \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"\s*$`)
	static   = regexp.MustCompile(`(?i)\.(png|jpg|jpeg|gif|ico|svg|webp|css|js|map|woff|woff2|ttf|eot|mp4|webm|pdf|zip|gz|tar|tgz|rpm|deb|jar|exe|dmg|xml|txt|json|rss|atom)$`)
)

// visit is a visitor's present visit: all its pages have the referrer of the first one.
type visit struct {
	last     time.Time
	referrer string
}

// recount reads the log and shifts its days so that its last line falls at end.
func recount(t *testing.T, file string, end time.Time) recounted {
	t.Helper()
	content, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	unzip, err := gzip.NewReader(content)
	if err != nil {
		t.Fatal(err)
	}
	var fields [][]string
	out := recounted{paths: map[string]int{}, days: map[string]int{}, referrers: map[string]int{}, visitors: map[string]bool{}}
	scanner := bufio.NewScanner(unzip)
	scanner.Buffer(nil, 1<<20)
	var last time.Time
	for scanner.Scan() {
		match := combined.FindStringSubmatch(scanner.Text())
		if match == nil {
			out.malformed++
			continue
		}
		if last, err = time.Parse("02/Jan/2006:15:04:05 -0700", match[2]); err != nil {
			t.Fatal(err)
		}
		fields = append(fields, match)
	}
	shift := end.Sub(last)
	visits := map[string]visit{}
	for _, match := range fields {
		request := strings.Split(match[3], " ")
		path, _, _ := strings.Cut(request[min(1, len(request)-1)], "?")
		if request[0] != "GET" || match[4] != "200" && match[4] != "304" || static.MatchString(path) {
			out.skipped++
			continue
		}
		out.sent++
		out.paths[path]++
		at, _ := time.Parse("02/Jan/2006:15:04:05 -0700", match[2])
		out.days[at.Add(shift).UTC().Format(time.DateOnly)]++
		visitor := sha256.Sum256([]byte(match[1] + "\n" + match[6]))
		name := hex.EncodeToString(visitor[:])[:16]
		out.visitors[name] = true
		current := visits[name]
		if at.Sub(current.last) > 30*time.Minute {
			current.referrer = ""
			if referrer, err := url.Parse(match[5]); err == nil && referrer.Host != "" {
				current.referrer = strings.TrimPrefix(strings.ToLower(referrer.Hostname()), "www.")
			}
		}
		if at.After(current.last) {
			current.last = at
		}
		visits[name] = current
		if current.referrer != "" {
			out.referrers[current.referrer]++
		}
	}
	return out
}

// top returns the names with the highest counts.
func top(counts map[string]int, n int) []string {
	names := slices.Collect(maps.Keys(counts))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// TestTheAccessLogsNumbers replays the 10,000 lines of a real web server's log through the ingest path and compares the
// API's answers with a recount.
func TestTheAccessLogsNumbers(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	end := time.Now().UTC().Truncate(time.Second).Add(-2 * time.Hour)
	want := recount(t, "testdata/access.log.gz", end)
	var stdout bytes.Buffer
	args := []string{"access-log", "testdata/access.log.gz", "--url", s.boot.URL, "--key", s.boot.Keys["production"].Secret, "--align-end", end.Format(time.RFC3339)}
	for round := range 2 {
		stdout.Reset()
		if err := importer.Run(context.Background(), args, &stdout, &stdout); err != nil {
			t.Fatalf("import %d: %v\n%s", round, err, stdout.String())
		}
		for name, count := range map[string]int{"sent": want.sent, "skipped": want.skipped, "malformed": want.malformed, "rejected": 0} {
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s\s+%d$`, name, count)).MatchString(stdout.String()) {
				t.Errorf("import %d does not report %s %d:\n%s", round, name, count, stdout.String())
			}
		}
	}
	s.settled()

	overview := func(query string) map[string]any { return s.get(appPath + "/analytics/overview?range=7d" + query) }
	all := overview("&includeBots=true")
	if all["pageviews"] != float64(want.sent) || all["uniqueVisitors"] != float64(len(want.visitors)) {
		t.Errorf("the overview has %v page views of %v visitors, the log %d of %d", all["pageviews"], all["uniqueVisitors"], want.sent, len(want.visitors))
	}
	rows := s.feed()
	bots, paths := 0, map[string]int{}
	for _, row := range rows {
		paths[row["path"].(string)]++
		if row["isBot"] == true {
			bots++
		}
	}
	if !maps.Equal(paths, want.paths) {
		t.Errorf("the feed's paths differ from the log's")
	}
	if people := overview("")["pageviews"]; bots == 0 || people != float64(want.sent-bots) {
		t.Errorf("%v page views of people, %d of bots, %d in all", people, bots, want.sent)
	}
	for _, path := range top(want.paths, 15) {
		if got := overview("&includeBots=true&filter=path:" + url.QueryEscape(path))["pageviews"]; got != float64(want.paths[path]) {
			t.Errorf("%s has %v page views, the log %d", path, got, want.paths[path])
		}
	}
	for _, domain := range top(want.referrers, 10) {
		if got := overview("&includeBots=true&filter=referrer_domain:" + domain)["pageviews"]; got != float64(want.referrers[domain]) {
			t.Errorf("%s referred %v page views, in the log %d", domain, got, want.referrers[domain])
		}
	}
	days := map[string]int{}
	for _, point := range s.get(appPath + "/analytics/timeseries?range=7d&metric=pageviews&interval=day&includeBots=true")["points"].([]any) {
		p := point.(map[string]any)
		if value := int(p["value"].(float64)); value > 0 {
			days[p["t"].(string)[:10]] = value
		}
	}
	if !maps.Equal(days, want.days) {
		t.Errorf("page views by day are %v, in the log %v", days, want.days)
	}
	checkSharedPage(t, s)
}

// checkSharedPage publishes the page and looks for the API's numbers on it.
func checkSharedPage(t *testing.T, s *server) {
	t.Helper()
	published := s.call("POST", "/console/api/v1/apps/acme/web/share", s.session(), []byte(`{"pages":true}`), nil)
	if published.status != 201 {
		t.Fatalf("publishing the page: %d %s", published.status, published.body)
	}
	page := s.call("GET", object(t, published.body)["path"].(string)+"?range=7d", "", nil, nil)
	if page.status != 200 {
		t.Fatalf("reading the page: %d %s", page.status, page.body)
	}
	body := regexp.MustCompile(`(\d),(\d)`).ReplaceAll(page.body, []byte("$1$2")) // the page separates thousands
	numbers := s.get(appPath + "/analytics/overview?range=7d")
	for _, metric := range []string{"visitors", "pageviews", "sessions"} {
		if shown := fmt.Sprintf(`title="%v"`, numbers[metric]); !strings.Contains(string(body), shown) {
			t.Errorf("the page does not show %v %s as %s", numbers[metric], metric, shown)
		}
	}
	for _, row := range s.get(appPath + "/analytics/breakdown?range=7d&dimension=path&limit=5")["data"].([]any) {
		row := row.(map[string]any)
		line := fmt.Sprintf(`(?s)>%s</span></th><td><data value="%v"`, regexp.QuoteMeta(html.EscapeString(row["value"].(string))), row["visitors"])
		if !regexp.MustCompile(line).Match(body) {
			t.Errorf("the page does not show %v visitors of %v", row["visitors"], row["value"])
		}
	}
}
