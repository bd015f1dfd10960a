package event

import "strings"

// referrerChannel returns the channel of a referring domain, which is in lower case and without "www.". An unknown
// domain is its own source with medium referral.
func referrerChannel(domain string) channel {
	for name := domain; name != ""; _, name, _ = strings.Cut(name, ".") {
		if known, ok := knownReferrers[name]; ok {
			return known
		}
	}
	if known, ok := countryReferrer(domain); ok {
		return known
	}
	return channel{domain, MediumReferral}
}

// countryReferrer recognises the sites that exist under the domains of many countries. Of Google and Yahoo only the
// search pages count: their other hosts publish content of their users.
func countryReferrer(domain string) (channel, bool) {
	sub, name := splitCountryDomain(domain)
	switch name {
	case "google":
		switch sub {
		case "", "m", "images", "news", "search", "encrypted", "cse", "ipv4", "ipv6":
			return channel{"google", MediumOrganic}, true
		}
	case "yahoo":
		if sub == "" || sub == "search" || strings.HasSuffix(sub, ".search") {
			return channel{"yahoo", MediumOrganic}, true
		}
	case "yandex":
		return channel{"yandex", MediumOrganic}, true
	case "pinterest":
		return channel{"pinterest", MediumSocial}, true
	}
	return channel{}, false
}

// splitCountryDomain splits a domain into its registered name and the part before it. The name is empty unless it
// stands right before a suffix of the forms "com", "de", "co.uk" and "com.br". So a known name that is a subdomain of
// another domain is not recognised.
func splitCountryDomain(domain string) (sub, name string) {
	rest, suffix := cutLast(domain)
	if suffix != "com" && len(suffix) != len("de") {
		return "", ""
	}
	sub, name = cutLast(rest)
	if len(suffix) == len("uk") && (name == "co" || name == "com") {
		sub, name = cutLast(sub)
	}
	return sub, name
}

// cutLast cuts a domain before its last label.
func cutLast(domain string) (rest, label string) {
	dot := strings.LastIndexByte(domain, '.')
	if dot < 0 {
		return "", domain
	}
	return domain[:dot], domain[dot+1:]
}

