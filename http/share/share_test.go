package share_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/filter"
	domainshare "svc/domain/share"
	"svc/http/share"
)

// everything turns all panels on.
func everything() domainshare.Share {
	return domainshare.Share{Pages: true, Campaigns: true, Locations: true, Browsers: true, PrivatePaths: []string{"/admin*"}}
}

// TestViews requests every parameter and unknown words, and checks the resulting reads.
func TestViews(t *testing.T) {
	preset := []string{
		"overview 30d production bots=false", "series 30d visitors day to 20 Nov",
		"top 30d path 100", "top 30d source 100", "top 30d country 10000", "top 30d device 100", "top 30d utm_source 100",
	}
	with := func(old, new string) []string {
		asked := slices.Clone(preset)
		for i := range asked {
			asked[i] = strings.Replace(asked[i], old, new, 1)
		}
		return asked
	}
	tests := map[string][]string{
		"": preset, "range=30d": preset, "granularity=day": preset, "metric=visitors": preset, "pages=path": preset, "unknown=1": preset,
		"range=12m": preset, "range=": preset, "range=custom:2026-01-01..2026-01-02": preset, "granularity=minute": preset, "metric=events": preset,
		"metric=conversions": preset, "compare=2": preset, "compare=true": preset, "compare": preset, "pages=title": preset, "sources=utm_source": preset,
		"campaigns=utm_term": preset, "locations=path": preset, "devices=country": preset, "filter=path:/a": preset, "env=staging": preset,
		"includeBots=true": preset, "%zz&metric=%00": preset, "range=30d&range=7d": preset, "RANGE=7d": preset, "range=7D": preset,
		"granularity=hour": with("visitors day", "visitors hour"), "granularity=week": with("visitors day", "visitors week"),
		"granularity=month": with("visitors day", "visitors month"),
		"metric=pageviews":  with("visitors day", "pageviews day"), "metric=sessions": with("visitors day", "sessions day"),
		"pages=entry_path": with("d path", "d entry_path"), "pages=exit_path": with("d path", "d exit_path"),
		"sources=medium": with("source 100", "medium 100")[:3:3], "sources=referrer_domain": nil,
		"campaigns=utm_medium": with("utm_source", "utm_medium"), "campaigns=utm_campaign": with("utm_source", "utm_campaign"),
		"locations=region": with("country", "region"), "locations=city": with("country", "city"),
		"devices=browser": with("device", "browser"), "devices=os": with("device", "os"),
		"compare=1": append(slices.Clone(preset), "series 30d visitors day to 21 Oct"),
	}
	tests["sources=medium"] = slices.Clone(preset)
	tests["sources=medium"][3] = "top 30d medium 100"
	tests["sources=referrer_domain"] = slices.Clone(preset)
	tests["sources=referrer_domain"][3] = "top 30d referrer_domain 100"
	for span, grain := range map[string]string{"24h": "hour", "7d": "day", "90d": "week"} {
		asked := slices.Clone(preset)
		for i := range asked {
			asked[i] = strings.Replace(strings.Replace(asked[i], "30d", span, 1), "visitors day", "visitors "+grain, 1)
		}
		tests["range="+span] = asked
	}
	for query, want := range tests {
		t.Run(query, func(t *testing.T) {
			w := open(t, everything())
			response := w.get(t, "/s/"+pageID+"?"+query)
			asked := w.questions()
			slices.Sort(asked)
			slices.Sort(want)
			if response.Code != http.StatusOK || !slices.Equal(asked, want) {
				t.Errorf("%d, asked\n%q\nwant\n%q", response.Code, asked, want)
			}
		})
	}
}

