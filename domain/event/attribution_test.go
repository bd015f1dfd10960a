package event

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAttribute(t *testing.T) {
	type input struct {
		page, referrer string
		campaign       Campaign
	}
	tests := map[string]struct {
		in   input
		want Attribution
	}{
		"nothing": {input{}, Attribution{Source: "direct", Medium: "none"}},
		"no referrer": {
			input{page: "https://shop.example.com/a"},
			Attribution{Source: "direct", Medium: "none"},
		},
		"own host": {
			input{page: "https://www.Example.com:8443/a", referrer: "http://example.COM/b?utm_source=x"},
			Attribution{Source: "direct", Medium: "none"},
		},
		"other subdomain of the own domain": {
			input{page: "https://shop.example.com/", referrer: "https://blog.example.com/post"},
			Attribution{ReferrerDomain: "blog.example.com", Source: "blog.example.com", Medium: "referral"},
		},
		"unknown referrer": {
			input{page: "https://shop.example.com/", referrer: "https://user:pw@WWW.News.Example.org:8080/x#y"},
			Attribution{ReferrerDomain: "news.example.org", Source: "news.example.org", Medium: "referral"},
		},
		"campaign in the query": {
			input{page: "https://e.com/?a=1&utm_source=Spring+News&utm_medium=E-Mail&utm_campaign=M%C3%A4rz&utm_term=t&utm_content=c%2Fd#utm_source=no"},
			Attribution{
				Source: "spring news", Medium: "e-mail", UTMSource: "Spring News", UTMMedium: "E-Mail",
				UTMCampaign: "März", UTMTerm: "t", UTMContent: "c/d",
			},
		},
		"stated campaign wins": {
			input{
				page:     "https://e.com/?utm_source=a&utm_medium=b&utm_campaign=c&utm_term=d&utm_content=e",
				campaign: Campaign{Source: "A1", Medium: "B1", Name: "C1", Term: "D1", Content: "E1"},
			},
			Attribution{
				Source: "a1", Medium: "b1", UTMSource: "A1", UTMMedium: "B1",
				UTMCampaign: "C1", UTMTerm: "D1", UTMContent: "E1",
			},
		},
		"utm source alone keeps the implied medium": {
			input{page: "https://e.com/?utm_source=launch", referrer: "https://t.co/xyz"},
			Attribution{ReferrerDomain: "t.co", Source: "launch", Medium: "social", UTMSource: "launch"},
		},
		"utm medium alone keeps the implied source": {
			input{page: "https://e.com/?utm_medium=Paid", referrer: "https://www.bing.com/"},
			Attribution{ReferrerDomain: "bing.com", Source: "bing", Medium: "paid", UTMMedium: "Paid"},
		},
		"gclid outweighs the referrer": {
			input{page: "https://e.com/?gclid=Cj0", referrer: "https://www.youtube.com/"},
			Attribution{ReferrerDomain: "youtube.com", Source: "google", Medium: "cpc", ClickIDs: ClickIDs{GCLID: "Cj0"}},
		},
		"fbclid yields to a known network": {
			input{page: "https://e.com/?fbclid=Iw", referrer: "https://l.instagram.com/"},
			Attribution{ReferrerDomain: "l.instagram.com", Source: "instagram", Medium: "social", ClickIDs: ClickIDs{FBCLID: "Iw"}},
		},
		"fbclid alone": {
			input{page: "https://e.com/?fbclid=Iw"},
			Attribution{Source: "facebook", Medium: "social", ClickIDs: ClickIDs{FBCLID: "Iw"}},
		},
		"all click ids": {
			input{page: "/p?msclkid=m&ttclid=t&li_fat_id=l&twclid=w&fbclid=f"},
			Attribution{
				Source: "bing", Medium: "cpc",
				ClickIDs: ClickIDs{MSCLKID: "m", TTCLID: "t", LiFatID: "l", TWCLID: "w", FBCLID: "f"},
			},
		},
		"tiktok":   {input{page: "/?ttclid=t"}, Attribution{Source: "tiktok", Medium: "social", ClickIDs: ClickIDs{TTCLID: "t"}}},
		"linkedin": {input{page: "/?li_fat_id=l"}, Attribution{Source: "linkedin", Medium: "social", ClickIDs: ClickIDs{LiFatID: "l"}}},
		"twitter":  {input{page: "/?twclid=w"}, Attribution{Source: "twitter", Medium: "social", ClickIDs: ClickIDs{TWCLID: "w"}}},
		"first value that is not empty": {
			input{page: "/?utm_source=&utm_source=a&utm_source=b"},
			Attribution{Source: "a", Medium: "none", UTMSource: "a"},
		},
		"malformed escape is kept": {
			input{page: "/?utm_source=100%&utm_medium=%zz"},
			Attribution{Source: "100%", Medium: "%zz", UTMSource: "100%", UTMMedium: "%zz"},
		},
		"escaped bytes that are no UTF-8": {
			input{page: "/?utm_source=a%FFb"},
			Attribution{Source: "a\uFFFDb", Medium: "none", UTMSource: "a\uFFFDb"},
		},
		"referrer whose host is no domain name": {
			input{page: "https://e.com/", referrer: "https://" + strings.Repeat("a.", 1<<15)},
			Attribution{Source: "direct", Medium: "none"},
		},
		"M2: ref names the source": {
			input{page: "https://x.example/?ref=ProductHunt"},
			Attribution{Source: "producthunt", Medium: "none"},
		},
		"source names the source": {
			input{page: "https://x.example/?source=Newsletter&utm_medium=email", referrer: "https://www.google.com/"},
			Attribution{Source: "newsletter", Medium: "email", UTMMedium: "email", ReferrerDomain: "google.com"},
		},
		"utm_source, ref and source": {
			input{page: "https://x.example/?source=c&ref=b&utm_source=a"},
			Attribution{Source: "a", Medium: "none", UTMSource: "a"},
		},
		"ref and source": {
			input{page: "https://x.example/?source=c&ref=&ref=b"},
			Attribution{Source: "b", Medium: "none"},
		},
		"M4: a link copied out of HTML": {
			input{page: "https://x.example/?a=1&amp;utm_source=mail&AMP;amp;utm_medium=email&amp%3Butm_campaign=c"},
			Attribution{Source: "mail", Medium: "email", UTMSource: "mail", UTMMedium: "email", UTMCampaign: "c"},
		},
		"gbraid": {
			input{page: "https://x.example/?gbraid=g1", referrer: "https://news.example/"},
			Attribution{Source: "google", Medium: "cpc", ReferrerDomain: "news.example", ClickIDs: ClickIDs{GBRAID: "g1"}},
		},
		"wbraid": {
			input{page: "https://x.example/?wbraid=w1"},
			Attribution{Source: "google", Medium: "cpc", ClickIDs: ClickIDs{WBRAID: "w1"}},
		},
		"a referrer in Unicode": {
			input{page: "https://x.example/", referrer: "https://www.Müller.example/"},
			Attribution{Source: "xn--mller-kva.example", Medium: "referral", ReferrerDomain: "xn--mller-kva.example"},
		},
		"the own site in Unicode and in punycode": {
			input{page: "https://www.xn--mller-kva.example/", referrer: "https://müller.example/"},
			Attribution{Source: "direct", Medium: "none"},
		},
		"the own site in punycode and in Unicode": {
			input{page: "https://MÜLLER.example/", referrer: "https://xn--mller-kva.example/"},
			Attribution{Source: "direct", Medium: "none"},
		},
		"referrer without a host": {
			input{page: "https://e.com/", referrer: "about:client"},
			Attribution{Source: "direct", Medium: "none"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Attribute(test.in.page, test.in.referrer, test.in.campaign)
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestReferrerChannel(t *testing.T) {
	tests := map[string]channel{
		"https://www.google.com/":              {"google", "organic"},
		"https://www.google.co.uk/search?q=x":  {"google", "organic"},
		"http://www.google.com.br/url":         {"google", "organic"},
		"https://images.google.de/":            {"google", "organic"},
		"http://encrypted.google.com/":         {"google", "organic"},
		"https://docs.google.com/document":     {"docs.google.com", "referral"},
		"https://google.evil.example/":         {"google.evil.example", "referral"},
		"https://google.com.evil.net/":         {"google.com.evil.net", "referral"},
		"android-app://com.google.android.gm/": {"gmail", "email"},
		"https://mail.google.com/mail/u/0":     {"gmail", "email"},
		"https://gemini.google.com/app":        {"gemini", "ai"},
		"https://cn.bing.com/search":           {"bing", "organic"},
		"http://r.duckduckgo.com/l/":           {"duckduckgo", "organic"},
		"https://uk.search.yahoo.com/":         {"yahoo", "organic"},
		"https://search.yahoo.co.jp/":          {"yahoo", "organic"},
		"https://finance.yahoo.com/news":       {"finance.yahoo.com", "referral"},
		"https://mail.yahoo.com/":              {"yahoo-mail", "email"},
		"https://yandex.com.tr/search":         {"yandex", "organic"},
		"https://mail.yandex.ru/":              {"yandex-mail", "email"},
		"https://m.baidu.com/s":                {"baidu", "organic"},
		"https://search.naver.com/":            {"naver", "organic"},
		"https://search.seznam.cz/":            {"seznam", "organic"},
		"https://search.brave.com/":            {"brave", "organic"},
		"https://www.ecosia.org/":              {"ecosia", "organic"},
		"https://www.qwant.com/":               {"qwant", "organic"},
		"https://www.startpage.com/":           {"startpage", "organic"},
		"https://chatgpt.com/":                 {"chatgpt", "ai"},
		"https://www.perplexity.ai/search":     {"perplexity", "ai"},
		"https://copilot.microsoft.com/":       {"copilot", "ai"},
		"https://claude.ai/chat":               {"claude", "ai"},
		"https://lm.facebook.com/l.php":        {"facebook", "social"},
		"https://x.com/a/status/1":             {"twitter", "social"},
		"https://netflix.com/":                 {"netflix.com", "referral"},
		"https://old.reddit.com/r/golang":      {"reddit", "social"},
		"https://www.pinterest.co.uk/pin/1":    {"pinterest", "social"},
		"https://news.ycombinator.com/item":    {"hackernews", "social"},
		"https://mastodon.social/@a":           {"mastodon", "social"},
		"https://outlook.live.com/":            {"outlook", "email"},
		"http://localhost:3000/":               {"localhost", "referral"},
		"http://[2001:db8::1]:80/":             {"2001:db8::1", "referral"},
	}
	for referrer, want := range tests {
		got := Attribute("https://shop.example.com/", referrer, Campaign{})
		if got.Source != want.source || got.Medium != want.medium {
			t.Errorf("%s: got %s / %s, want %s / %s", referrer, got.Source, got.Medium, want.source, want.medium)
		}
	}
}

func TestPathAndHost(t *testing.T) {
	tests := []struct{ address, host, path string }{
		{"", "", "/"},
		{"https://Example.com", "example.com", "/"},
		{"https://example.com?q", "example.com", "/"},
		{"https://u:p@example.com:80/A%20b/?q=1#f", "example.com", "/A%20b/"},
		{"//cdn.example.com/x", "cdn.example.com", "/x"},
		{"///x", "", "///x"},
		{"file:///etc/x", "", "/etc/x"},
		{"/p/q?x=/y", "", "/p/q"},
		{"p/q", "", "p/q"},
		{"about:blank", "", "/"},
		{"http://[::1]:8080/", "::1", "/"},
		{"http://[::1", "::1", "/"},
		{":", "", ":"},
	}
	for _, test := range tests {
		if host, path := HostOf(test.address), PathOf(test.address); host != test.host || path != test.path {
			t.Errorf("%q: got %q %q, want %q %q", test.address, host, path, test.host, test.path)
		}
	}
}

func TestAttributeAllocatesNothing(t *testing.T) {
	allocs := testing.AllocsPerRun(100, func() { Attribute(benchmarkPage, "https://www.google.com/", Campaign{}) })
	if allocs != 0 {
		t.Errorf("got %v allocations, want none", allocs)
	}
}

// FuzzAttribute checks that no input breaks the scan and that it agrees with net/url for every input that net/url
// accepts.
func FuzzAttribute(f *testing.F) {
	f.Add("https://shop.example.com/p?utm_source=a+b&gclid=%41&x", "https://www.google.com/")
	f.Add("//u@h:1/p?utm_medium=%zz;", "http://[::1]:80/%2f?utm_term")
	f.Add("a:b?fbclid=1#?", "HTTPS://WWW.EXAMPLE.COM.")
	f.Add("/%?utm%5Fsource=1&&=", "://")
	f.Fuzz(func(t *testing.T, page, referrer string) {
		got := Attribute(page, referrer, Campaign{})
		if utf8.ValidString(page) && utf8.ValidString(referrer) && !validAttribution(got) {
			t.Fatalf("invalid UTF-8 out of valid input: %+q", got)
		}
		for _, address := range []string{page, referrer} {
			parsed, err := url.Parse(address)
			if err != nil || strings.ContainsAny(cutURL(address).authority, "%") {
				continue
			}
			if host := strings.ToLower(parsed.Hostname()); HostOf(address) != host {
				t.Errorf("host of %q: got %q, net/url %q", address, HostOf(address), host)
			}
			if path, _ := url.PathUnescape(cutURL(address).path); path != parsed.Path {
				t.Errorf("path of %q: got %q, net/url %q", address, path, parsed.Path)
			}
		}
		if parsed, err := url.Parse(page); err == nil {
			compareQuery(t, got, parsed.RawQuery)
		}
	})
}

func validAttribution(a Attribution) bool {
	return utf8.ValidString(a.ReferrerDomain + a.Source + a.Medium + a.UTMSource + a.UTMMedium + a.UTMCampaign +
		a.UTMTerm + a.UTMContent + a.ClickIDs.GCLID + a.ClickIDs.FBCLID + a.ClickIDs.MSCLKID +
		a.ClickIDs.TTCLID + a.ClickIDs.LiFatID + a.ClickIDs.TWCLID)
}

func compareQuery(t *testing.T, got Attribution, query string) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return
	}
	for _, parameter := range []string{
		"utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content",
		"gclid", "fbclid", "msclkid", "ttclid", "li_fat_id", "twclid",
	} {
		want := ""
		for _, value := range values[parameter] {
			if want == "" {
				want = value
			}
		}
		if utf8.ValidString(want) && *got.field(parameter) != want {
			t.Errorf("%s of %q: got %q, net/url %q", parameter, query, *got.field(parameter), want)
		}
	}
}

const benchmarkPage = "https://shop.example.com/products/item-42?utm_source=news&utm_medium=email&utm_campaign=spring"

func BenchmarkAttribute(b *testing.B) {
	for name, in := range map[string][2]string{
		"campaign": {benchmarkPage, "https://www.google.com/"},
		"search":   {"https://shop.example.com/products/item-42", "https://www.google.co.uk/"},
		"referral": {"https://shop.example.com/products/item-42", "https://blog.some.example.org/post/17"},
		"own":      {"https://shop.example.com/products/item-42", "https://shop.example.com/"},
		"direct":   {"https://shop.example.com/products/item-42", ""},
		"escaped":  {"https://shop.example.com/?utm_source=News+Letter&utm_campaign=a%20b", ""},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Attribute(in[0], in[1], Campaign{})
			}
		})
	}
}
