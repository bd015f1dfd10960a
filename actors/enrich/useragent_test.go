package enrich

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	const (
		apple  = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
		webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
	)
	tests := map[string]Client{
		"":  {},
		"-": {},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit + " Chrome/126.0.0.0 Safari/537.36":                                                            {"desktop", "Chrome", "126.0.0.0", "Windows", "10", false},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit + " Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.87":                                          {"desktop", "Edge", "126.0.2592.87", "Windows", "10", false},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0":                                                                   {"desktop", "Firefox", "127.0", "Windows", "10", false},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit + " Chrome/124.0.0.0 YaBrowser/24.6.0.0 Safari/537.36":                                         {"desktop", "Yandex Browser", "24.6.0.0", "Windows", "10", false},
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) " + webkit + " Chrome/126.0.0.0 Safari/537.36 OPR/112.0.0.0":                                        {"desktop", "Opera", "112.0.0.0", "macOS", "10.15.7", false},
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) " + apple + " Version/17.5 Safari/605.1.15":                                                         {"desktop", "Safari", "17.5", "macOS", "10.15.7", false},
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) " + webkit + " Chrome/126.0.0.0 Safari/537.36":                                                             {"desktop", "Chrome", "126.0.0.0", "ChromeOS", "14541.0.0", false},
		"Mozilla/5.0 (X11; Linux x86_64) " + webkit + " Slack/4.39 Chrome/126 Electron/31.0 Safari/537.36":                                                   {"desktop", "Electron", "31.0", "Linux", "", false},
		"Mozilla/5.0 (Windows NT 6.3; WOW64; Trident/7.0; rv:11.0) like Gecko":                                                                               {"desktop", "Internet Explorer", "11.0", "Windows", "8.1", false},
		"Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; Tablet PC 2.0)":                                                                     {"desktop", "Internet Explorer", "8.0", "Windows", "7", false},
		"Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.16":                                                                                   {"desktop", "Opera", "12.16", "Windows", "7", false},
		"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; en) Opera 8.50":                                                                                  {"desktop", "Opera", "8.50", "Windows", "XP", false},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) " + apple + " Version/17.5 Mobile/15E148 Safari/604.1":                                     {"mobile", "Safari", "17.5", "iOS", "17.5.1", false},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) " + apple + " CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1":                                {"mobile", "Chrome", "126.0.6478.54", "iOS", "17.5", false},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) " + apple + " FxiOS/127.0 Mobile/15E148 Safari/605.1.15":                                     {"mobile", "Firefox", "127.0", "iOS", "17.5", false},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) " + apple + " Mobile/15E148 [FBAN/FBIOS;FBAV/466.0.0.34.108;FBDV/iPhone14,5]":                {"mobile", "Facebook App", "466.0.0.34.108", "iOS", "17.5", false},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) " + apple + " Mobile/21E219 Instagram 325.0.3.34.90 (iPhone13,2)":                            {"mobile", "Instagram App", "325.0.3.34.90", "iOS", "17.4", false},
		"Mozilla/5.0 (iPod; CPU iPhone OS 6_1_5 like Mac OS X) AppleWebKit/536.26 (KHTML, like Gecko) Version/6.0 Mobile/10B400 Safari/8536.25":              {"mobile", "Safari", "6.0", "iOS", "6.1.5", false},
		"Mozilla/5.0 (iPad; CPU OS 7_0_4 like Mac OS X) AppleWebKit/537.51.1 (KHTML, like Gecko) Version/7.0 Mobile/11B554a Safari/9537.53":                  {"tablet", "Safari", "7.0", "iOS", "7.0.4", false},
		"Mozilla/5.0 (Linux; Android 10; K) " + webkit + " Chrome/127.0.0.0 Mobile Safari/537.36":                                                            {"mobile", "Chrome", "127.0.0.0", "Android", "10", false},
		"Mozilla/5.0 (Linux; Android 14; SM-X910) " + webkit + " SamsungBrowser/25.0 Chrome/121.0.0.0 Safari/537.36":                                         {"tablet", "Samsung Browser", "25.0", "Android", "14", false},
		"Mozilla/5.0 (Linux; Android 15; CPH2581 Build/AP3A.240617.008; wv) " + webkit + " Version/4.0 Chrome/131.0.0.0 Mobile Safari/537.36":                {"mobile", "Chrome", "131.0.0.0", "Android", "15", false},
		"Mozilla/5.0 (Linux; Android 13; CUBOT_X18 Build/TP1A) " + webkit + " Chrome/120.0.0.0 Mobile Safari/537.36":                                         {"mobile", "Chrome", "120.0.0.0", "Android", "13", false},
		"Mozilla/5.0 (Linux; Android 14; Pixel 7) " + webkit + " Version/4.0 Chrome/125 Mobile Safari/537.36 musical_ly_2023405020 BytedanceWebview/d8a21c6": {"mobile", "TikTok App", "2023405020", "Android", "14", false},
		"Mozilla/5.0 (Android 13; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0":                                                                               {"mobile", "Firefox", "127.0", "Android", "13", false},
		"Mozilla/5.0 (Mobile; Nokia_8110_4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5.1":                                                                   {"mobile", "Firefox", "48.0", "KaiOS", "2.5.1", false},
		"Mozilla/5.0 (compatible; MSIE 10.0; Windows Phone 8.0; Trident/6.0; IEMobile/10.0; ARM; Touch; NOKIA; Lumia 920)":                                   {"mobile", "Internet Explorer", "10.0", "Windows Phone", "8.0", false},
		"Mozilla/5.0 (Linux; U; en-us; KFAPWI Build/JDQ39) AppleWebKit/535.19 (KHTML, like Gecko) Silk/3.13 Safari/535.19 Silk-Accelerated=true":             {"tablet", "Silk", "3.13", "Android", "", false},
		"Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/6.0 TV Safari/538.1":                                         {"tv", "Safari", "6.0", "Tizen", "6.0", false},
		"Mozilla/5.0 (Web0S; Linux/SmartTV) " + webkit + " Chrome/79.0.3945.79 Safari/537.36 WebAppManager":                                                  {"tv", "Chrome", "79.0.3945.79", "webOS", "", false},
		"Mozilla/5.0 (PlayStation; PlayStation 5/2.26) " + apple + " Version/13.0 Safari/605.1.15":                                                           {"console", "PlayStation", "", "PlayStation", "", false},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox Series X) " + webkit + " Chrome/110.0.0.0 Safari/537.36 Edge/44.18363.8131":                    {"console", "Edge", "44.18363.8131", "Windows", "10", false},
		"MyApp/3.2 CFNetwork/1496.0.7 Darwin/23.5.0":                                                                                                         {"mobile", "", "", "iOS", "", false},
		"MyApp/1.0 (Android 14; Pixel 8) okhttp/4.12.0":                                                                                                      {"mobile", "", "", "Android", "14", false},
		"okhttp/4.12.0": {},
		"&as_qdr=all":   {},
		"Mozilla/5.0":   {"other", "", "", "", "", true},
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":                                                                                                         {"other", "Googlebot", "2.1", "", "", true},
		"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) " + webkit + " Chrome/126.0.6478.126 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": {"mobile", "Googlebot", "2.1", "Android", "6.0.1", true},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit + " HeadlessChrome/119.0.0.0 Safari/537.36":                                                                                  {"desktop", "Headless Chrome", "119.0.0.0", "Windows", "10", true},
		"Mozilla/5.0 " + webkit + "; compatible; GPTBot/1.1; +https://openai.com/gptbot":                                                                                                   {"other", "GPTBot", "1.1", "", "", true},
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)":                                                                                                        {"other", "facebookexternalhit", "1.1", "", "", true},
		"UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/":                                                                                                                      {"other", "UniversalFeedParser", "4.2", "", "", true},
		"Tiny Tiny RSS/1.11 (http://tt-rss.org/)":                                                                                                                                          {"other", "Tiny Tiny RSS", "1.11", "", "", true},
		"Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)":                                                                                                        {"other", "Feedly", "1.0", "", "", true},
		"curl/8.5.0":             {"other", "curl", "8.5.0", "", "", true},
		"Wget/1.21.2":            {"other", "Wget", "1.21.2", "", "", true},
		"python-requests/2.31.0": {"other", "python-requests", "2.31.0", "", "", true},
		"Go-http-client/1.1":     {"other", "Go-http-client", "1.1", "", "", true},
		"Java/1.8.0_292":         {"other", "Java", "1.8.0.292", "", "", true},
		"Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)": {"other", "UptimeRobot", "2.0", "", "", true},
	}
	agents := NewUserAgents(1000)
	for ua, want := range tests {
		for _, source := range []string{"parsed", "remembered"} {
			if got := agents.Parse(ua); got != want {
				t.Errorf("%s, %s:\n got %+v\nwant %+v", ua, source, got, want)
			}
		}
	}
}