// TestPrivatePanels requests the owner's private data: nothing is read, and the choices after the first one are not
// offered.
func TestPrivatePanels(t *testing.T) {
	w := open(t, domainshare.Share{})
	body := w.get(t, "/s/"+pageID+"?pages=entry_path&campaigns=utm_medium&locations=city&devices=browser&sources=medium").Body.String()
	asked := w.questions()
	slices.Sort(asked)
	want := []string{"overview 30d production bots=false", "series 30d visitors day to 20 Nov", "top 30d device 100", "top 30d medium 100"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if got := strings.Count(body, "Not shared."); got != 3 {
		t.Errorf("%d panels are not shared, want 3", got)
	}
	for _, hidden := range []string{"Entry page", "UTM", "City", "Browser", "/pricing", "newsletter", "Germany", "Firefox"} {
		if strings.Contains(body, hidden) {
			t.Errorf("the page holds %q", hidden)
		}
	}
	for _, shown := range []string{"Pages", "Sources", "Campaigns", "Locations", "Devices", "organic", "Desktop"} {
		if !strings.Contains(body, shown) {
			t.Errorf("the page lacks %q", shown)
		}
	}
}

// TestContent checks the content of a page.
func TestContent(t *testing.T) {
	w := open(t, everything())
	body := w.get(t, "/s/"+pageID+"?compare=1").Body.String()
	for _, shown := range []string{
		"<h1>Web &amp; &lt;Co&gt;</h1>", "21 Oct – 20 Nov 2026", "Europe/Berlin", `title="12,345">12.3k<`, `title="34,567">34.6k<`, ">2.3<", ">43%<", ">1m 35s<",
		`<span class="hidden">up</span> 23%`, `<span class="hidden">down</span> 50%`, "from 10k", "/pricing", "/&lt;script&gt;", "Germany", ">Other<", ">XX<", "newsletter",
		"Fri 20 Nov (in part)", "<title>Sat 21 Nov", `<meta name="robots" content="noindex">`, "Unknown",
	} {
		if shown == "<title>Sat 21 Nov" {
			if strings.Contains(body, shown) {
				t.Error("the page names a day after today")
			}
			continue
		}
		if !strings.Contains(body, shown) {
			t.Errorf("the page lacks %q", shown)
		}
	}
	for _, hidden := range []string{"/admin", "ada@", "/reset", "9f8e7d", "France", "Norway", "acme", "/<script>", "utm_term", "app_", "env_"} {
		if strings.Contains(body, hidden) {
			t.Errorf("the page holds %q", hidden)
		}
	}
	if other := regexp.MustCompile(`Other</span></th><td><data value="(\d+)"`).FindStringSubmatch(body); len(other) != 2 || other[1] != "5" {
		t.Errorf("the other places are %q, want 5 visitors", other)
	}
	for _, address := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if !strings.HasPrefix(address[1], "/s/"+pageID) && !strings.HasPrefix(address[1], "data:") && !strings.HasPrefix(address[1], "#") {
			t.Errorf("the page leads to %q", address[1])
		}
	}
}

// TestOtherPlacesAreAllOthers adds up more small places than a panel of words reads.
func TestOtherPlacesAreAllOthers(t *testing.T) {
	w := open(t, everything())
	rows := make([]share.Row, 500)
	for i := range rows {
		rows[i] = share.Row{Value: fmt.Sprintf("City %d", i), Visitors: 4}
	}
	w.rows[filter.DimCity] = rows
	body := w.get(t, "/s/"+pageID+"?locations=city").Body.String()
	if !strings.Contains(body, `>Other</span></th><td><data value="2,000" title="2,000">2k<`) {
		t.Errorf("the page lacks the sum of the others: %s", body)
	}
}

// TestASlashBehindALink reads the page with a trailing slash, as people paste links.
func TestASlashBehindALink(t *testing.T) {
	settings := everything()
	settings.LegacyLink = true
	w := open(t, settings)
	for _, base := range []string{"/s/" + pageID, "/embed/" + pageID, "/s/" + legacy} {
		with, without := w.get(t, base+"/?range=7d"), w.get(t, base+"?range=7d")
		if with.Code != http.StatusOK || with.Body.String() != without.Body.String() {
			t.Errorf("%s/: %d %s", base, with.Code, with.Body)
		}
	}
}

// TestEveryLinkLeadsToItsView follows all links of a page.
func TestEveryLinkLeadsToItsView(t *testing.T) {
	for _, base := range []string{"/s/" + pageID, "/embed/" + pageID, "/s/" + legacy, "/embed/" + legacy} {
		settings := everything()
		settings.LegacyLink = true
		w := open(t, settings)
		body := w.get(t, base+"?range=7d&metric=sessions&compare=1&pages=exit_path").Body.String()
		links := regexp.MustCompile(`href="(/[^"#]*)(#[a-z]+)?"`).FindAllStringSubmatch(body, -1)
		if len(links) < 25 {
			t.Errorf("%s has %d links", base, len(links))
		}
		for _, link := range links {
			path := strings.ReplaceAll(link[1], "&amp;", "&")
			got := w.get(t, path)
			outside := strings.HasPrefix(base, "/embed/") && strings.HasPrefix(path, "/s/")
			if got.Code != http.StatusOK || !outside && !strings.HasPrefix(path, base) {
				t.Errorf("%s leads to %s: %d", base, path, got.Code)
			}
		}
	}
}

