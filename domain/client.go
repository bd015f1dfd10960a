package domain

import (
	"slices"
	"strings"
)

// httpLibraries are the product names of programs that send requests on behalf of others, in lower case. They stand at
// the beginning of user agents.
//
//nolint:gochecknoglobals // read only
var httpLibraries = setOf(strings.Fields("curl libcurl wget python python-requests python-httpx python-urllib python-urllib3 aiohttp httpx urllib3 go-http-client go-resty " +
	"node node.js node-fetch undici axios got ky superagent needle request bun deno java java-http-client apache-httpclient apache-httpasyncclient okhttp jersey reactornetty " +
	"ktor ktor-client retrofit asynchttpclient ahc akka-http pekko-http vert.x-webclient sttp feign google-http-java-client unirest unirest-java postmanruntime insomnia httpie " +
	"ruby faraday rest-client http.rb httparty typhoeus mechanize excon php php-soap guzzlehttp guzzle symfony buzz laravel wordpress drupal zend_http_client laminas_http_client " +
	"reqwest ureq isahc hyper surf dart k6 hey vegeta libwww-perl lwp-request http-tiny mojolicious lua-resty-http luasocket restsharp flurl.http refit .net dotnet " +
	"windowspowershell powershell hackney httpoison mint finch req tesla gun elixir erlang ibrowse r-curl httr httr2 julia swift-nio async-http-client alamofire crystal nim httpclient")...)

// librarySDKs are the prefixes of the product names of SDKs that send from servers and applications.
func librarySDKs() []string {
	return []string{"posthog", "analytics-", "analytics.", "segment", "sentry", "raven", "rudder", "amplitude", "mixpanel", "snowplow", "countly", "otel", "opentelemetry"}
}

// crawlerWords are the words that identify a library-based program as a crawler.
func crawlerWords() []string {
	return []string{"bot", "crawl", "spider", "slurp", "scrap", "archiver", "feed", "monitor", "compatible"}
}

// VisitorAgent returns the user agent of the visitor if the connection's user agent identifies the visitor. A program
// that sends on behalf of others, such as curl, an HTTP library or a server SDK, yields "": the visitor does not count
// as a bot because of it. A crawler that is made with a library is a bot.
func VisitorAgent(connection string) string {
	product, rest := connection, ""
	if end := strings.IndexAny(connection, "/ ;("); end >= 0 {
		product, rest = connection[:end], connection[end:]
	}
	if product == "Mozilla" || product == "" { // every browser's user agent begins like this
		return connection
	}
	product = strings.ToLower(product)
	_, library := httpLibraries[product]
	sends := library || slices.ContainsFunc(librarySDKs(), func(sdk string) bool { return strings.HasPrefix(product, sdk) })
	if rest = strings.ToLower(rest); sends && !slices.ContainsFunc(crawlerWords(), func(word string) bool { return strings.Contains(rest, word) }) {
		return ""
	}
	return connection
}