// TestParseWeblog checks one string of each kind of client that a web server log of May 2015 contains. The file has
// five columns: bot or person, device, browser and its version, system and its version, user agent.
func TestParseWeblog(t *testing.T) {
	lines, err := os.ReadFile("testdata/weblog2015.tsv")
	if err != nil {
		t.Fatal(err)
	}
	agents := NewUserAgents(10)
	for line := range strings.Lines(string(lines)) {
		line = strings.TrimSuffix(line, "\n")
		ua := line[strings.LastIndexByte(line, '\t')+1:]
		client, kind := agents.Parse(ua), "person"
		if client.Bot {
			kind = "bot"
		}
		got := fmt.Sprintf("%s\t%s\t%s %s\t%s %s\t%s", kind, client.Device,
			client.Browser, client.BrowserVersion, client.OS, client.OSVersion, ua)
		if got != line {
			t.Errorf("\n got %q\nwant %q", got, line)
		}
	}
}

func TestParseCutsLongStrings(t *testing.T) {
	agents := NewUserAgents(10)
	browser := "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0 "
	long := browser + strings.Repeat("x", maxLength-len(browser))
	if got := agents.Parse(long + " Googlebot/2.1"); got.Bot {
		t.Errorf("got %+v from what follows the cut", got)
	}
	if len(agents.recent) != 1 || agents.Parse(long) != agents.Parse(long+"y") || len(agents.recent) != 1 {
		t.Error("strings that are the same up to the cut are remembered apart")
	}
}

