// Package enrich derives the client of an event from its user agent string. It has no clock, does no I/O and knows
// nothing of events. It does not detect clients that lie: a crawler that sends a browser's string is taken for that
// browser.
package enrich

import (
	"strings"

	"github.com/mileusna/useragent"
)

// Client describes the software and the device that sent an event. A field is empty if the user agent string does not
// contain it.
type Client struct {
	Device         string // desktop, mobile, tablet, tv, console or other
	Browser        string // product name; for a bot its own name
	BrowserVersion string // digits and dots
	OS             string
	OSVersion      string // digits and dots, or the product name of a Windows release
	Bot            bool   // crawlers, feed readers, monitors, scripts and link previews
}

// Words of Client.Device.
const (
	DeviceDesktop = "desktop"
	DeviceMobile  = "mobile"
	DeviceTablet  = "tablet"
	DeviceTV      = "tv"
	DeviceConsole = "console"
	DeviceOther   = "other"
)

// maxLength is the length in bytes at which a user agent string is cut. Real ones are shorter, except strings of
// embedded browsers that list every plug-in.
const maxLength = 512

// UserAgents parses user agent strings and caches the results. It has no lock, so only one goroutine may use it at a
// time.
type UserAgents struct {
	bots    *botRules
	half    int
	recent  map[string]Client
	earlier map[string]Client
}

// NewUserAgents returns a parser that caches at most size strings, at least two. A string that is not requested while
// size/2 other strings arrive may be dropped.
func NewUserAgents(size int) *UserAgents {
	half := max(size/2, 1)
	return &UserAgents{
		bots:    newBotRules(),
		half:    half,
		recent:  make(map[string]Client),
		earlier: make(map[string]Client),
	}
}

// Parse returns the client of a user agent string, which is cut at 512 bytes first. An empty string, or the "-" that
// log files write for it, returns the zero Client, which is not a bot. Any bytes are accepted; the result is valid
// UTF-8 and retains none of the argument's memory. A cached result costs no allocation.
func (u *UserAgents) Parse(ua string) Client {
	if len(ua) > maxLength {
		ua = ua[:maxLength]
	}
	if ua == "" || ua == "-" {
		return Client{}
	}
	client, ok := u.recent[ua]
	if ok {
		return client
	}
	ua = strings.Clone(ua)
	if client, ok = u.earlier[ua]; !ok {
		client = u.describe(strings.ToValidUTF8(ua, ""))
	}
	if len(u.recent) >= u.half {
		clear(u.earlier)
		u.recent, u.earlier = u.earlier, u.recent
	}
	u.recent[ua] = client
	return client
}

// describe parses a string that is not cached.
func (u *UserAgents) describe(ua string) Client {
	raw := useragent.Parse(ua)
	client := Client{Bot: u.bots.match(ua)}
	client.OS, client.OSVersion = system(ua)
	client.Browser, client.BrowserVersion = browser(raw, ua, client)
	client.Device = device(raw, ua, client)
	return client
}

// number returns the digits and dots at the beginning of text, with the
// underscores of Apple's versions as dots and without a final dot.
func number(text string) string {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end > 0 && (text[end] == '.' || text[end] == '_')) {
		end++
	}
	return strings.TrimRight(strings.ReplaceAll(text[:end], "_", "."), ".")
}

// numberAfter returns the number that follows the first occurrence of token.
func numberAfter(ua, token string) string {
	_, after, _ := strings.Cut(ua, token)
	return number(after)
}

// containsAny reports whether text contains one of the words.
func containsAny(text string, words ...string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
