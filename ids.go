package svc

import (
	"strings"
	"unicode"
)

// Ids that are made of a 64-bit number: a prefix and thirteen digits of five bits each.
const (
	numberDigits = 13
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// numberID returns the id of a number.
func numberID(prefix string, number uint64) string {
	id := make([]byte, len(prefix)+numberDigits)
	copy(id, prefix)
	for i := len(id) - 1; i >= len(prefix); i-- {
		id[i] = crockford[number&31]
		number >>= 5
	}
	return string(id)
}

// parseNumberID is the inverse of numberID.
func parseNumberID(prefix, id string) (number uint64, ok bool) {
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

// CodePlaceholderID is the code under which a placeholder is refused or counted.
const CodePlaceholderID = "placeholder_id"

// CookielessID is the id under which SDKs of PostHog send the events of all visitors who keep nothing on their device.
const CookielessID = "$posthog_cookieless"

// maxPlaceholder is the length of the longest placeholder that has a letter.
const maxPlaceholder = 24

// placeholderIDs are the words that programs send as an id if they have none, in lower case and without the signs around them.
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

// IsPlaceholderID reports whether an id names nobody: a word such as undefined or [object Object] that a program sends if it has no
// id, or a text without any letter or digit but 0, such as the zero UUID. Case, white space, and the signs of quotes, brackets and templates around a word do not count.
// Every surface refuses these ids, because a person with one of them would be all strangers together.
func IsPlaceholderID(id string) bool {
	if isBlankID(id) {
		return true
	}
	// Nearly all ids are longer than a word, or have no letter with which one begins.
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

// isBlankID reports whether a text has only white space, zeros and signs of ASCII.
func isBlankID(id string) bool {
	for _, c := range id {
		switch {
		case '1' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c > unicode.MaxASCII && !isInvisible(c):
			return false
		}
	}
	return true
}

// surroundsID reports whether a sign may stand around a placeholder.
func surroundsID(c rune) bool {
	return isInvisible(c) || strings.ContainsRune("\"'`\\()[]<>{}$#%:", c) || c == '“' || c == '”' || c == '‘' || c == '’'
}

// isInvisible reports whether a sign shows nothing.
func isInvisible(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
}

// PlaceholderProblem says that a field holds a placeholder.
func PlaceholderProblem(field string) string {
	return field + " is a placeholder such as undefined, null or 0, which names nobody; send the id of the person, or leave the field out."
}
