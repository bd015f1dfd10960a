package main

import (
	"log/slog"
	"strings"
	"testing"

	"svc/cmd/svc/settings"
)

// TestEveryPartHasAReasonForItsPlace checks the list of parts: each has a unique name and a sentence about its place.
func TestEveryPartHasAReasonForItsPlace(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, p := range newNode(settings.Config{}, slog.New(slog.DiscardHandler)).parts() {
		if p.name == "" || names[p.name] {
			t.Errorf("the name %q is empty or used twice", p.name)
		}
		names[p.name] = true
		if len(strings.Fields(p.why)) < 5 || !strings.HasSuffix(p.why, ".") {
			t.Errorf("the part %s has no sentence about its place: %q", p.name, p.why)
		}
	}
}