func TestHeads(t *testing.T) {
	w := open(t, everything())
	hash := func(body, tag string) string {
		_, rest, _ := strings.Cut(body, "<"+tag+">")
		content, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(content))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	for path, frames := range map[string]string{
		"/s/" + pageID: "'none'", "/embed/" + pageID: "*", "/s/" + strings.Repeat("f", 24): "'none'", "/embed/" + strings.Repeat("f", 24): "*",
	} {
		response := w.get(t, path)
		body, head := response.Body.String(), response.Header()
		script := "'sha256-"
		if response.Code == http.StatusOK {
			script = hash(body, "script")
		}
		policy := head.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'; ", "style-src " + hash(body, "style") + "; ", "script-src " + script, "base-uri 'none'; form-action 'none'; frame-ancestors " + frames} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if got, want := head.Get("X-Frame-Options"), map[string]string{"'none'": "DENY", "*": ""}[frames]; got != want {
			t.Errorf("%s: X-Frame-Options is %q, want %q", path, got, want)
		}
		for name, want := range map[string]string{
			"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Content-Type": "text/html; charset=utf-8", "Vary": "Accept-Encoding", "Set-Cookie": "", "Etag": "",
		} {
			if got := head.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// TestWhatIsNotThereReadsAlike compares the answers of all kinds of missing pages.
func TestWhatIsNotThereReadsAlike(t *testing.T) {
	w := open(t, domainshare.Share{})
	want := w.get(t, "/s/"+strings.Repeat("0", 24))
	if want.Code != http.StatusNotFound || !strings.Contains(want.Body.String(), "Nothing is shared here") {
		t.Fatalf("%d %s", want.Code, want.Body)
	}
	same := func(path string) {
		t.Helper()
		got := w.get(t, path)
		got.Header().Del("X-Request-Id")
		want.Header().Del("X-Request-Id")
		if got.Code != want.Code || got.Body.String() != want.Body.String() || strings.HasPrefix(path, "/s/") && !sameHead(got.Header(), want.Header()) {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
	for _, path := range []string{
		"/s/x", "/s/" + strings.ToUpper(pageID), "/s/" + pageID + "0", "/s/" + pageID[1:], "/s/acme/web", "/s/acme/nothing", "/s/no/web", "/s/" + pageID + "/x",
		"/embed/x", "/embed/acme/web", "/s/x?range=7d", "/s/x/", "/s/acme/web/", "/embed/x/",
	} {
		same(path)
	}
	without := *w.Share(pageID)
	without.App.Modules = []domain.Module{domain.ModuleErrors}
	w.pages[pageID] = &without
	same("/s/" + pageID)
	w.disable()
	same("/s/" + pageID)
	same("/s/" + pageID + "/")
	same("/embed/" + pageID)
	if asked := w.questions(); len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
}

func sameHead(a, b http.Header) bool {
	return slices.EqualFunc([]http.Header{a}, []http.Header{b}, func(x, y http.Header) bool {
		for name := range x {
			if x.Get(name) != y.Get(name) {
				return false
			}
		}
		return len(x) == len(y)
	})
}

func TestEncodingsAndMethods(t *testing.T) {
	w := open(t, everything())
	plain := w.get(t, "/s/"+pageID)
	for accepted, want := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "deflate": false, "gzip;q=0": false, "identity": false, "": false} {
		got := w.send(t, http.MethodGet, "/s/"+pageID, map[string]string{"Accept-Encoding": accepted})
		body := got.Body.Bytes()
		if compressed := got.Header().Get("Content-Encoding") == "gzip"; compressed != want {
			t.Errorf("%q: compressed %t, want %t", accepted, compressed, want)
			continue
		} else if compressed {
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(body, plain.Body.Bytes()) {
			t.Errorf("%q: another page", accepted)
		}
	}
	if size := plain.Body.Len(); size > 100_000 {
		t.Errorf("the page has %d bytes", size)
	}
	if got := w.send(t, http.MethodHead, "/s/"+pageID, nil); got.Code != http.StatusOK {
		t.Errorf("HEAD: %d", got.Code)
	}
	if got := w.send(t, http.MethodPost, "/s/"+pageID, nil); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %q", got.Code, got.Header().Get("Allow"))
	}
}
