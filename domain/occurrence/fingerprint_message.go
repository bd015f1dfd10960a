package occurrence

import (
	"regexp"
	"strings"
)

// The replacements of MaskMessage.
const (
	maskEmail  = "<email>"
	maskQuery  = "?<query>"
	maskUUID   = "<uuid>"
	maskHex    = "<hex>"
	maskNumber = "<num>"
	maskHost   = "<host>"
	maskTime   = "<time>"
	maskValue  = "<value>"
)

// messageMasks are the rules of MaskMessage in their order (contract 83). Texts that contain digits themselves,
// addresses and queries, come first.
//
//nolint:gochecknoglobals // compiled once, never changed
var messageMasks = []struct {
	// needs are the bytes without which the rule cannot match.
	needs string
	rule  *regexp.Regexp
	with  string
	// added says that FingerprintVersion added the rule.
	added bool
}{
	{"?", regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s?"'<>]*)\?[^\s"'<>)\]]*`), "${1}" + maskQuery, false},
	{"'\"`", regexp.MustCompile(`(?i)(duplicate entry |for input string: |invalid input syntax for [\w ]+: |could not convert string to \w+: |invalid literal for \w+\(\) with base \d+: |incorrect \w+ value: |\bvalue:? )(?:"[^"]*"|'[^']*'|` + "`[^`]*`)"), "${1}" + maskValue, true},
	{"/", regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#"'<>)\]]+`), "${1}" + maskHost, true},
	{".", regexp.MustCompile(`(?i)\b((?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|host(?:name)?|server|connect(?:ing)? to|resolve|lookup|dial tcp)[ :=]+['"]?)(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`), "${1}" + maskHost, true},
	{"/", regexp.MustCompile(`/(home|Users)/[^/\s"':)]+`), "/${1}/*", true},
	{"/", regexp.MustCompile(`/(releases|deployments|deploys|builds|revisions|tmp)/[^/\s"':)]*[0-9A-Z][^/\s"':)]*`), "/${1}/*", true},
	{"-", regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})\b)?)?`), maskTime, true},
	{"0123456789", regexp.MustCompile(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2}[ /-])?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?[ /-]\d{1,4}(?:,? \d{4})?(?:,?[ :]\d{2}:\d{2}(?::\d{2})?)?(?: \d{4})?(?: (?:UTC|GMT)?(?:[+-]\d{2}:?\d{2})?(?: \([^)]*\))?)?`), maskTime, true},
	{":", regexp.MustCompile(`\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm]\b)|\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b`), maskTime, true},
	{":", regexp.MustCompile(`\[?\b(?:\d[0-9a-fA-F]{0,3}|f[cde][0-9a-f]{2}):(?:[0-9a-fA-F]{0,4}:){1,6}[0-9a-fA-F]{1,4}\b\]?|\[?::1\b\]?`), maskNumber, true},
	{"0123456789", regexp.MustCompile(`(^|[^\w.])(?:[-+−±]\s?)?(?:[€$£¥₹]\s?|(?:USD|EUR|GBP|JPY|CHF)\s)(?:[-+−]\s?)?\d[\d.,'’\x{a0}\x{202f}]*\d|(^|[^\w.])(?:[-+−±]\s?)?[€$£¥₹]\s?\d`), "${1}${2}" + maskNumber, true},
	{"0123456789", regexp.MustCompile(`(^|[^\w.])[-+−]?\d(?:[\d.,'’\x{a0}\x{202f}]*\d)?\s?(?:[€$£¥₹%]|(?:USD|EUR|GBP|JPY|CHF)\b)`), "${1}" + maskNumber, true},
	{"0123456789", regexp.MustCompile(`\b\d{1,3}(?:[,'’_\x{a0}\x{202f}]\d{3})+(?:\.\d+)?\b`), maskNumber, true},
	{"0123456789", regexp.MustCompile(`\b\d+(?:\.\d+)?[eE][-+]?\d+\b`), maskNumber, true},
	{"0123456789", regexp.MustCompile(`\b(?:\d+(?:\.\d+)?\s?(?:ns|µs|μs|us|ms|secs?|seconds?|s|mins?|minutes?|m|hours?|hrs?|h|days?)\s?)*\d+(?:\.\d+)?\s?(?:ns|µs|μs|us|ms|secs?|seconds?|s|mins?|minutes?|m|hours?|hrs?|h|days?)\b`), maskNumber, true},
	{"0123456789", regexp.MustCompile(`\b\d+(?:\.\d+)?\s?(?:bytes?|[kKMGTP]i?B|B)\b`), maskNumber, true},
	{"@", regexp.MustCompile(`[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+`), maskEmail, false},
	{"-", regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), maskUUID, false},
	{"xX", regexp.MustCompile(`\b0[xX][0-9a-fA-F]+\b`), maskHex, false},
	{"0123456789abcdefABCDEF", regexp.MustCompile(`\b[0-9a-fA-F]{8,}\b`), maskHex, false},
	{"0123456789", regexp.MustCompile(`[0-9]+(\.[0-9]+)*`), maskNumber, false},
	{"<", regexp.MustCompile(`(^|[\s(=:,\[{"'])[-+−±]\s?<num>`), "${1}" + maskNumber, true},
}

