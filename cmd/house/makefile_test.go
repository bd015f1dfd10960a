package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variable returns the value of a variable of the Makefile.
func variable(t *testing.T, makefile, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindStringSubmatch(makefile)
	if found == nil {
		t.Fatalf("the Makefile has no variable %s", name)
	}
	return found[1]
}

// TestEveryTestHasALane checks the lanes of the Makefile. `make test` skips the proofs and the long tests by name, so
// each name must be that of a test which `make proofs` runs, and CI must run every lane. A renamed test falls back into
// `make test`.
func TestEveryTestHasALane(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	makefile := string(text)
	declared := declaredTests(t)
	for _, lane := range []struct{ names, folders string }{{"PROOFS", "PROVING"}, {"LONG", "LONG_IN"}, {"BUSY", "WATCHED"}} {
		folders := strings.Fields(variable(t, makefile, lane.folders))
		for _, name := range strings.Split(variable(t, makefile, lane.names), "|") {
			found := slices.ContainsFunc(declared, func(test declaredTest) bool {
				return strings.Contains(test.name, name) && matchesFolder(test.folder, folders)
			})
			if !found {
				t.Errorf("%s of the Makefile has %s, and no test of %v is called so", lane.names, name, folders)
			}
		}
	}
	proofs, proving := regexp.MustCompile(variable(t, makefile, "PROOFS")), strings.Fields(variable(t, makefile, "PROVING"))
	long, longIn := regexp.MustCompile(variable(t, makefile, "LONG")), strings.Fields(variable(t, makefile, "LONG_IN"))
	for _, test := range declared {
		proof, lasting := proofs.MatchString(test.name), long.MatchString(test.name)
		if proof && !matchesFolder(test.folder, proving) || !proof && lasting && !matchesFolder(test.folder, longIn) {
			t.Errorf("%s of %s is skipped by make test, and make proofs does not look there", test.name, test.folder)
		}
	}
	if !strings.Contains(makefile, "$(MAKE) test-raced test-plain\n") {
		t.Error("the two halves of make test are no targets of their own, so the second is left out where the first fails")
	}
	if !strings.Contains(makefile, "proofs: proofs-raced proofs-plain proofs-without proofs-sampled ") {
		t.Error("the parts of make proofs are no targets of their own, so those after one that fails are left out")
	}
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, lanes := range []string{"\ntested test\n", "\ntested --jobs=2 --output-sync=target PARALLEL=1 proofs race\n"} {
		if !strings.Contains(string(ci), lanes) {
			t.Errorf(".ci/run does not run all lanes: it lacks the line %q", strings.TrimSpace(lanes))
		}
	}
	if !strings.Contains(string(ci), "make --keep-going SHUFFLE=-shuffle=on SHORT=-short") {
		t.Error(".ci/run does not shuffle the tests, and make test does not either")
	}
}

// matchesFolder reports whether a folder matches one of the patterns of the go command.
func matchesFolder(dir string, patterns []string) bool {
	for _, pattern := range patterns {
		prefix, below := strings.CutSuffix(pattern, "/...")
		if dir == prefix || below && strings.HasPrefix(dir, prefix+"/") {
			return true
		}
	}
	return false
}

// declaredTest is a test function of the project.
type declaredTest struct{ folder, name string }

func declaredTests(t *testing.T) (tests []declaredTest) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	sources(t, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, match := range function.FindAllStringSubmatch(text, -1) {
			tests = append(tests, declaredTest{"./" + filepath.ToSlash(filepath.Dir(path)), match[1]})
		}
	})
	return tests
}
