package traffic

func agents() []string {
	return []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
		"-",
	}
}

func crawlers() []string {
	return []string{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
		"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
	}
}

// addresses are public addresses of several countries, an unusual one for each protocol, and one without a place.
func addresses() []string {
	return []string{
		"8.8.8.8", "81.2.69.142", "193.99.144.80", "202.56.4.3", "200.160.2.3", "2a00:1450:4001:82a::200e", "203.0.113.7", "1.1.1.1", "41.231.21.1",
	}
}

func paths() []string {
	return []string{
		"/", "/pricing", "/docs", "/docs/start", "/docs/api/events", "/blog/one", "/blog/two", "/blog/größe", "/checkout", "/checkout/done",
		"/a:b", "/it's", "/percent%20sign", "/under_score", "/very/deep/path/of/a/page", "/Pricing",
	}
}

func names() []string {
	return []string{"signup", "search", "video:play", "add_to_cart", "purchase", "größe", "a'b", "Signup", "file_download"}
}

// referrers are referrers of every class of source.
func referrers() []string {
	return []string{
		"", "", "https://www.google.com/", "https://duckduckgo.com/?q=analytics", "https://www.facebook.com/", "https://t.co/abc",
		"https://news.ycombinator.com/item?id=1", "https://mail.google.com/mail/u/0", "https://chatgpt.com/", "https://www.youtube.com/watch?v=1",
		"https://blog.example.org/post", "https://shop.example.com/elsewhere", "android-app://com.slack", "not a url",
	}
}

// queries are the query strings of landing pages.
func queries() []string {
	return []string{
		"", "", "", "?utm_source=newsletter&utm_medium=email&utm_campaign=autumn", "?utm_source=Google&utm_medium=cpc&utm_campaign=brand&utm_term=analytics%20tool&utm_content=a",
		"?gclid=Cj0abc", "?fbclid=IwAR1", "?msclkid=ms1", "?ttclid=tt1", "?li_fat_id=li1", "?twclid=tw1", "?q=utm_source", "?utm_campaign=only+this",
		"?utm_source=partner&gclid=Cj0def", "?ref=x&utm_medium=social",
	}
}

func properties() []string {
	return []string{
		``, `{}`, `{"plan":"pro"}`, `{"plan":"free","trial":true}`, `{"n":1,"deep":{"er":{"x":[1,2,"drei"]}}}`, `{"score":12.5,"plan":"team"}`,
		`{"score":-3,"trial":false}`, `{"none":null,"plan":""}`, `{"text":"größe \"quoted\" 100%_done"}`, `{"tags":["a","b"],"score":40}`,
		`{"big":9007199254740993,"plan":"pro"}`, `{"score":"12.5"}`, `{"total":99.9,"items":[{"id":"sku-1","quantity":2}]}`,
	}
}
