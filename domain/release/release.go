package release

import (
	"cmp"
	"fmt"
	"strings"
)

// CompareReleases orders two releases by their versions: negative if a is older than b. ok is false if the names do not
// decide: one of them is not a version, or they belong to different packages. A version is one to four numbers with
// dots, optionally after a v and before -words, as in semantic versioning. package@version is supported; a part after a
// + is ignored.
func CompareReleases(a, b string) (order int, ok bool) {
	if a == b {
		return 0, true
	}
	packageA, versionA := cutPackage(a)
	packageB, versionB := cutPackage(b)
	x, validA := parseVersion(versionA)
	y, validB := parseVersion(versionB)
	if !validA || !validB || packageA != packageB {
		return 0, false
	}
	return x.Compare(&y), true
}

func cutPackage(release string) (name, version string) {
	if at := strings.LastIndexByte(release, '@'); at >= 0 {
		return release[:at], release[at+1:]
	}
	return "", release
}

// Semver holds numbers as digits without leading zeros, so that no number is too long.
type Semver struct {
	numbers [4]string
	pre     string
}

func parseVersion(s string) (v Semver, ok bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "v"), "V")
	s, _, _ = strings.Cut(s, "+")
	s, v.pre, _ = strings.Cut(s, "-")
	// A single number may be a counter or a date as well as a version; all order the same way. A commit hash is not a
	// version.
	for i, more := 0, true; more; i++ {
		var part string
		if part, s, more = strings.Cut(s, "."); part == "" || i == len(v.numbers) || !allDigits(part) {
			return v, false
		}
		v.numbers[i] = strings.TrimLeft(part, "0")
	}
	return v, true
}

// ParseSemver parses a version of semver.org and reports whether the text is one. A leading v is allowed, and the minor
// and patch numbers may be absent.
func ParseSemver(s string) (v Semver, ok bool) {
	if s != "" && (s[0] == 'v' || s[0] == 'V') {
		s = s[1:]
	}
	rest, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(rest, "-")
	if hasBuild && !identifiers(build, true) || hasPre && !identifiers(pre, false) || !identifiers(core, false) || !allDigits(strings.ReplaceAll(core, ".", "")) || strings.Count(core, ".") > 2 {
		return v, false
	}
	return parseVersion(s)
}

// AVersion describes the values of operators that compare versions.
const AVersion = `a text of at most 500 bytes that is a version of semver.org, such as "2.10.0" or "2.0.0-beta.1"`

// IsVersion reports whether a value is as AVersion describes.
func IsVersion(value any) bool {
	text, _ := value.(string)
	_, valid := ParseSemver(text)
	return valid && len(text) <= 500
}

// VersionKey returns texts for a version of semver.org. Lists of such texts have the order of their versions: a number is
// before a word and follows its length, and the fourth text of a pre-release is before that of a release.
func VersionKey(s string) (key []string, ok bool) {
	v, ok := ParseSemver(s)
	if !ok {
		return nil, false
	}
	parts := []string{cmp.Or(v.numbers[0], "0"), cmp.Or(v.numbers[1], "0"), cmp.Or(v.numbers[2], "0"), "z"}
	if v.pre != "" {
		parts = append(append(parts[:3], ""), strings.Split(v.pre, ".")...)
	}
	for _, part := range parts {
		if part != "" && allDigits(part) {
			key = append(key, fmt.Sprintf("0%06d%s", len(part), part))
		} else {
			key = append(key, "1"+part)
		}
	}
	return key, true
}

// identifiers reports whether a text is a list of identifiers separated by dots. Only in build metadata may a number
// begin with a zero.
func identifiers(s string, build bool) bool {
	for more := true; more; {
		var one string
		one, s, more = strings.Cut(s, ".")
		if one == "" || !build && len(one) > 1 && one[0] == '0' && allDigits(one) {
			return false
		}
		for i := range len(one) {
			if c := one[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
				return false
			}
		}
	}
	return true
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Compare returns the order of two versions: negative if v is before other.
func (v *Semver) Compare(other *Semver) int {
	for i := range v.numbers {
		if order := compareNumbers(v.numbers[i], other.numbers[i]); order != 0 {
			return order
		}
	}
	return comparePre(v.pre, other.pre)
}

func compareNumbers(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// comparePre orders the parts after the hyphen (semantic versioning, rule 11): a version with it is older than one
// without.
func comparePre(a, b string) int {
	if a == b {
		return 0
	}
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	for moreA, moreB := true, true; moreA && moreB; {
		var x, y string
		x, a, moreA = strings.Cut(a, ".")
		y, b, moreB = strings.Cut(b, ".")
		if order := compareIdentifiers(x, y); order != 0 {
			return order
		}
		if moreA != moreB {
			if moreA {
				return 1
			}
			return -1
		}
	}
	return 0
}

// compareIdentifiers orders two identifiers: numbers come before words.
func compareIdentifiers(a, b string) int {
	switch numberA, numberB := allDigits(a), allDigits(b); {
	case numberA && numberB:
		return compareNumbers(strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0"))
	case numberA:
		return -1
	case numberB:
		return 1
	}
	return strings.Compare(a, b)
}
