package event

import (
	"net/url"
	"strings"

	"svc/domain"
)

// Attribution is the origin of a visit: the referring domain, the source and medium that it counts for, and the
// campaign parameters and click identifiers of its page address.
type Attribution struct {
	ReferrerDomain string   `json:"referrerDomain"`
	Source         string   `json:"source"`
	Medium         string   `json:"medium"`
	UTMSource      string   `json:"utmSource"`
	UTMMedium      string   `json:"utmMedium"`
	UTMCampaign    string   `json:"utmCampaign"`
	UTMTerm        string   `json:"utmTerm"`
	UTMContent     string   `json:"utmContent"`
	ClickIDs       ClickIDs `json:"clickIds"`
}

// ClickIDs are the identifiers that advertising and social networks append to their links.
type ClickIDs struct {
	GCLID   string `json:"gclid,omitempty"`
	GBRAID  string `json:"gbraid,omitempty"`
	WBRAID  string `json:"wbraid,omitempty"`
	FBCLID  string `json:"fbclid,omitempty"`
	MSCLKID string `json:"msclkid,omitempty"`
	TTCLID  string `json:"ttclid,omitempty"`
	LiFatID string `json:"li_fat_id,omitempty"`
	TWCLID  string `json:"twclid,omitempty"`
}

// Campaign holds the campaign fields that a sender states in addition to the page address. A non-empty field replaces
// the UTM parameter of its name.
type Campaign struct {
	Source  string `json:"source,omitempty"`
	Medium  string `json:"medium,omitempty"`
	Name    string `json:"name,omitempty"`
	Term    string `json:"term,omitempty"`
	Content string `json:"content,omitempty"`
}

// Origin is the origin of a visit as its first event states it. All events of the visit carry it.
type Origin struct {
	Attribution
	Referrer string
}

// Limits of an origin, in bytes: an intake stores the origins of all open visits.
const (
	maxOriginWord     = MaxNameBytes
	maxOriginClickID  = 512
	maxOriginReferrer = MaxTextBytes
)

// Bounded returns the origin with its texts cut to the limits of a visit.
func (o Origin) Bounded() Origin {
	for _, word := range o.words() {
		*word = domain.Truncate(*word, maxOriginWord)
	}
	for _, id := range o.ClickIDs.words() {
		*id = domain.Truncate(*id, maxOriginClickID)
	}
	o.Referrer = domain.Truncate(o.Referrer, maxOriginReferrer)
	return o
}

// Clone returns the origin with its own copies of the texts.
func (o Origin) Clone() Origin {
	for _, word := range o.words() {
		*word = strings.Clone(*word)
	}
	for _, id := range o.ClickIDs.words() {
		*id = strings.Clone(*id)
	}
	o.Referrer = strings.Clone(o.Referrer)
	return o
}

func (a *Attribution) words() [8]*string {
	return [...]*string{&a.ReferrerDomain, &a.Source, &a.Medium, &a.UTMSource, &a.UTMMedium, &a.UTMCampaign, &a.UTMTerm, &a.UTMContent}
}

func (c *ClickIDs) words() [8]*string {
	return [...]*string{&c.GCLID, &c.GBRAID, &c.WBRAID, &c.FBCLID, &c.MSCLKID, &c.TTCLID, &c.LiFatID, &c.TWCLID}
}

// Source and medium of a direct visit.
const (
	SourceDirect = "direct"
	MediumNone   = "none"
)

// Media that a referrer or a click identifier implies. Campaigns may name any other.
const (
	MediumCPC      = "cpc"
	MediumOrganic  = "organic"
	MediumSocial   = "social"
	MediumAI       = "ai"
	MediumEmail    = "email"
	MediumReferral = "referral"
)

// channel is a pair of source and medium.
type channel struct{ source, medium string }

// Attribute derives the attribution of a page view from its address, its referrer and the campaign fields that the
// sender states.
//
// Source and Medium are decided independently. Each is the lower-case UTM value if there is one, otherwise the value
// that a click identifier implies, otherwise the value that the referrer implies, otherwise direct and none. The query
// parameters ref and source, in this order, replace a missing utm_source. The identifiers gclid, gbraid, wbraid and
// msclkid belong to advertisements and take precedence over the referrer. The other identifiers are also added to
// ordinary links, so a referrer that is a known social network takes precedence over them.
//
// A referrer on the page's own domain, with or without "www.", is ignored, and so is a referrer with a host longer than
// a domain name can be. Domains are compared in their ASCII form, so Unicode and ASCII forms are equal. The "amp;" that
// precedes the parameters of a link copied from HTML is ignored. Of a repeated parameter, the first non-empty value
// counts. UTM values retain their case; a value with a malformed escape is retained as sent.
//
// The strings of the result share memory with the arguments if no decoding or case folding is needed, and Attribute
// then allocates nothing. It accepts any input, well-formed or not.
func Attribute(pageURL, referrer string, campaign Campaign) Attribution {
	page := cutURL(pageURL)
	var a Attribution
	named := a.readQuery(page.query)
	a.override(campaign)
	a.ReferrerDomain = domainOf(HostOf(referrer))
	if len(a.ReferrerDomain) > domain.MaxDomain || a.ReferrerDomain == domainOf(hostName(page.authority)) {
		a.ReferrerDomain = ""
	}
	implied := a.implied()
	a.Source, a.Medium = implied.source, implied.medium
	if source := firstNonEmpty(a.UTMSource, named); source != "" {
		a.Source = strings.ToLower(source)
	}
	if a.UTMMedium != "" {
		a.Medium = strings.ToLower(a.UTMMedium)
	}
	return a
}

