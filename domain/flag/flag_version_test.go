package flag

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain/release"
)

// semverPattern is the expression that semver.org suggests. It also accepts the leading v and the absent numbers that
// flags allow.
var semverPattern = regexp.MustCompile(`^[vV]?(0|[1-9]\d*)(?:\.(0|[1-9]\d*))?(?:\.(0|[1-9]\d*))?(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`)

// referenceOrder compares two matches of the expression by rule 11 of the specification.
func referenceOrder(a, b []string) int {
	number := func(text string) *big.Int {
		n := new(big.Int)
		n.SetString("0"+text, 10)
		return n
	}
	for n := 1; n <= 3; n++ {
		if order := number(a[n]).Cmp(number(b[n])); order != 0 {
			return order
		}
	}
	switch {
	case a[4] == b[4]:
		return 0
	case a[4] == "":
		return 1
	case b[4] == "":
		return -1
	}
	numeric := regexp.MustCompile(`^\d+$`)
	return slices.CompareFunc(strings.Split(a[4], "."), strings.Split(b[4], "."), func(x, y string) int {
		switch {
		case numeric.MatchString(x) && numeric.MatchString(y):
			return number(x).Cmp(number(y))
		case numeric.MatchString(x):
			return -1
		case numeric.MatchString(y):
			return 1
		}
		return strings.Compare(x, y)
	})
}

// FuzzVersions compares the parser and the order of versions with the reference.
func FuzzVersions(f *testing.F) {
	for _, texts := range [][2]string{
		{"1.0.0-alpha", "1.0.0-alpha.1"},
		{"1.0.0-alpha.1", "1.0.0-alpha.beta"},
		{"1.0.0-beta.2", "1.0.0-beta.11"},
		{"1.0.0-rc.1", "1.0.0"},
		{"2.0.0", "10.0.0"},
		{"v1.2", "1.2.0+7"},
		{"V3", "v3.0.0"},
		{"1.0.0-0A.is.legal", "1.0.0--"},
		{"99999999999999999999.1.1", "99999999999999999998.9.9"},
		{"01.2.3", "1.2.3.4"},
		{"1.0.0-01", "1.0.0-"},
		{"1+", "1+a+b"},
		{"", "v"},
		{"vv1", "vV1"},
		{"1..2", ".1"},
		{"1.x", "-1"},
		{"1.0.0-é", " 1"},
		{"1e3", "latest"},
	} {
		f.Add(texts[0], texts[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		matchA, matchB := semverPattern.FindStringSubmatch(a), semverPattern.FindStringSubmatch(b)
		x, okX := release.ParseSemver(a)
		y, okY := release.ParseSemver(b)
		if okX != (matchA != nil) || okY != (matchB != nil) {
			t.Fatalf("%q is a version: %v, want %v; %q: %v, want %v", a, okX, matchA != nil, b, okY, matchB != nil)
		}
		if !okX || !okY {
			return
		}
		keyA, _ := release.VersionKey(a)
		keyB, _ := release.VersionKey(b)
		if order := slices.Compare(keyA, keyB); order != x.Compare(&y) {
			t.Fatalf("the keys of %q and %q have the order %d, want %d", a, b, order, x.Compare(&y))
		}
		if got, back, want := x.Compare(&y), y.Compare(&x), referenceOrder(matchA, matchB); got != want || back != -want {
			t.Fatalf("%q and %q: %d and %d, want %d", a, b, got, back, want)
		}
	})
}
