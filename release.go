package svc

import (
	"cmp"
	"strings"
)

// CompareReleases orders two releases by their versions: negative where a is
// older than b. ok is false where the words do not say: one of them is no
// version, or they are of different packages. A version is one to four numbers
// with dots, perhaps after a v and before -words, as in semantic versioning;
// package@version is understood, what follows a + is not compared.
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
	for i := range x.numbers {
		if order = compareNumbers(x.numbers[i], y.numbers[i]); order != 0 {
			return order, true
		}
	}
	return comparePre(x.pre, y.pre), true
}

func cutPackage(release string) (name, version string) {
	if at := strings.LastIndexByte(release, '@'); at >= 0 {
		return release[:at], release[at+1:]
	}
	return "", release
}

// version holds numbers as digits without leading zeros, so that none is too
// long.
type version struct {
	numbers [4]string
	pre     string
}

func parseVersion(s string) (v version, ok bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "v"), "V")
	s, _, _ = strings.Cut(s, "+")
	s, v.pre, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	// One number alone is a counter or a date as likely as a version; both order
	// the same way. A commit is neither.
	if len(parts) > len(v.numbers) {
		return v, false
	}
	for i, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return v, false
		}
		v.numbers[i] = strings.TrimLeft(part, "0")
	}
	return v, true
}

func compareNumbers(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// comparePre orders what follows the hyphen (semantic versioning, rule 11): a
// version with it is older than one without.
func comparePre(a, b string) int {
	if a == b {
		return 0
	}
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		isNumberX, isNumberY := strings.Trim(x[i], "0123456789") == "", strings.Trim(y[i], "0123456789") == ""
		order := 0
		switch {
		case isNumberX && isNumberY:
			order = compareNumbers(strings.TrimLeft(x[i], "0"), strings.TrimLeft(y[i], "0"))
		case isNumberX != isNumberY:
			order = 1
			if isNumberX {
				order = -1
			}
		default:
			order = strings.Compare(x[i], y[i])
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(x), len(y))
}