// readQuery fills the UTM and click identifier fields from a raw query. It returns the source that the other parameters
// name.
func (a *Attribution) readQuery(query string) (named string) {
	var ref, source string
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		key = unescape(key)
		for len(key) > len(escapedAmpersand) && strings.EqualFold(key[:len(escapedAmpersand)], escapedAmpersand) {
			key = key[len(escapedAmpersand):]
		}
		field := a.field(key)
		switch key {
		case "ref":
			field = &ref
		case "source":
			field = &source
		}
		if field != nil && *field == "" {
			*field = unescape(value)
		}
	}
	return firstNonEmpty(ref, source)
}

// escapedAmpersand is the rest of an escaped ampersand in HTML, after the ampersand.
const escapedAmpersand = "amp;"

// field returns the field of a query parameter, nil if the parameter has no meaning here.
func (a *Attribution) field(parameter string) *string {
	switch parameter {
	case "utm_source":
		return &a.UTMSource
	case "utm_medium":
		return &a.UTMMedium
	case "utm_campaign":
		return &a.UTMCampaign
	case "utm_term":
		return &a.UTMTerm
	case "utm_content":
		return &a.UTMContent
	case "gclid":
		return &a.ClickIDs.GCLID
	case "gbraid":
		return &a.ClickIDs.GBRAID
	case "wbraid":
		return &a.ClickIDs.WBRAID
	case "fbclid":
		return &a.ClickIDs.FBCLID
	case "msclkid":
		return &a.ClickIDs.MSCLKID
	case "ttclid":
		return &a.ClickIDs.TTCLID
	case "li_fat_id":
		return &a.ClickIDs.LiFatID
	case "twclid":
		return &a.ClickIDs.TWCLID
	}
	return nil
}

// unescape decodes percent escapes and plus signs. Text with a malformed escape is returned unchanged; invalid UTF-8
// becomes U+FFFD.
func unescape(text string) string {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '+') < 0 {
		return text
	}
	decoded, err := url.QueryUnescape(text)
	if err != nil {
		return text
	}
	return strings.ToValidUTF8(decoded, "\uFFFD")
}

func (a *Attribution) override(c Campaign) {
	a.UTMSource = firstNonEmpty(c.Source, a.UTMSource)
	a.UTMMedium = firstNonEmpty(c.Medium, a.UTMMedium)
	a.UTMCampaign = firstNonEmpty(c.Name, a.UTMCampaign)
	a.UTMTerm = firstNonEmpty(c.Term, a.UTMTerm)
	a.UTMContent = firstNonEmpty(c.Content, a.UTMContent)
}

func firstNonEmpty(stated, found string) string {
	if stated != "" {
		return stated
	}
	return found
}

// implied returns the channel that click identifiers and referrer together imply.
func (a *Attribution) implied() channel {
	referring := channel{SourceDirect, MediumNone}
	if a.ReferrerDomain != "" {
		referring = referrerChannel(a.ReferrerDomain)
	}
	switch ids := &a.ClickIDs; {
	case ids.GCLID != "" || ids.GBRAID != "" || ids.WBRAID != "":
		return channel{"google", MediumCPC}
	case ids.MSCLKID != "":
		return channel{"bing", MediumCPC}
	case referring.medium == MediumSocial:
		return referring
	case ids.FBCLID != "":
		return channel{"facebook", MediumSocial}
	case ids.TTCLID != "":
		return channel{"tiktok", MediumSocial}
	case ids.LiFatID != "":
		return channel{"linkedin", MediumSocial}
	case ids.TWCLID != "":
		return channel{"twitter", MediumSocial}
	}
	return referring
}

// PathOf returns the path of an address as sent, without query and fragment, and "/" for an empty path.
func PathOf(address string) string {
	if path := cutURL(address).path; path != "" {
		return path
	}
	return "/"
}

// HostOf returns the host of an address in lower case, without user, port and the brackets of an IPv6 address. It is
// empty for an address without a host, such as a bare path or "about:blank".
func HostOf(address string) string {
	return hostName(cutURL(address).authority)
}

// domainOf returns the ASCII form of a host without "www." and the final dot, which lead to the same site.
func domainOf(host string) string {
	return strings.TrimSuffix(strings.TrimPrefix(domain.ASCIIHost(host), "www."), ".")
}

// urlParts are the raw, undecoded parts of an address.
type urlParts struct{ authority, path, query string }

// cutURL splits an address as net/url does, but accepts every input.
func cutURL(address string) urlParts {
	address, _, _ = strings.Cut(address, "#")
	address, query, _ := strings.Cut(address, "?")
	scheme := schemeLength(address)
	rest := address[scheme:]
	switch {
	case strings.HasPrefix(rest, "//") && (scheme > 0 || !strings.HasPrefix(rest, "///")):
		rest = rest[len("//"):]
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			return urlParts{authority: rest, query: query}
		}
		return urlParts{authority: rest[:slash], path: rest[slash:], query: query}
	case scheme > 0 && !strings.HasPrefix(rest, "/"):
		return urlParts{query: query}
	}
	return urlParts{path: rest, query: query}
}

// schemeLength is the length of an address's scheme including the colon, or 0.
func schemeLength(address string) int {
	for i := range len(address) {
		switch c := address[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i == 0:
			return 0
		case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		case c == ':':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func hostName(authority string) string {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if strings.HasPrefix(host, "[") {
		host, _, _ = strings.Cut(host[1:], "]")
	} else if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	return strings.ToLower(host)
}