// MaskMessage replaces the parts that differ between occurrences of an error: queries of addresses and e-mail
// addresses, then UUIDs, hexadecimal words of at least eight digits and words that begin with 0x, then numbers.
//
//	order 42 of ada@example.com failed   order <num> of <email> failed
//	no row 7f3d2a19-…-9b1e64c0aa11       no row <uuid>
//	bad pointer 0xc000012a80             bad pointer <hex>
//
// A run of eight or more decimal digits counts as hexadecimal, which is masked first.
func MaskMessage(message string) string { return maskMessage(message, FingerprintVersion) }

// maskMessage masks a message as a version of the algorithm does.
func maskMessage(message string, version int) string {
	for i := range messageMasks {
		mask := &messageMasks[i]
		if strings.ContainsAny(message, mask.needs) && (!mask.added || version == FingerprintVersion) {
			message = mask.rule.ReplaceAllString(message, mask.with)
		}
	}
	return message
}

// engineMessages are sentences that browser engines write, each with its own wording: V8, SpiderMonkey, JavaScriptCore.
//
//nolint:gochecknoglobals // compiled once, never changed
var engineMessages = []struct {
	// needs is a text without which the rule cannot match.
	needs string
	rule  *regexp.Regexp
	with  string
}{
	{"Cannot ", regexp.MustCompile(`^Cannot (?:read|set) propert(?:y|ies) of (?:undefined|null) \((?:reading|setting) '([^']*)'\)$`), "property $1 of nothing"},
	{"Cannot ", regexp.MustCompile(`^Cannot (?:read|set) property '([^']*)' of (?:undefined|null)$`), "property $1 of nothing"},
	{"can't access property", regexp.MustCompile(`^can't access property "([^"]*)", .* is (?:undefined|null)$`), "property $1 of nothing"},
	{"is not an object (evaluating", regexp.MustCompile(`^(?:undefined|null) is not an object \(evaluating '(?:[^']*\.)?([A-Za-z0-9_$]+)(?: = [^']*)?(?:\([^']*\))?'\)$`), "property $1 of nothing"},
	{"is not a function", regexp.MustCompile(`^(.*) is not a function\. \(In '.*', '.*' is .*\)$`), "$1 is not a function"},
	{"Can't find variable: ", regexp.MustCompile(`^Can't find variable: (.*)$`), "$1 is not defined"},
	{"etch", regexp.MustCompile(`^(?:Failed to fetch|NetworkError when attempting to fetch resource\.?)$`), "fetching failed"},
	{"Load failed", regexp.MustCompile(`^Load failed$`), "fetching failed"},
	{"Maximum call stack", regexp.MustCompile(`^Maximum call stack size exceeded\.?$`), "the stack is full"},
	{"too much recursion", regexp.MustCompile(`^too much recursion$`), "the stack is full"},
}

// EngineMessage returns the same sentence for the different sentences with which browser engines report the same fault.
// Any other message is returned unchanged.
//
//	Cannot read properties of undefined (reading 'price')      property price of nothing
//	can't access property "price", item is undefined           property price of nothing
//	undefined is not an object (evaluating 'item.price')       property price of nothing
func EngineMessage(message string) string {
	for i := range engineMessages {
		engine := &engineMessages[i]
		if strings.Contains(message, engine.needs) && engine.rule.MatchString(message) {
			return engine.rule.ReplaceAllString(message, engine.with)
		}
	}
	return message
}
