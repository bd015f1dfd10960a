package enrich_test

import (
	"slices"
	"testing"

	"svc/actors/enrich"
	"svc/domain"
	"svc/domain/event"
)

// TestVisitorAgent reads the user agents of SDKs and HTTP libraries: they identify no visitor and are no bots. The user
// agents of browsers and crawlers are returned unchanged.
func TestVisitorAgent(t *testing.T) {
	t.Parallel()
	agents := enrich.NewUserAgents(1000)
	for _, library := range []string{
		"posthog-python/3.5.0", "posthog-php/3.0.3", "posthog-ruby/2.5.1", "posthog-ruby2.8.1", "posthog-node/4.2.0", "posthog-go (version: 1.2.1)", "posthog-java/1.1.1", "posthog-dotnet/1.0",
		"posthog-elixir/0.2", "posthog-rs/0.3.5", "posthog-android/3.4", "posthog-ios/3.2", "PostHog/1.0", "analytics-python/2.2.3", "analytics-ruby/2.4.0", "analytics-php/3.6.1",
		"analytics-node/6.2.0", "analytics.net/3.8", "analytics-go (version: 3.0.0)", "analytics-java/3.4.0", "sentry.python/1.40.0", "sentry.php/4.6.1", "sentry-ruby/5.17", "rudder-sdk-python/2.0",
		"amplitude-python/1.1", "mixpanel-ruby/2.3", "OTel-OTLP-Exporter-Python/1.21.0", "python-requests/2.32.3", "Python/3.11 aiohttp/3.9.1", "python-httpx/0.27.0", "Python-urllib/3.11",
		"python-urllib3/2.2.1", "okhttp/4.12.0", "Go-http-client/1.1", "Go-http-client/2.0", "axios/1.7.2", "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)", "node-fetch", "undici", "node", "node.js",
		"got (https://github.com/sindresorhus/got)", "curl/7.88.1", "Wget/1.21.4", "Java/17.0.9", "Java-http-client/17.0.9", "Apache-HttpClient/4.5.13 (Java/11.0.11)", "Ruby", "Faraday v2.9.0",
		"rest-client/2.1.0 (linux x86_64) ruby/3.1.2p20", "http.rb/5.2.0", "Typhoeus - https://github.com/typhoeus/typhoeus", "GuzzleHttp/7", "PHP/8.3", "Symfony HttpClient (Curl)",
		"WordPress/6.5; https://shop.example", "libwww-perl/6.72", "hackney/1.20.1", "mint/1.5", "ReactorNetty/1.1.15", "ktor-client", "Dart/3.3 (dart:io)", "RestSharp/111.2", "PostmanRuntime/7.37.3",
		"HTTPie/3.2.2", "Deno/1.43", "Bun/1.1.8", "reqwest/0.12", "",
	} {
		if got := domain.VisitorAgent(library); got != "" || agents.Parse(got).Bot {
			t.Errorf("%q identifies %q", library, got)
		}
	}
	for _, crawler := range []string{
		"Googlebot/2.1 (+http://www.google.com/bot.html)", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "python-requests/2.31 (compatible; AcmeCrawler/1.0)",
		"okhttp/4.9 Spider/1.0", "Java/1.8 (compatible; AhrefsBot/7.0)", "facebookexternalhit/1.1", "Scrapy/2.11 (+https://scrapy.org)", "Mozilla/5.0 HeadlessChrome/120.0", "FeedBurner/1.0",
	} {
		if got := domain.VisitorAgent(crawler); got != crawler || !agents.Parse(got).Bot {
			t.Errorf("%q is no bot, but %q", crawler, got)
		}
	}
	for _, person := range []string{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36", "Shop/3.1 CFNetwork/1494 Darwin/23.4.0",
	} {
		if got := domain.VisitorAgent("curling/1.0"); got != "curling/1.0" {
			t.Errorf("curling is taken for curl")
		}
		if got := domain.VisitorAgent(person); got != person || agents.Parse(got).Bot {
			t.Errorf("%q is %q", person, got)
		}
	}
}

// TestDevicesAreTheWordsOfTheAPI compares the devices that user agents name with the devices that a server may state.
func TestDevicesAreTheWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	want := []string{enrich.DeviceDesktop, enrich.DeviceMobile, enrich.DeviceTablet, enrich.DeviceTV, enrich.DeviceConsole, enrich.DeviceOther}
	if got := event.Devices(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
