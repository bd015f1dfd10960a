package domain

import (
	"strings"
	"unicode"
)

// Ids of this form encode a 64-bit number: a prefix and thirteen digits of five bits each.
const (
	numberDigits = 13
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// NumberID returns the id of a number.
func NumberID(prefix string, number uint64) string {
	id := make([]byte, len(prefix)+numberDigits)
	copy(id, prefix)
	for i := len(id) - 1; i >= len(prefix); i-- {
		id[i] = crockford[number&31]
		number >>= 5
	}
	return string(id)
}

// ParseNumberID is the inverse of NumberID.
func ParseNumberID(prefix, id string) (number uint64, ok bool) {
	digits, ours := strings.CutPrefix(id, prefix)
	if !ours || len(digits) != numberDigits {
		return 0, false
	}
	for i := range len(digits) {
		digit := strings.IndexByte(crockford, digits[i])
		if digit < 0 || i == 0 && digit > 15 {
			return 0, false
		}
		number = number<<5 | uint64(digit)
	}
	return number, true
}

// CodePlaceholderID is the code with which placeholders are refused or counted.
const CodePlaceholderID = "placeholder_id"

// CookielessID is the id of all visitors that store nothing on their device. SDKs of PostHog send their events under
// it.
const CookielessID = "$posthog_cookieless"

// maxPlaceholder is the length of the longest placeholder that contains a letter.
const maxPlaceholder = 24

// placeholderIDs are the words that programs send as an id if they have none. They are in lower case, without the
// surrounding signs.
//
//nolint:gochecknoglobals // read only
var placeholderIDs = setOf(
	"undefined", "null", "none", "nil", "nan", "inf", "infinity", "true", "false", "-1", "-1.0",
	"anonymous", "anon", "guest", "unknown", "not_authenticated", "unauthenticated", "n/a", "undefined undefined", "null null",
	"id", "uuid", "email", "user", "username", "distinct_id", "distinctid", "anonymous_id", "anonymousid", "user_id", "userid", "previous_id", "previousid",
	"group_id", "groupid", "company_id", "companyid", "customer_id", "customerid", "user.id", "user.email", "current_user.id",
	"!s(<nil", "!d(<nil", "!v(<nil", "object object", "object undefined", "object null", "object window", "object promise", CookielessID[1:],
)

func setOf(words ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(words))
	for _, word := range words {
		set[word] = struct{}{}
	}
	return set
}

// IsPlaceholderID reports whether an id identifies no person. One form is a word such as undefined or [object Object],
// which a program sends if it has no id. The other form is a text without any letter or digit other than 0, such as the
// zero UUID. Case and white space do not count, nor do quotes, brackets and template signs around a word. Every surface
// refuses these ids: a person with such an id would combine all strangers.
func IsPlaceholderID(id string) bool {
	if isBlankID(id) {
		return true
	}
	// Nearly all ids are longer than the longest such word, or do not contain a letter with which one begins.
	word := strings.TrimFunc(id, surroundsID)
	if len(word) > maxPlaceholder {
		return false
	}
	var lower [maxPlaceholder]byte
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	_, listed := placeholderIDs[string(lower[:len(word)])]
	return listed
}

// isBlankID reports whether a text has only white space, zeros and ASCII signs.
func isBlankID(id string) bool {
	for _, c := range id {
		switch {
		case '1' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c > unicode.MaxASCII && !isInvisible(c):
			return false
		}
	}
	return true
}

// surroundsID reports whether a placeholder may be surrounded by this sign.
func surroundsID(c rune) bool {
	return isInvisible(c) || strings.ContainsRune("\"'`\\()[]<>{}$#%:", c) || c == '“' || c == '”' || c == '‘' || c == '’'
}

// isInvisible reports whether a sign is not visible.
func isInvisible(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
}

// PlaceholderProblem returns the message for a field that holds a placeholder.
func PlaceholderProblem(field string) string {
	return field + " is a placeholder such as undefined, null or 0, which names nobody; send the id of the person, or leave the field out."
}

// IsUUID reports whether a text has the form of a UUID.
func IsUUID(s string) bool {
	if len(s) != uuidSize || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return strings.Trim(s, "0123456789abcdefABCDEF-") == "" && strings.Count(s, "-") == 4
}

const uuidSize = 36
