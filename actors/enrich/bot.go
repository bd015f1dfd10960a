package enrich

import (
	_ "embed" // for the patterns
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// crawlerPatterns are regular expressions that match the user agents of
// crawlers, as JSON strings. Command gen writes the file.
//
//go:embed crawlers.json
var crawlerPatterns []byte

// keyLength is the length in bytes of the literals by which the rules are looked up. Every pattern demands a literal at
// least as long.
const keyLength = 3

// botRules decides whether a user agent string belongs to a program that acts without a person. It does not change
// after its construction.
type botRules struct {
	// patterns holds the crawler patterns by the beginning of a literal that their matches contain. So a scan compares
	// a few of them at each position of a string and does not run them all.
	patterns map[[keyLength]byte][]pattern
	email    *regexp.Regexp
	bare     *regexp.Regexp
	words    []string
}

// pattern matches a string that contains its literal and, unless expression is
// nil, matches the expression.
type pattern struct {
	literal    string
	expression *regexp.Regexp
}

// newBotRules compiles the embedded patterns. It panics if they are broken,
// which the tests of this package exclude.
func newBotRules() *botRules {
	var sources []string
	if err := json.Unmarshal(crawlerPatterns, &sources); err != nil {
		panic(fmt.Errorf("reading the embedded crawler patterns: %w", err))
	}
	rules := &botRules{
		patterns: make(map[[keyLength]byte][]pattern, len(sources)),
		email:    regexp.MustCompile(`[\w.+-]@[a-z][\w-]+\.`),
		bare:     regexp.MustCompile(`^Mozilla/\d\.\d+( \(compatible;?\))?$`),
		words:    botWords(),
	}
	for _, source := range sources {
		if err := rules.add(source); err != nil {
			panic(fmt.Errorf("compiling the embedded crawler pattern %q: %w", source, err))
		}
	}
	return rules
}

func (b *botRules) add(source string) error {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return err
	}
	var expression *regexp.Regexp
	if parsed.Op != syntax.OpLiteral {
		if expression, err = regexp.Compile(source); err != nil {
			return err
		}
	}
	literals := required(parsed)
	if shortest(literals) < keyLength {
		return fmt.Errorf("demands no literal of %d bytes", keyLength)
	}
	for _, literal := range literals {
		key := [keyLength]byte([]byte(literal[:keyLength]))
		b.patterns[key] = append(b.patterns[key], pattern{literal, expression})
	}
	return nil
}

// required returns literals such that every match of the expression contains at least one. It returns none if the
// expression demands none.
func required(expression *syntax.Regexp) []string {
	switch expression.Op {
	case syntax.OpLiteral:
		if expression.Flags&syntax.FoldCase == 0 {
			return []string{string(expression.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(expression.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range expression.Sub {
			if found := required(sub); shortest(found) > shortest(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range expression.Sub {
			found := required(sub)
			if len(found) == 0 {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

// shortest returns the length of the shortest literal, or 0.
func shortest(literals []string) int {
	if len(literals) == 0 {
		return 0
	}
	length := len(literals[0])
	for _, literal := range literals[1:] {
		length = min(length, len(literal))
	}
	return length
}

// match reports whether the string belongs to a bot. It matches a crawler pattern, contains a word that only automatic
// programs use, gives a contact address (a page or a mailbox), or consists only of "Mozilla".
func (b *botRules) match(ua string) bool {
	for i := 0; i+keyLength <= len(ua); i++ {
		for _, candidate := range b.patterns[[keyLength]byte([]byte(ua[i:i+keyLength]))] {
			if strings.HasPrefix(ua[i:], candidate.literal) &&
				(candidate.expression == nil || candidate.expression.MatchString(ua)) {
				return true
			}
		}
	}
	lower := strings.ToLower(ua)
	return containsAny(lower, b.words...) || saysBot(lower) || b.bare.MatchString(ua) || b.email.MatchString(lower)
}

// botWords returns words in lower case that only automatic programs use. It leaves out HTTP clients of applications for
// people, such as okhttp and CFNetwork.
func botWords() []string {
	return []string{
		"http://", "https://", // address of the operator
		"crawl", "spider", "slurp", "fetch", "scrap", "archiver", "harvest", "headless", "phantomjs", "webdriver",
		"curl/", "wget", "libwww-perl", "lwp::", "python", "java/", "go-http-client", "perl/", "php/", "ruby", "guzzle",
		"http_request", "http-client/", "httpclient/", "node-fetch", "postmanruntime", "insomnia/", "httpie",
		"feed", "subscribers", " rss", "rss/", "rssreader", "newsreader", "newsblur", "netnewswire", "liferea", "akregator", "reeder/",
		"newsify", "livejournal.com", "monitor", "uptime", "pingdom", "nagios", "lighthouse", "chef client",
		"validator", "link sleuth", "linkcheck", "portscout", "distilator", "urllog", "robosourcer",
		"web preview", "protocol discovery", "appengine-google", "google desktop", "google favicon",
	}
}

// saysBot reports whether lower contains "bot" or "bots" at the end of a word. Cubot, a maker of telephones, does not
// count.
func saysBot(lower string) bool {
	for {
		at := strings.Index(lower, "bot")
		if at < 0 {
			return false
		}
		before, after := lower[:at], strings.TrimPrefix(lower[at+len("bot"):], "s")
		if !strings.HasSuffix(before, "cu") && (after == "" || after[0] < 'a' || after[0] > 'z') {
			return true
		}
		lower = after
	}
}
