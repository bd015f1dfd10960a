package enrich

import (
	"strings"

	"github.com/mileusna/useragent"
)

// product names a browser by a token of its user agent string. The version follows the token, or versionToken if it is
// set.
type product struct{ token, name, versionToken string }

// products lists products that the library takes for another browser, the more specific first. It is never changed.
var products = []product{ //nolint:gochecknoglobals // a table of constants, never changed
	{"Googlebot", "Googlebot", "Googlebot/"},
	{"IEMobile/", "Internet Explorer", ""},
	{"Opera Mini/", "Opera Mini", ""},
	{"Opera Mobi", "Opera Mobile", "Version/"},
	{"Opera/", "Opera", "Version/"},
	{") Opera ", "Opera", ""},
	{"Opera ", "Opera", ""},
	{"Opera/", "Opera", ""},
	{"Trident/7.0", "Internet Explorer", "rv:"},
	{"YaBrowser/", "Yandex Browser", ""},
	{"UCBrowser/", "UC Browser", ""},
	{"UBrowser/", "UC Browser", ""},
	{"MiuiBrowser/", "Miui Browser", ""},
	{"VivoBrowser/", "Vivo Browser", ""},
	{"HeyTapBrowser/", "HeyTap Browser", ""},
	{"HuaweiBrowser/", "Huawei Browser", ""},
	{"DuckDuckGo/", "DuckDuckGo", ""},
	{"Ddg/", "DuckDuckGo", ""},
	{"Whale/", "Whale", ""},
	{"coc_coc_browser/", "Coc Coc", ""},
	{"QQBrowser/", "QQ Browser", ""},
	{"MicroMessenger/", "WeChat", ""},
	{"Maxthon/", "Maxthon", ""},
	{"MAXTHON ", "Maxthon", ""},
	{"SeaMonkey/", "SeaMonkey", ""},
	{"PaleMoon/", "Pale Moon", ""},
	{"Thunderbird/", "Thunderbird", ""},
	{"Silk/", "Silk", ""},
	{"GSA/", "Google App", ""},
	{"Instagram ", "Instagram App", ""},
	{"[FBAN/", "Facebook App", "FBAV/"},
	{"[FB_IAB/", "Facebook App", "FBAV/"},
	{"Snapchat/", "Snapchat App", ""},
	{"Pinterest/", "Pinterest App", ""},
	{"LinkedInApp", "LinkedIn App", "LinkedInApp]/"},
	{"musical_ly_", "TikTok App", ""},
	{"trill_", "TikTok App", ""},
	{"Electron/", "Electron", ""},
	{"Chromium/", "Chromium", ""},
	{"Epiphany/", "Epiphany", ""},
	{"Falkon/", "Falkon", ""},
	{"Konqueror/", "Konqueror", ""},
	{"Midori/", "Midori", ""},
	{"rekonq/", "Rekonq", ""},
	{"conkeror/", "Conkeror", ""},
	{"Lynx/", "Lynx", ""},
	{"ELinks/", "ELinks", ""},
	{"ELinks (", "ELinks", ""},
	{"Links (", "Links", ""},
	{"w3m/", "w3m", ""},
	{"NetFront/", "NetFront", ""},
	{"SEMC-Browser/", "SEMC Browser", ""},
	{"UP.Browser/", "UP.Browser", ""},
	{"WAP Browser", "WAP Browser", ""},
	{"Maui Browser", "WAP Browser", ""},
	{"PlayStation", "PlayStation", ""},
}

// browser returns the name and the version of the program. The names form a closed list, except for the names of bots,
// so that no sender can invent any.
func browser(raw useragent.UserAgent, ua string, client Client) (name, version string) {
	for _, product := range products {
		if !strings.Contains(ua, product.token) {
			continue
		}
		if product.versionToken == "" {
			return product.name, numberAfter(ua, product.token)
		}
		if version := numberAfter(ua, product.versionToken); version != "" {
			return product.name, version
		}
	}
	version = number(raw.Version)
	switch raw.Name {
	case useragent.Safari:
		version = numberAfter(ua, "Version/")
		if client.OS == useragent.Android && !client.Bot {
			return "Android Browser", version
		}
		return raw.Name, version
	case "Android browser":
		return "Android Browser", version
	case useragent.Chrome, useragent.Firefox, useragent.Edge, useragent.Opera, useragent.OperaTouch,
		useragent.InternetExplorer, useragent.SamsungBrowser, useragent.Vivaldi, useragent.HeadlessChrome,
		useragent.TiktokApp, useragent.BlackBerry:
		return raw.Name, version
	}
	if client.Bot {
		return botName(raw.Name), version
	}
	return engine(ua, client)
}

// engine names a browser that hides its name by its engine.
func engine(ua string, client Client) (name, version string) {
	switch {
	case strings.Contains(ua, "Chrome/"):
		return useragent.Chrome, numberAfter(ua, "Chrome/")
	case strings.Contains(ua, "Firefox/"):
		return useragent.Firefox, numberAfter(ua, "Firefox/")
	case client.OS == systemIOS && strings.Contains(ua, "AppleWebKit/"):
		return useragent.Safari, ""
	case strings.Contains(ua, "MSIE "):
		return useragent.InternetExplorer, numberAfter(ua, "MSIE ")
	case strings.Contains(ua, "Safari/"):
		return useragent.Safari, numberAfter(ua, "Version/")
	}
	return "", ""
}

// botName returns the name that a bot gives itself, or "" if it does not look like a name.
func botName(name string) string {
	const longest = 40 // bytes
	if len(name) > longest {
		return ""
	}
	switch name {
	case "X11", "Windows", "Linux", "Macintosh", "iPhone", "iPad":
		return ""
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte(" ._-!", c) >= 0:
		default:
			return ""
		}
	}
	return name
}
