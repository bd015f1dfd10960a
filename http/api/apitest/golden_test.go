package apitest

import (
	"strings"
	"testing"
)

// TestEveryRowHasAGoldenAnswer fails with the name of a row if no step of the suite shows an answer of it. The name of
// a step is its operation, then a dash and the special case, if any.
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
