package main

import (
	"bytes"
	"io/fs"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	manual "svc/docs"
	"svc/domain"
)

// shellBlock is a fenced block of a page that a reader would paste.
var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The examples of the documentation run as they are printed: a shell executes every curl line with the three variables
// that the pages use.
func TestTheExamplesOfTheDocumentation(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatalf("the examples need curl: %v", err)
	}
	s := startServer(t, t.TempDir(), nil)
	names, err := fs.Glob(manual.Documentation, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, name := range names {
		page, err := fs.ReadFile(manual.Documentation, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
			if strings.HasPrefix(block[1], "curl ") {
				ran++
				runExample(t, s, name, strings.ReplaceAll(block[1], "curl -sS", curl+" -sS --fail-with-body"))
			}
		}
	}
	if ran == 0 {
		t.Error("no page has an example")
	}
}

// runExample runs one block; a status of 400 or more fails it.
func runExample(t *testing.T, s *server, page, script string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	key := s.boot.Keys[domain.DefaultEnvironment]
	command.Env = append(command.Environ(), "SVC_URL="+s.boot.URL, "SVC_KEY="+key.Public, "SVC_SECRET_KEY="+key.Secret, "SVC_TOKEN="+s.boot.Token)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if out, err := command.Output(); err != nil {
		t.Errorf("%s: %v\n%s\n%s%s", page, err, script, out, stderr.String())
	}
}
