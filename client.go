package svc

import "strings"

// httpLibraries are the beginnings of the user agents of programs that send
// requests for somebody else.
const httpLibraries = " curl libcurl wget python-requests python-httpx python-urllib aiohttp go-http-client node node-fetch undici axios got " +
	"java apache-httpclient apache-httpasyncclient okhttp postmanruntime insomnia ruby faraday rest-client php guzzlehttp symfony " +
	"httpie reqwest hyper dart k6 hey vegeta bun deno libwww-perl lua-resty-http unirest restsharp .net "

// VisitorAgent returns the user agent of the visitor as far as the connection's user agent
// names it. A program that sends on behalf of others, such as curl or a library for HTTP
// requests, does not identify the visitor and yields the empty string; the visitor
// does not count as a bot because of it.
func VisitorAgent(connection string) string {
	product, _, _ := strings.Cut(connection, "/")
	product, _, _ = strings.Cut(product, " ")
	if product == "Mozilla" { // so every browser begins
		return connection
	}
	if product != "" && strings.Contains(httpLibraries, " "+strings.ToLower(product)+" ") {
		return ""
	}
	return connection
}
