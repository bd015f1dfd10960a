package apitest

import (
	"strings"
	"testing"
)

// TestEveryRowHasAGoldenAnswer fails by name for a row of which no step of the suite shows an
// answer. A step is named by its operation, and by what is special after a dash.
func TestEveryRowHasAGoldenAnswer(t *testing.T) {
	shown := map[string]bool{}
	for _, step := range steps() {
		operation, _, _ := strings.Cut(step.name, "-")
		shown[operation] = true
	}
	for _, row := range Routes() {
		// Its answer is a challenge, which differs in every run.
		if !shown[row.Operation] && row.Operation != "console.passkeys.challenge" {
			t.Errorf("%s has no step in the golden suite", row.Operation)
		}
	}
}