// knownReferrers maps domains to channels; an entry also covers its subdomains unless they have their own. It is never
// changed.
var knownReferrers = map[string]channel{ //nolint:gochecknoglobals // a table of constants, never changed
	"bing.com":             {"bing", MediumOrganic},
	"msn.com":              {"bing", MediumOrganic},
	"duckduckgo.com":       {"duckduckgo", MediumOrganic},
	"ya.ru":                {"yandex", MediumOrganic},
	"baidu.com":            {"baidu", MediumOrganic},
	"ecosia.org":           {"ecosia", MediumOrganic},
	"qwant.com":            {"qwant", MediumOrganic},
	"search.brave.com":     {"brave", MediumOrganic},
	"startpage.com":        {"startpage", MediumOrganic},
	"startpage.de":         {"startpage", MediumOrganic},
	"naver.com":            {"naver", MediumOrganic},
	"search.daum.net":      {"daum", MediumOrganic},
	"seznam.cz":            {"seznam", MediumOrganic},
	"sogou.com":            {"sogou", MediumOrganic},
	"so.com":               {"360", MediumOrganic},
	"ask.com":              {"ask", MediumOrganic},
	"search.aol.com":       {"aol", MediumOrganic},
	"swisscows.com":        {"swisscows", MediumOrganic},
	"mojeek.com":           {"mojeek", MediumOrganic},
	"metager.de":           {"metager", MediumOrganic},
	"kagi.com":             {"kagi", MediumOrganic},
	"search.marginalia.nu": {"marginalia", MediumOrganic},
	"coccoc.com":           {"coccoc", MediumOrganic},
	"go.mail.ru":           {"mail.ru", MediumOrganic},
	"rambler.ru":           {"rambler", MediumOrganic},
	"suche.t-online.de":    {"t-online", MediumOrganic},
	"dogpile.com":          {"dogpile", MediumOrganic},
	"com.google.android.googlequicksearchbox": {"google", MediumOrganic},

	"chatgpt.com":             {"chatgpt", MediumAI},
	"chat.openai.com":         {"chatgpt", MediumAI},
	"perplexity.ai":           {"perplexity", MediumAI},
	"gemini.google.com":       {"gemini", MediumAI},
	"bard.google.com":         {"gemini", MediumAI},
	"notebooklm.google.com":   {"notebooklm", MediumAI},
	"copilot.microsoft.com":   {"copilot", MediumAI},
	"copilot.cloud.microsoft": {"copilot", MediumAI},
	"claude.ai":               {"claude", MediumAI},
	"chat.deepseek.com":       {"deepseek", MediumAI},
	"grok.com":                {"grok", MediumAI},
	"meta.ai":                 {"meta-ai", MediumAI},
	"chat.mistral.ai":         {"mistral", MediumAI},
	"poe.com":                 {"poe", MediumAI},
	"you.com":                 {"you", MediumAI},
	"phind.com":               {"phind", MediumAI},
	"kimi.com":                {"kimi", MediumAI},
	"doubao.com":              {"doubao", MediumAI},
	"chat.qwen.ai":            {"qwen", MediumAI},
	"duck.ai":                 {"duck.ai", MediumAI},

	"facebook.com":             {"facebook", MediumSocial},
	"fb.com":                   {"facebook", MediumSocial},
	"fb.me":                    {"facebook", MediumSocial},
	"messenger.com":            {"messenger", MediumSocial},
	"com.facebook.katana":      {"facebook", MediumSocial},
	"instagram.com":            {"instagram", MediumSocial},
	"threads.net":              {"threads", MediumSocial},
	"threads.com":              {"threads", MediumSocial},
	"t.co":                     {"twitter", MediumSocial},
	"twitter.com":              {"twitter", MediumSocial},
	"x.com":                    {"twitter", MediumSocial},
	"com.twitter.android":      {"twitter", MediumSocial},
	"linkedin.com":             {"linkedin", MediumSocial},
	"lnkd.in":                  {"linkedin", MediumSocial},
	"com.linkedin.android":     {"linkedin", MediumSocial},
	"reddit.com":               {"reddit", MediumSocial},
	"redd.it":                  {"reddit", MediumSocial},
	"com.reddit.frontpage":     {"reddit", MediumSocial},
	"youtube.com":              {"youtube", MediumSocial},
	"youtu.be":                 {"youtube", MediumSocial},
	"pin.it":                   {"pinterest", MediumSocial},
	"tiktok.com":               {"tiktok", MediumSocial},
	"news.ycombinator.com":     {"hackernews", MediumSocial},
	"hn.algolia.com":           {"hackernews", MediumSocial},
	"lobste.rs":                {"lobsters", MediumSocial},
	"mastodon.social":          {"mastodon", MediumSocial},
	"mastodon.online":          {"mastodon", MediumSocial},
	"mstdn.social":             {"mastodon", MediumSocial},
	"fosstodon.org":            {"mastodon", MediumSocial},
	"hachyderm.io":             {"mastodon", MediumSocial},
	"org.joinmastodon.android": {"mastodon", MediumSocial},
	"bsky.app":                 {"bluesky", MediumSocial},
	"plus.google.com":          {"google-plus", MediumSocial},
	"vk.com":                   {"vk", MediumSocial},
	"vk.ru":                    {"vk", MediumSocial},
	"ok.ru":                    {"ok", MediumSocial},
	"weibo.com":                {"weibo", MediumSocial},
	"t.cn":                     {"weibo", MediumSocial},
	"zhihu.com":                {"zhihu", MediumSocial},
	"xing.com":                 {"xing", MediumSocial},
	"tumblr.com":               {"tumblr", MediumSocial},
	"snapchat.com":             {"snapchat", MediumSocial},
	"quora.com":                {"quora", MediumSocial},
	"discord.com":              {"discord", MediumSocial},
	"t.me":                     {"telegram", MediumSocial},
	"web.telegram.org":         {"telegram", MediumSocial},
	"org.telegram.messenger":   {"telegram", MediumSocial},
	"whatsapp.com":             {"whatsapp", MediumSocial},
	"wa.me":                    {"whatsapp", MediumSocial},
	"medium.com":               {"medium", MediumSocial},
	"flipboard.com":            {"flipboard", MediumSocial},
	"producthunt.com":          {"producthunt", MediumSocial},

	"mail.google.com":         {"gmail", MediumEmail},
	"com.google.android.gm":   {"gmail", MediumEmail},
	"outlook.com":             {"outlook", MediumEmail},
	"outlook.live.com":        {"outlook", MediumEmail},
	"outlook.office.com":      {"outlook", MediumEmail},
	"outlook.office365.com":   {"outlook", MediumEmail},
	"outlook.cloud.microsoft": {"outlook", MediumEmail},
	"mail.live.com":           {"outlook", MediumEmail},
	"mail.yahoo.com":          {"yahoo-mail", MediumEmail},
	"mail.yahoo.co.jp":        {"yahoo-mail", MediumEmail},
	"mail.aol.com":            {"aol-mail", MediumEmail},
	"mail.yandex.ru":          {"yandex-mail", MediumEmail},
	"mail.yandex.com":         {"yandex-mail", MediumEmail},
	"e.mail.ru":               {"mail.ru", MediumEmail},
	"mail.proton.me":          {"proton-mail", MediumEmail},
	"app.fastmail.com":        {"fastmail", MediumEmail},
	"mail.zoho.com":           {"zoho-mail", MediumEmail},
	"mail.naver.com":          {"naver-mail", MediumEmail},
	"email.seznam.cz":         {"seznam-mail", MediumEmail},
	"mail.qq.com":             {"qq-mail", MediumEmail},
	"mail.163.com":            {"netease-mail", MediumEmail},
	"navigator.gmx.net":       {"gmx", MediumEmail},
	"navigator.web.de":        {"web.de", MediumEmail},
}