func TestParseForgets(t *testing.T) {
	const size = 64
	agents := NewUserAgents(size)
	for i := range 10 * size {
		agents.Parse(fmt.Sprintf("Firefox/%d.0", i))
		if held := len(agents.recent) + len(agents.earlier); held > size {
			t.Fatalf("got %d strings, want at most %d", held, size)
		}
	}
}

func TestParseRemembersWithoutAllocation(t *testing.T) {
	agents := NewUserAgents(10)
	if allocs := testing.AllocsPerRun(100, func() { agents.Parse(benchmarkAgent) }); allocs != 0 {
		t.Errorf("got %v allocations, want none", allocs)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(benchmarkAgent)
	f.Add("CrOS x86_64 (\xff; CrOS x86_64 1")
	f.Add("Mozilla/5.0 (iPhone; CPU iPhone OS 6_0 like Mac OS X) Mobile/10A5376e Safari/8536.25 (compatible; Googlebot/2.1)")
	f.Add("MSIE (Android Instagram [FBAN/;Windows Phone OS https://Opera Trident/7.0 rv:")
	agents := NewUserAgents(100)
	f.Fuzz(func(t *testing.T, ua string) {
		got := agents.Parse(ua)
		if text := got.Device + got.Browser + got.BrowserVersion + got.OS + got.OSVersion; !utf8.ValidString(text) {
			t.Errorf("%q: got invalid UTF-8 %q", ua, text)
		}
		if agents.Parse(ua) != got {
			t.Errorf("%q: the remembered answer differs from %+v", ua, got)
		}
	})
}

const benchmarkAgent = "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.107 Safari/537.36"

func BenchmarkParse(b *testing.B) {
	b.Run("cached", func(b *testing.B) {
		agents := NewUserAgents(4096)
		for i := range 1500 {
			agents.Parse(fmt.Sprintf("%s %d", benchmarkAgent, i))
		}
		b.ReportAllocs()
		for b.Loop() {
			agents.Parse(benchmarkAgent)
		}
	})
	b.Run("uncached", func(b *testing.B) {
		agents := NewUserAgents(2)
		b.ReportAllocs()
		for b.Loop() {
			agents.describe(benchmarkAgent)
		}
	})
	b.Run("uncached longest", func(b *testing.B) {
		agents := NewUserAgents(2)
		ua := benchmarkAgent + strings.Repeat(" .NET CLR 3.5.30729;", 20)
		b.ReportAllocs()
		for b.Loop() {
			agents.describe(ua)
		}
	})
}

func BenchmarkNewUserAgents(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewUserAgents(4096)
	}
}
